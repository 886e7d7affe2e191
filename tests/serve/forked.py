"""A program that forks sessions, for tests: a session answers each line that it reads.

`python -m tests.serve.forked` is what `tcptutor.commands.browser_app` is, without the app. Lines: `facts`, `child`
(starts a process in the session's group), `stray` (one in a group of its own), `hang` (only SIGKILL ends the session).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tcptutor.serve import fork_server


def _facts() -> str:
    return json.dumps(
        {
            "environment": dict(os.environ),
            "files": sorted(int(file.name) for file in Path("/proc/self/fd").iterdir())[
                :-1
            ],  # not the folder's
            "folder": str(Path.cwd()),
            "group": os.getpgrp(),
            "pid": os.getpid(),
        }
    )


def _answer(line: str) -> str:
    match line:
        case "facts":
            return _facts()
        case "child" | "stray":
            command = [
                sys.executable,
                "-c",
                "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)",
            ]
            return str(subprocess.Popen(command, start_new_session=line == "stray").pid)
        case "hang":
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    return "done"


if __name__ == "__main__":
    fork_server.GRACE = 0.5
    with socket.socket(fileno=0) as server:
        fork_server.wait_for_session(server)
    print("a line for the log", file=sys.stderr, flush=True)
    for line in sys.stdin:
        print(_answer(line.strip()), flush=True)
    if signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, []):
        signal.pause()
    fork_server.exit_session(3)
