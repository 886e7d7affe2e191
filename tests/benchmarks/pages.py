"""How long a student waits for the run of each page: `python -m tests.benchmarks pages [MODULE[/PAGE]] ...`.

Each page's experiment alone in a warm guest on the virtual clock, a sweep's two at a time; from the key to the last
sample. The processor's seconds stand beside: on a quiet machine a run takes hardly longer than these. Asked for all
pages, it writes assets/documentation/pages.md.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from contextlib import aclosing
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tcptutor.backends.lab import Lab
from tcptutor.base.errors import TutorError
from tcptutor.course import Module, load
from tcptutor.course.page_sweep import order_by_first_point
from tcptutor.course.step import Step
from tcptutor.fleet import pool
from tcptutor.spec import Experiment
from tests.course.test_shipped import FIRST, LONGEST, MEDIAN, SWEEP

PAGE = Path(__file__).parents[2] / "assets/documentation/pages.md"
_TICKS = os.sysconf("SC_CLK_TCK")


class PageTime(NamedTuple):
    """What one page takes, s."""

    module: str
    page: str
    wall: float
    processor: float
    """Of the guests."""
    first: float | None = None
    """To the first point of a sweep; None for a single run."""

    @property
    def quiet(self) -> float:
        """Seconds on a quiet machine: never more than measured."""
        return min(self.wall, self.processor / (1 if self.first is None else 2))


def _processor() -> float:
    """Seconds that the processes which we started have had of processors."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = ended.ru_utime + ended.ru_stime
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text().split():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            used += (int(fields[11]) + int(fields[12])) / _TICKS
    return used


async def _one(module: str, page: str, experiment: Experiment) -> PageTime:
    lab = Lab("guest", "virtual")
    try:
        await lab.warm(experiment)
        began, used = time.monotonic(), _processor()
        await lab.run_whole(experiment)
        return PageTime(module, page, time.monotonic() - began, _processor() - used)
    finally:
        await lab.close()


async def _sweep(module: str, page: str, experiments: list[Experiment]) -> PageTime:
    where = await pool.find_place(experiments, "guest", "virtual", 2)
    began, before, first = time.monotonic(), _processor(), 0.0
    async with aclosing(pool.runs(experiments, where)) as runs:
        async for _, run in runs:
            if isinstance(run, TutorError):
                raise run
            first = first or time.monotonic() - began
    return PageTime(module, page, time.monotonic() - began, _processor() - before, first)


def measured(module: Module, step: Step) -> PageTime | None:
    """None for a page that runs nothing."""
    if step.sweep:
        return asyncio.run(
            _sweep(module.id, step.id, [each for _, each in order_by_first_point(list(step.sweep.cells()))])
        )
    if step.experiment:
        return asyncio.run(_one(module.id, step.id, step.experiment.experiment))
    return None


def line(each: PageTime) -> str:
    limit = LONGEST if each.first is None else SWEEP
    first = "" if each.first is None else f"{each.first:.1f}"
    told = "" if each.quiet <= limit else f"more than {limit:g} s"
    return (
        f"| {each.module}/{each.page} | {'run' if each.first is None else 'sweep'} | {each.quiet:.1f}"
        f" | {each.wall:.1f} | {first} | {told} |"
    )


def table(times: list[PageTime]) -> str:
    """pages.md with these times."""
    cores, load = os.cpu_count(), os.getloadavg()[2]
    medians = []
    for module in dict.fromkeys(each.module for each in times):
        runs = [each.quiet for each in times if each.module == module and each.first is None]
        if runs:
            medians.append(f"- {module}: median {median(runs):.1f} s, longest {max(runs):.1f} s")
    return "\n".join(
        [
            "# How long the pages' runs take",
            "",
            "Written by `python -m tests.benchmarks pages`, which runs each page once in a warm guest on the virtual",
            f"clock. To reach: a run {LONGEST:g} s at most, the median of a module {MEDIAN:g} s; a sweep {SWEEP:g} s to"
            f" its last point, {FIRST:g} s",
            "to the first one. *Quiet* is the processor's time of the guest, which is what a run takes if nothing"
            " else runs;",
            f"this machine has {cores} cores, and its load was {load:.0f}.",
            "",
            *medians,
            "",
            "| page | | quiet, s | wall, s | first point, s | |",
            "| --- | --- | --- | --- | --- | --- |",
            *map(line, times),
            "",
        ]
    )


def main(targets: list[str]) -> int:
    """1 when a page takes too long."""
    times = []
    for module in load().modules:
        for step in module.steps:
            if targets and not {module.id, f"{module.id}/{step.id}"} & set(targets):
                continue
            if (each := measured(module, step)) is not None:
                times.append(each)
                print(line(each), flush=True)
    if not times:
        sys.exit(f"no page that runs is {' or '.join(targets)}: say MODULE or MODULE/PAGE")
    if not targets:
        PAGE.write_text(table(times), encoding="utf-8")
    return 1 if any("more than" in line(each) for each in times) else 0
