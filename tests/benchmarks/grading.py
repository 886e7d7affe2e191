"""A class that hands in the whole course, graded: how large a hand-in is, how many a second a core, what a second core
adds, how long `class` takes then, and whether memory grows with their number.

`python -m tests.benchmarks.grading [N]` takes the runs of `tcptutor lint --run` from the cache, and makes the others.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path

from tcptutor.base import places
from tcptutor.course import load
from tcptutor.course.outline import Course
from tcptutor.course.step import Step
from tcptutor.fleet import pool
from tcptutor.fleet.run_cache import RunCache, run_into_cache
from tcptutor.grading.evidence.collect import collect
from tcptutor.grading.evidence.hand_in import write_hand_in
from tcptutor.spec import Experiment
from tests.cli.command import TCPTUTOR
from tests.grading.evidence.doer import Doer


def _experiments(step: Step) -> list[Experiment]:
    if step.sweep is not None:
        return [experiment for _, experiment in step.sweep.cells()]
    if step.challenge is not None:
        return [step.challenge.experiment, step.challenge.solution_experiment]
    return [step.experiment.experiment] if step.experiment is not None else []


async def _fill(course: Course, cache: RunCache) -> None:
    """Make the runs that nobody has made yet."""
    wanted = [each for module in course.modules for step in module.steps for each in _experiments(step)]
    missing = list({cache.key(each): each for each in wanted if not cache.has(each)}.values())
    if not missing:
        return
    where = await pool.find_place(missing, "guest", "virtual", None)
    async with aclosing(run_into_cache(missing, where, cache)) as made:
        async for number, problem in made:
            print(f"      made {missing[number].name} {problem}", flush=True)


def _graded(files: list[Path], jobs: int, folder: Path) -> tuple[float, float]:
    """Grade with nothing in the cache of grades; return the seconds of the wall clock and of a processor."""
    shutil.rmtree(folder, ignore_errors=True)
    return _seconds(["grade", *map(str, files), "--jobs", str(jobs), "--format", "csv"], folder)


def _seconds(words: list[str], folder: Path) -> tuple[float, float]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([TCPTUTOR, *words], env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, worked


def main(number: int) -> None:
    course, cache = load(places.lessons()), RunCache()
    asyncio.run(_fill(course, cache))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = Doer(course, folder / "student", find=cache.get)
        one.does()
        collected = collect(one.journal, course)
        files = [folder / f"{copy}.tcphandin" for copy in range(number)]
        write_hand_in(files[0], collected.manifest, collected.events, collected.runs)
        for copy, file in enumerate(files[1:], 1):
            _copy(files[0], file, copy)
        size = files[0].stat().st_size
        print(f"      {len(collected.runs)} runs, {len(collected.events)} events, {size / 1e6:.1f} MB")
        graded = folder / "cache"
        (_, few), (alone, worked) = _graded(files[:1], 1, graded), _graded(files, 1, graded)
        both, _ = _graded(files, 2, graded)
        print(f"      {(worked - few) / (number - 1):.2f} s of a processor for each hand-in")
        print(f"      two workers {alone / both:.2f} times as fast as one")
        waited, worked = _seconds(["class", *map(str, files), "--text"], graded)
        print(
            f"      class of {number} from the cache of grades: {waited:.1f} s, {worked:.1f} s of a processor"
        )
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"      {most:.0f} MB at most in one process, of {number} hand-ins")


def _copy(one: Path, other: Path, number: int) -> None:
    """The same hand-in with more bytes where nothing is read: for the cache of grades it is another one."""
    shutil.copy(one, other)
    with other.open("ab") as file:
        file.write(bytes(512 * number))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
