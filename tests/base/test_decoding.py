"""Threads that decode one type for the first time at one moment."""

from __future__ import annotations

import subprocess
import sys

RACE = """
import sys, threading, typing
import msgspec
from tcptutor.base import decoding

sys.setswitchinterval(1e-6)
for _ in range(40):
    fields = [(f"f{number}", int | None, None) for number in range(10)]
    parts = [msgspec.defstruct(f"Part{tag}", fields, tag=str(tag)) for tag in range(20)]
    Part = typing.Union[tuple(parts)]
    Whole = msgspec.defstruct("Whole", [("parts", list[Part]), ("named", dict[str, Part])])
    given = {"parts": [{"type": str(tag), "f1": tag} for tag in range(20)], "named": {"x": {"type": "3"}}}
    together, right = threading.Barrier(4), []

    def work(decode):
        together.wait()
        right.append(decode().parts[7].f1 == 7)

    ways = 2 * [
        lambda: decoding.convert(given, Whole), lambda: decoding.decode_json(msgspec.json.encode(given), Whole)
    ]
    threads = [threading.Thread(target=work, args=[way]) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4
"""


def test_a_type_is_complete_before_another_thread_uses_it() -> None:
    # With msgspec's own functions, this ends in a segmentation fault.
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
