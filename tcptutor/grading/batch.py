"""Grading of many hand-ins in parallel, in separate processes, so that a bad hand-in cannot hurt the others."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tcptutor.base import places
from tcptutor.base.errors import TutorError
from tcptutor.course.loader import load
from tcptutor.course.model import Course
from tcptutor.grading.cache import GradeCache
from tcptutor.grading.evidence.hand_in import SUFFIX, open_hand_in
from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.marking import grade_hand_in


class GradingBasis(NamedTuple):
    """The lessons, course code and modules to grade by."""

    lessons: Path
    code: str = ""
    """Grade only students of the course with this code; empty for all."""
    modules: tuple[str, ...] = ()
    """Ids of the modules that count; empty for all."""

    @classmethod
    def from_options(
        cls, lessons: Path | str | None, code: str = "", modules: tuple[str, ...] = ()
    ) -> GradingBasis:
        """Return the basis for command line options; `lessons` None or empty means the shipped ones."""
        return cls(Path(lessons) if lessons else places.lessons(), code, modules)

    @property
    def is_shipped(self) -> bool:
        return self.lessons == places.lessons()

    @property
    def course(self) -> Course:
        """Load the course from the lessons.

        Raises:
            ContentError: A page cannot be read; leaving it out would cost marks.
            UsageError: A module does not exist.
        """
        return load(self.lessons).select(self.modules)


Result = tuple[Grade | None, str]
"""A grade, or the reason for its absence."""
_MIN_PARALLEL = 4
"""Hand-ins from which processes are worth starting: a start takes longer than grading some."""


def find_hand_ins(paths: Sequence[Path]) -> list[Path]:
    """Return the given files, and all hand-ins in the given folders."""
    found = []
    for path in paths:
        found += sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
    return list(dict.fromkeys(found))


def grade_files(
    paths: Sequence[Path], basis: GradingBasis, jobs: int | None = None
) -> Iterator[tuple[int, GradedFile]]:
    """Yield the number of each hand-in with its result, in the order in which they finish.

    Raises:
        ContentError: A page cannot be read.
        UsageError: A module does not exist.
    """
    grader = _Grader(basis)
    called = display_names(paths)
    processes = min(jobs or len(os.sched_getaffinity(0)), len(paths))
    if processes < 2 or len(paths) < _MIN_PARALLEL:
        results: Iterator[tuple[int, Result]] = ((at, grader.result(path)) for at, path in enumerate(paths))
    else:
        results = _in_parallel(paths, basis, processes)
    for number, (found, problem) in results:
        yield number, GradedFile(called[number], found, problem)
    grader.cache.prune()


def display_names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each path, with enough folders to distinguish equal file names."""
    if len({path.name for path in paths}) == len(paths):
        return [path.name for path in paths]
    absolute = [path.absolute() for path in paths]
    root = os.path.commonpath([path.parent for path in absolute])
    return [str(path.relative_to(root)) for path in absolute]


class _Grader:
    """Grades hand-ins, and stores the grades in the cache."""

    def __init__(self, basis: GradingBasis) -> None:
        self._course, self._code = basis.course, basis.code
        self.cache = GradeCache(self._course, self._code)

    def result(self, path: Path) -> Result:
        """Return the grade, or the reason for its absence. Never raises TutorError."""
        try:
            key = self.cache.key(path)
            found = self.cache.get(key)
        except OSError:
            key, found = "", None  # opening the hand-in below reports the error
        if found is not None:
            return found, ""
        try:
            with open_hand_in(path) as hand_in:
                found = grade_hand_in(hand_in, self._course, self._code)
        except TutorError as error:
            return None, str(error)
        if key:
            self.cache.put(key, found)
        return found, ""


def _in_parallel(paths: Sequence[Path], basis: GradingBasis, processes: int) -> Iterator[tuple[int, Result]]:
    left = list(enumerate(paths))
    while left:
        # A killed process takes its pool with it: unfinished hand-ins go to a new pool, one at a time if need be.
        ended: set[int] = set()
        with _pool(basis, processes) as pool:
            try:
                for number, result in _results(pool, left):
                    ended.add(number)
                    yield number, result
            except (GeneratorExit, KeyboardInterrupt):
                # The caller has stopped waiting: unfinished hand-ins are graded another time.
                for process in multiprocessing.active_children():
                    process.terminate()
                raise
            except BrokenProcessPool:
                if processes == 1:
                    number, path = next(each for each in left if each[0] not in ended)
                    ended.add(number)
                    yield number, (None, f"{path} ended the process that graded it")
                processes = 1
        left = [each for each in left if each[0] not in ended]


def _pool(basis: GradingBasis, processes: int) -> ProcessPoolExecutor:
    # Spawn, not fork: this program has threads by now.
    return ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), initializer=_start_worker, initargs=(basis,)
    )


@contextmanager
def _deferred_interrupt() -> Iterator[None]:
    """Defer a ^C to the end of the block: a half-started process would end with its own traceback."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if received:
        signal.raise_signal(signal.SIGINT)


def _results(pool: ProcessPoolExecutor, left: Sequence[tuple[int, Path]]) -> Iterator[tuple[int, Result]]:
    """Grade in the pool, a few at a time: waiting tasks take memory."""
    waiting: dict[Future[Result], int] = {}
    todo = iter(left)
    most = 2 * (os.cpu_count() or 1) + 2
    while True:
        for number, path in todo:
            with _deferred_interrupt():
                waiting[pool.submit(_grade_in_worker, path)] = number
            if len(waiting) >= most:
                break
        if not waiting:
            return
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield waiting.pop(future), future.result()


class _Worker:
    """State of a worker process."""

    grader: _Grader


def _start_worker(basis: GradingBasis) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles ^C
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Worker.grader = _Grader(basis)


def _end_with_parent() -> None:
    """Exit when the parent has ended in any way, also by SIGKILL: its results would go nowhere."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _grade_in_worker(path: Path) -> Result:
    return _Worker.grader.result(path)
