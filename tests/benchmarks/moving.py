"""The app on a page with a moving figure: `python -m tests.benchmarks.moving [course]`.

The figure is busier than those of the course: twelve segments on four rows, as many ACKs, a queue, and numbers. With
`course`, each moving figure of the course plays instead.
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

from tcptutor.course import load
from tcptutor.figures.figure import Figure, Motion
from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import ACK, DATA, FRAME, QUEUE, STRONG, TEXT, Line
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp
from tests.benchmarks.pty_app import PtyApp
from tests.ui.fakes import FakeLab
from tests.ui.made import MODULE, lossy
from tests.ui.moving_figure import page_with

_SECONDS = 2.0
_WATCHED_S = 6.0
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

    @property
    def late_key_s(self) -> float:
        """The 99th percentile of the keys."""
        return statistics.quantiles(self.key_s, n=100)[-1]


def measure(figure: str = "", *, streams: bool = False, keys: int = _KEYS) -> Playing:
    """Play a figure in a pseudo-terminal.

    Args:
        figure: MODULE/PAGE/FIGURE of the course; by default the one of this module.
        streams: Whether a run streams next to the figure, at 120 x 36.
        keys: Keys pressed while it plays; none for the output alone.
    """
    command = (sys.executable, "-m", "tests.benchmarks.moving", "--app", figure)
    size = (120, 36) if streams else (80, 24)
    with (
        tempfile.TemporaryDirectory() as folder,
        PtyApp(Path(folder), command=command, size=size, environment={"NO_MOTION": None}) as app,
    ):
        app.wait_for("▶ 1x", 60)
        if streams:
            app.key("r")
            app.wait_for("running", 30)
        app.read(1)
        before = len(app.output)
        app.read(_WATCHED_S)
        output = bytes(app.output[before:])
        # Each frame moves the terminal's cursor once to the slice with the time.
        frames = max(Counter(re.findall(rb"\x1b\[\d+;\d+H", output)).values())
        times = tuple(_latency(app, number) for number in range(keys))
        return Playing(len(output) / _WATCHED_S, frames / _WATCHED_S, times)


def _latency(app: PtyApp, number: int) -> float:
    """Seconds from a key that changes the speed, and back, to the new speed on the screen."""
    app.read(0.05 + 0.01 * (number % 7))
    since, pressed = len(app.output), time.monotonic()
    app.key("<>"[number % 2])
    while not re.search((rb"0\.5x", b"1x")[number % 2], _STYLE.sub(b"", bytes(app.output[since:]))):
        if time.monotonic() - pressed > 5:
            raise TimeoutError("the key has no effect")
        app.read(0.002)
    return time.monotonic() - pressed


def _print(what: str, found: Playing) -> None:
    keys = found.key_s and f", key: median {1000 * statistics.median(found.key_s):.1f} ms"
    late = found.key_s and f", 99 % {1000 * found.late_key_s:.1f} ms"
    rate = f"{found.bytes_per_s / 1000:5.2f} KB/s, {found.frames_per_s:4.1f} frames/s"
    print(f"{what:<52} {rate}{keys or ''}{late or ''}", flush=True)


def _moving_figures() -> dict[str, Figure]:
    return {
        f"{module.id}/{step.id}/{figure.id}": figure
        for module in load().modules
        for step in module.steps
        for figure in step.figures
        if figure.motion
    }


def _run_app(name: str) -> None:
    figure = _moving_figures()[name] if name else Convoy(id="convoy")
    course = page_with(figure, activities=() if name else (lossy(),))
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal.open(Path(folder) / "journal.db")
        # 0.2 s of the run in a second: it streams for as long as the figure plays.
        TutorApp(course, journal, lambda: FakeLab(0.2), module=MODULE).run()


def main() -> None:
    if sys.argv[1:2] == ["--app"]:
        _run_app(sys.argv[2])
    elif sys.argv[1:2] == ["course"]:
        for name in _moving_figures():
            _print(name, measure(name, keys=0))
    else:
        _print("a busy figure", measure())
        _print("a busy figure next to a run that streams", measure(streams=True))


if __name__ == "__main__":
    main()
