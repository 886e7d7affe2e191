"""An app that starts at once: it speaks the packets of Textual's driver for browsers, and says what it is sent.

Keys it obeys: q ends, h hangs, d dies, f floods, o offers a file, c starts a child in a session of its own, e tells its
environment, x writes control characters.
"""

import json
import os
import subprocess
import sys
import time


def write(kind, payload):
    os.write(1, kind + len(payload).to_bytes(4, "big") + payload)


def say(text):
    write(b"D", text.encode())


def tell(**message):
    write(b"M", json.dumps(message).encode())


def obey(key):
    if key == "q":
        tell(type="exit")
        sys.exit()
    elif key == "d":
        os._exit(3)
    elif key == "h":
        import signal

        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        say("hangs\n")
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.2)
    elif key == "c":
        child = subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=subprocess.DEVNULL)
        say(f"child {child.pid}\n")
    elif key == "f":
        for number in range(400):
            say(f"frame {number} " + "." * 10000 + "\n")
    elif key == "e":
        say("environment " + json.dumps(dict(os.environ)) + "\n")
    elif key == "o":
        tell(
            type="deliver_file_start", key="own-key", path="/some/where/note\r\nX-Evil: 1.txt", open_method="browser",
            encoding="", mime_type="text/html", name=None,
        )  # fmt: skip
    elif key == "u":
        tell(type="open_url", url="javascript:alert(1)", new_tab=True)
    else:
        say(f"key {key!r}\n")


def main():
    if "--hang-at-start" in sys.argv:
        time.sleep(600)
    if "--fail-at-start" in sys.argv:
        sys.exit("no such course")
    os.write(1, b"__GANGLION__\n")
    say(f"ready {os.environ['COLUMNS']}x{os.environ['ROWS']} pid {os.getpid()}\n")
    read = sys.stdin.buffer.read
    chunk = b"<html>secret</html>"
    while head := read(5):
        payload = read(int.from_bytes(head[1:], "big"))
        if head[:1] == b"D":
            for key in payload.decode():
                obey(key)
            continue
        message = json.loads(payload)
        if message["type"] == "deliver_chunk_request":
            own = b"own-key"
            packet = b"ts13:deliver_chunks%i:%s%i:%se" % (len(own), own, len(chunk), chunk)
            write(b"P", packet)
            chunk = b""
        else:
            say(f"told {json.dumps(message, sort_keys=True)}\n")


main()
