"""Many hand-ins graded side by side, each in a process that none of the others can be hurt by."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tcptutor.course.load import load
from tcptutor.course.model import Course
from tcptutor.errors import TutorError
from tcptutor.evidence.hand_in import SUFFIX, opened_hand_in
from tcptutor.grading.formats import GradedFile
from tcptutor.grading.marking import grade

_FEW = 4
"""Hand-ins from which on processes are started for them: a start takes longer than grading some."""


def hand_ins(names: Sequence[Path]) -> list[Path]:
    """The files, and in the place of each folder all hand-ins in it, whatever is around them."""
    found = []
    for name in names:
        found += sorted(name.rglob(f"*{SUFFIX}")) if name.is_dir() else [name]
    return list(dict.fromkeys(found))


def graded(
    paths: Sequence[Path], lessons: Path, code: str, jobs: int | None = None
) -> Iterator[tuple[int, GradedFile]]:
    """The number of each hand-in with what became of it, in the order in which they end.

    Raises ContentError for lessons that cannot be read whole: a page that is left out would cost marks.
    """
    course = load(lessons)
    processes = min(jobs or len(os.sched_getaffinity(0)), len(paths))
    if processes < 2 or len(paths) < _FEW:
        for number, path in enumerate(paths):
            yield number, _graded(path, course, code)
        return
    yield from _side_by_side(paths, lessons, code, processes)


def _side_by_side(
    paths: Sequence[Path], lessons: Path, code: str, processes: int
) -> Iterator[tuple[int, GradedFile]]:
    left = list(enumerate(paths))
    while left:
        # A process that was killed takes its pool with it: what had not ended goes to another one, alone if need be.
        ended: set[int] = set()
        with _pool(lessons, code, processes) as pool:
            try:
                for number, one in _results(pool, left):
                    ended.add(number)
                    yield number, one
            except BrokenProcessPool:
                if processes == 1:
                    number, path = next(each for each in left if each[0] not in ended)
                    ended.add(number)
                    yield number, GradedFile(path.name, None, f"{path} ended the process that graded it")
                processes = 1
        left = [each for each in left if each[0] not in ended]


def _pool(lessons: Path, code: str, processes: int) -> ProcessPoolExecutor:
    # Not forked: this program has threads by now.
    return ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(lessons, code)
    )


def _results(pool: ProcessPoolExecutor, left: Sequence[tuple[int, Path]]) -> Iterator[tuple[int, GradedFile]]:
    """A few at a time: what waits takes memory."""
    waiting: dict[Future[GradedFile], int] = {}
    todo = iter(left)
    most = 2 * (os.cpu_count() or 1) + 2
    while True:
        for number, path in todo:
            waiting[pool.submit(_of_course, path)] = number
            if len(waiting) >= most:
                break
        if not waiting:
            return
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield waiting.pop(future), future.result()


class _Begun:
    """What a process was begun with."""

    course: Course
    code: str


def _begin(lessons: Path, code: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a ^C is for the program that waits for us
    _Begun.course, _Begun.code = load(lessons), code


def _of_course(path: Path) -> GradedFile:
    return _graded(path, _Begun.course, _Begun.code)


def _graded(path: Path, course: Course, code: str) -> GradedFile:
    try:
        with opened_hand_in(path) as hand_in:
            return GradedFile(path.name, grade(hand_in, course, code))
    except TutorError as error:
        return GradedFile(path.name, None, str(error))
