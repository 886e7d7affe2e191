"""What users feel, measured: `python -m tests.benchmarks [--build]`. Times are ratios within one run where they can be.
`python -m tests.benchmarks pages` measures the runs of the course's pages instead.

Each line gives the figure, its goal, and whether it is met; the exit code is 1 when one is not.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tcptutor.backends.guest.sizes import DEFAULT_SIZE
from tcptutor.backends.guest.snapshots import CLOCKS, Snapshots
from tcptutor.base import places
from tcptutor.course import load
from tcptutor.journal import Journal
from tests.benchmarks import courses, finding, finished, moving, pages, run_list, stepping, turning
from tests.benchmarks.blocking import longest_blocks
from tests.benchmarks.knobs import turns
from tests.benchmarks.pty_app import PtyApp
from tests.cli.command import TCPTUTOR
from tests.journal.made import fill, many
from tests.page_number import number_of

_ROUNDS = 7
_POINT = "[\u2801-\u28ff]"
"""What the chart draws a sample with."""
_met: list[bool] = []


def _line(what: str, value: float, goal: float, unit: str = "") -> None:
    met = value <= goal
    _met.append(met)
    print(f"{'met ' if met else 'MISS'}  {what:<58} {value:8.2f}{unit}   goal {goal:g}{unit}", flush=True)


def _time(*command: str, check: bool = True) -> float:
    began = time.monotonic()
    subprocess.run(command, check=check, capture_output=True)
    return time.monotonic() - began


def _first_frame(data: Path) -> float:
    app = PtyApp(data)
    try:
        return app.wait_for("How TCP gets") - app.started
    finally:
        app.close()


def start_up() -> None:
    """Help and first frame against the import of Textual, taken in turns."""
    # As for who installed it: compiled once, and not anew each time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    helps, frames, long, imports = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        finished.fill_journal(Path(folder) / "long" / "tcptutor")
        for number in range(_ROUNDS):
            imports.append(_time(sys.executable, "-c", "import textual.app"))
            helps.append(_time(TCPTUTOR, "--help"))
            frames.append(_first_frame(Path(folder) / f"{number}"))
            long.append(_first_frame(Path(folder) / "long"))
    base = statistics.median(imports)
    print(f"      python -c 'import textual.app': {base:.3f} s, median of {_ROUNDS}")
    _line("tcptutor --help / import textual.app", statistics.median(helps) / base, 0.65)
    _line("first frame of the app / import textual.app", statistics.median(frames) / base, 1.4)
    what = f"the same with {finished.RUNS} runs and {finished.EVENTS} events"
    _line(what, statistics.median(long) / base, 1.4)


def _to_first_frame(course: str) -> float:
    """Processor seconds with the course in that folder."""
    command = (sys.executable, "-m", "tests.benchmarks.courses")
    with tempfile.TemporaryDirectory() as folder:
        app = PtyApp(Path(folder), course, command=command)
        try:
            app.wait_for("How TCP gets")
            return app.processor_seconds()
        finally:
            app.close()


def modules() -> None:
    """First frame and lint of a course of four modules; the frame against that of one, taken in turns."""
    with tempfile.TemporaryDirectory() as folder:
        one, four = (str(courses.made(Path(folder) / f"{number}", number)) for number in (1, 4))
        frames: dict[str, list[float]] = {one: [], four: []}
        lints = []
        for number in range(2 * _ROUNDS):
            # Each is as often the first of two as the second.
            for course in (one, four) if number % 2 else (four, one):
                frames[course].append(_to_first_frame(course))
            lints.append(_time(TCPTUTOR, "lint", four, check=False))
        ratio = statistics.median(frames[four]) / statistics.median(frames[one])
        # Half of the spread of one: what chance does to a median of so many.
        first, _, third = statistics.quantiles(frames[one], n=4)
        noise = (third - first) / statistics.median(frames[one]) / len(frames[one]) ** 0.5
        _line("first frame, processor time, four modules / one", ratio, 1 + noise)
        _line("tcptutor lint of four modules", min(lints), 2, " s")


def streaming() -> None:
    """From the run key to the first sample on the screen; bytes to the terminal while one flow streams."""
    for read, how in ((0.0, "page read for 2 s"), (20.0, "for 20 s")):
        took = statistics.median(_first_sample(read) for _ in range(3))
        _line(f"run key to first sample on screen, {how}, median of 3", took, 0.6, " s")
    for flows, (page, speed, goal) in _PLAYED.items():
        for size in ((120, 36), (80, 24)):
            rate = _bytes(page, speed, size)
            _line(
                f"{flows} streaming at {size[0]} x {size[1]}, {speed} s in a second",
                rate / 1000,
                goal,
                " KB/s",
            )


_PLAYED = {"one flow": ("one-lossy-flow", 4, 10), "eight flows": ("eight-flows-one-link", 2, 25)}
"""Recorded runs by their pages, seconds of the run in a second, as in the guest, and KB/s at most."""


def _bytes(page: str, speed: int, size: tuple[int, int]) -> float:
    """Bytes a second that a terminal is sent while a recorded run goes on."""
    recorded = places.assets() / "recorded" / "parallel-streams" / f"{page}.tcprun"
    steps = next([step.id for step in each.steps] for each in load().modules if each.id == "parallel-streams")
    command = (sys.executable, "-m", "tests.benchmarks.played")
    with tempfile.TemporaryDirectory() as folder:
        app = PtyApp(Path(folder), str(recorded), "parallel-streams", str(speed), command=command, size=size)
        try:
            app.wait_for("ready", 60)
            for _ in range(steps.index(page)):
                app.key("\x1b[C")
                app.read(1.5)
            since = len(app.output)
            app.key("x")
            app.read(0.5)
            app.key("y")
            app.wait_for(_POINT, 30, since)
            app.read(1)
            before = len(app.output)
            app.read(4)
            return (len(app.output) - before) / 4
        finally:
            app.close()


def _first_sample(read: float) -> float:
    """Seconds until the first sample is drawn of a first run of a page that was read for so long."""
    with tempfile.TemporaryDirectory() as folder:
        app = PtyApp(Path(folder), "--module", "parallel-streams", "--backend", "guest")
        try:
            app.wait_for("ready", 60)
            for _ in range(number_of("one-lossy-flow")):
                app.key("\x1b[C")
                app.read(1.5)
            app.read(read)
            app.key("x")
            app.read(0.5)
            since, pressed = len(app.output), time.monotonic()
            app.key("y")
            return app.wait_for(_POINT, 30, since) - pressed
        finally:
            app.close()


def long_journal() -> None:
    """Opening the journal of a student who did 3,000 things, in processor time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        fill(path, many(3_000))
        openings = []
        for _ in range(_ROUNDS):
            began = time.process_time()
            journal = Journal.open(path)
            openings.append(time.process_time() - began)
            journal.close()
        _line("journal of 3,000 events opened", statistics.median(openings) * 1000, 150, " ms")


