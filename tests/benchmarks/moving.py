"""The app on a page with a moving figure: `python -m tests.benchmarks.moving`.

The figure changes as much as the figures of the course do: twelve segments on four rows, ACKs, a queue, and numbers.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tcptutor.figures.figure import Figure, Motion
from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import ACK, DATA, FRAME, QUEUE, STRONG, TEXT, Line
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp
from tests.benchmarks.pty_app import PtyApp
from tests.ui.fakes import FakeLab
from tests.ui.made import MODULE
from tests.ui.moving_figure import page_with

_SECONDS = 2.0
_KEYS = 200
_STYLE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Convoy(Figure, frozen=True, kw_only=True, tag_field="kind", tag="convoy"):
    """Segments on four rows, their ACKs, and a queue."""

    @property
    def motion(self) -> Motion:
        return Motion(_SECONDS, (0.0, 0.5, 1.0, 1.5), 1.0, 20.0)

    def draw(self, width: int, t: float = 0.0) -> list[Line]:
        grid = Grid(width, 12)
        for row in range(4):
            grid.put(8, 2 * row + 1, "─" * (width - 16), FRAME)
            for wagon in range(3):
                grid.put(
                    int(8 + (width - 20) * (t * (1 + row / 4) + wagon / 3) % (width - 20)),
                    2 * row + 1,
                    "██",
                    DATA,
                )
                grid.put(
                    int(width - 10 - (width - 20) * (t + wagon / 3) % (width - 20)), 2 * row + 2, "◂", ACK
                )
        grid.put(0, 10, "▄" * int(4 + 20 * (t % 1)), QUEUE)
        grid.put(0, 11, f"{1000 * t:6.0f} ms, cwnd {10 + 10 * t:5.1f}, queue {20 * (t % 1):4.1f}", TEXT)
        grid.put(0, 0, "h1", STRONG)
        return grid.lines()

    def describe(self) -> str:
        return "Segments go to the right, ACKs to the left."


class Playing(NamedTuple):
    """What a figure costs while it plays."""

    bytes_per_s: float
    frames_per_s: float
    key_s: tuple[float, ...]
    """Seconds from each key to the first byte that shows its effect."""


def measure(size: tuple[int, int] = (80, 24), seconds: float = 10) -> Playing:
    """Play the figure in a pseudo-terminal."""
    command = (sys.executable, "-m", "tests.benchmarks.moving", "--app")
    with (
        tempfile.TemporaryDirectory() as folder,
        PtyApp(Path(folder), command=command, size=size, environment={"NO_MOTION": None}) as app,
    ):
        app.wait_for("▶ 1x", 60)
        app.read(1)
        before = len(app.output)
        app.read(seconds)
        output = bytes(app.output[before:])
        # Each frame moves the terminal's cursor once to the slice with the time.
        frames = max(Counter(re.findall(rb"\x1b\[\d+;\d+H", output)).values())
        return Playing(len(output) / seconds, frames / seconds, tuple(_latency(app, n) for n in range(_KEYS)))


def _latency(app: PtyApp, number: int) -> float:
    """Seconds from a key that changes the speed, and back, to the new speed on the screen."""
    app.read(0.05 + 0.01 * (number % 7))
    since, pressed = len(app.output), time.monotonic()
    app.key("<>"[number % 2])
    while not re.search((b"0.5x", b"1x ")[number % 2], _STYLE.sub(b"", bytes(app.output[since:]))):
        if time.monotonic() - pressed > 5:
            raise TimeoutError("the key has no effect")
        app.read(0.002)
    return time.monotonic() - pressed


def report() -> tuple[Playing, float]:
    """Return what was measured, and the 99th percentile of the keys."""
    found = measure()
    return found, statistics.quantiles(found.key_s, n=100)[-1]


def main() -> None:
    if "--app" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            journal = Journal.open(Path(folder) / "journal.db")
            TutorApp(page_with(Convoy(id="convoy")), journal, FakeLab(), module=MODULE).run()
        return
    found, late = report()
    print(f"{found.bytes_per_s / 1000:.2f} KB/s, {found.frames_per_s:.1f} frames/s")
    print(f"key: median {1000 * statistics.median(found.key_s):.1f} ms, 99 % {1000 * late:.1f} ms")


if __name__ == "__main__":
    main()
