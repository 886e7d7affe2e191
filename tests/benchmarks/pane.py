"""The pane in the real app, with the guest on the real clock: from a key to its echo, and what a flood of text costs.

    python -m tests.benchmarks.pane

Prints a table; PATH's `tcptutor` is what is measured unless TCPTUTOR_COMMAND has another command.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import statistics
import tempfile
import time
from pathlib import Path

from tests.benchmarks.pty_app import PtyApp
from tests.cli.command import TCPTUTOR
from tests.page_number import number_of

KEYS = 60
FLOOD_S = 10.0
COLOURS = r"""awk 'BEGIN { for (;;) for (i = 0; i < 77; i++) printf "\033[3%d;4%dm%c", i % 8, i % 5, 97 + i % 26 }'"""
"""Each cell in other colours than the one before it."""


def echoes(app: PtyApp) -> list[float]:
    """Seconds from each of many keys to the first byte that shows it."""
    times = []
    for number in range(KEYS):
        letter = "bcdfgjkmpqvwxz"[number % 14]
        app.read(0.2 + random.random() / 5)
        since, began = len(app.output), time.monotonic()
        app.key(letter)
        while not _shown(app, letter, since):
            if time.monotonic() - began > 5:
                break
            app.read(0.004)
        times.append(time.monotonic() - began)
        if number % 20 == 19:
            app.key("\x15")  # the line is emptied
    return times


def turns(app: PtyApp) -> list[float]:
    """Seconds from F6 to what it changes at the bottom of the screen."""
    times = []
    for _ in range(8):
        for word in ("terminal", "host"):
            app.read(0.4)
            since, began = len(app.output), time.monotonic()
            app.key("\x1b[17~")
            app.wait_for(word, 10, since)
            times.append(time.monotonic() - began)
    return times


def _shown(app: PtyApp, letter: str, since: int) -> bool:
    """Whether a run of typed letters that ends with it was written."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", app.output[since:].decode(errors="replace"))
    return re.search(rf"h1:~# [a-z]*{letter}", text) is not None


def said(what: str, times: list[float]) -> None:
    ordered = sorted(times)
    late = ordered[int(0.95 * (len(ordered) - 1))]
    print(f"{what:<42} median {1e3 * statistics.median(times):6.0f} ms   95 % {1e3 * late:6.0f} ms")


def main() -> None:
    command = tuple(shlex.split(os.environ.get("TCPTUTOR_COMMAND", TCPTUTOR)))
    with tempfile.TemporaryDirectory() as folder:
        app = PtyApp(Path(folder), "--module", "parallel-streams", command=command)
        app.wait_for("ready", 120)
        for _ in range(number_of("one-lossy-flow")):
            app.key("\x1b[C")
            app.read(3)
        app.key("t")
        app.wait_for("h1:~#", 120)
        app.read(3)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        said("key to echo, quiet", echoes(app))
        said("F6 to the page or back, quiet", turns(app))
        app.key("\x15h2 iperf3 -s >/dev/null & sleep 1; iperf3 -c h2 -t 60 >/dev/null &\r")
        app.read(8)
        app.key("clear\r")
        app.read(2)
        said("key to echo, a flow runs", echoes(app))
        for program in ("yes", "cat /dev/urandom | od -c", COLOURS):
            app.key(f"\x15{program}\r")
            app.read(4)
            since, before, began = len(app.output), app.processor_seconds(), time.monotonic()
            app.read(FLOOD_S)
            passed = time.monotonic() - began
            rate = (len(app.output) - since) / passed / 1e3
            share = (app.processor_seconds() - before) / passed
            print(f"{program[:40]:<42} {rate:6.1f} kB/s, {100 * share:.0f} % of a processor")
            said("  F6 to the page or back", turns(app))
            since, began = len(app.output), time.monotonic()
            app.key("\x03")
            app.wait_for("h1:~#", 60, since)
            print(f"  {'^C to the prompt':<40} {time.monotonic() - began:6.2f} s")
        app.close()


if __name__ == "__main__":
    main()