def blocks() -> None:
    """A long run's end: the app goes on meanwhile."""
    for work, longest in longest_blocks().items():
        _line(f"event loop blocked while 16 flows × 65 s are {work}", longest * 1000, 30, " ms")


def knobs() -> None:
    """A knob of the bench is turned: what is to be expected follows."""
    for size in ((120, 36), (80, 24)):
        found = turns(size)
        late = statistics.quantiles(found, n=20)[-1]
        what = f"knob to expectation, processor time, {size[0]} x {size[1]}, 95 %"
        _line(what, late * 1000, 50, " ms")


def page_turns() -> None:
    """The key that turns the page is pressed: title and text come first."""
    for size in ((120, 36), (80, 24)):
        found = turning.turns(size)
        late = statistics.quantiles([turn.to_text for turn in found], n=20)[-1]
        print(
            f"      page turn to title and text, processor time, {size[0]} x {size[1]}, 95 %: {late * 1000:.0f} ms"
        )
        what = f"title and text / complete page, processor time, {size[0]} x {size[1]}"
        _line(what, turning.share_to_text(found), 0.5)


def figures() -> None:
    """A figure of a page plays: what the terminal is sent, and how soon a key has its effect."""
    found, streaming = moving.measure(), moving.measure(streams=True)
    print(f"      frames of a moving figure: {found.frames_per_s:.1f} in a second")
    _line("a figure playing at 80 x 24", found.bytes_per_s / 1000, 8, " KB/s")
    _line("key to its effect while a figure plays, 99 %", found.late_key_s * 1000, 50, " ms")
    _line("the same while a run streams, 120 x 36", streaming.late_key_s * 1000, 50, " ms")


def packet_steps() -> None:
    """A step from event to event in a run with 16 flows."""
    found = stepping.measure()
    print(f"      opening the packets of one of 16 flows: {found.opening:.2f} s")
    _line("step to the next event, 16 flows, processor time, 99 %", found.longest_step * 1000, 50, " ms")


def find_box() -> None:
    """Typing into the find box, over the whole course and a thousand runs."""
    what = f"key in the find box to its results, {finding.RUNS} runs, processor time, 95 %"
    _line(what, finding.late_key() * 1000, 50, " ms")


def runs_listed() -> None:
    """The list of 1,000 runs is opened, and a filter typed."""
    for size in ((120, 36), (80, 24)):
        found = run_list.measure(size)
        print(f"      first opening of the list: {found.openings[0] * 1000:.0f} ms")
        for what, times in (
            ("H to 1,000 runs", found.openings),
            ("letter of a filter to its runs", found.letters),
        ):
            late = statistics.quantiles(times, n=20)[-1]
            _line(f"{what}, processor time, {size[0]} x {size[1]}, 95 %", late * 1000, 50, " ms")


def notebook() -> None:
    """The notebook of a student who finished the course."""
    found = finished.measure()
    print(f"      a finished course: {found.runs} runs, {found.charts} charts in its notebook")
    _line("notebook of a finished course, processor time", found.processor_s, 5, " s")
    _line("its size", found.size / 1e6, 10, " MB")


def disk_and_memory() -> None:
    """Disk and memory of the guest."""
    guest = Snapshots()
    on_disk = guest.image.size() + sum(guest.size(clock) for clock in CLOCKS)
    _line("guest image and snapshots on disk", on_disk / 1e6, 350, " MB")
    _line("guest memory", DEFAULT_SIZE, 512, " MiB")


def build() -> None:
    """Image and snapshots from nothing."""
    with tempfile.TemporaryDirectory() as folder:
        guest = Snapshots(Path(folder) / "guest")
        guest.folder.mkdir()
        began = time.monotonic()
        guest.image.build(lambda _part, _text: None)

        async def snapshots() -> None:
            await asyncio.gather(*(guest.build(clock, lambda _part, _text: None) for clock in CLOCKS))

        asyncio.run(snapshots())
        _line("image and snapshots built", time.monotonic() - began, 90, " s")


def main() -> int:
    if sys.argv[1:2] == ["pages"]:
        return pages.main(sys.argv[2:])
    start_up()
    modules()
    long_journal()
    streaming()
    blocks()
    knobs()
    page_turns()
    figures()
    packet_steps()
    find_box()
    runs_listed()

    notebook()
    disk_and_memory()
    if "--build" in sys.argv:
        build()
    return 0 if all(_met) else 1


if __name__ == "__main__":
    sys.exit(main())
