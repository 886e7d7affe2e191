"""Many hand-ins graded side by side, each in a process that none of the others can be hurt by."""

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
from tcptutor.grading.evidence.hand_in import SUFFIX, opened_hand_in
from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.marking import grade


class Asked(NamedTuple):
    """What hand-ins are graded by."""

    lessons: Path
    code: str = ""
    """Of the course whose students alone are graded; empty for all."""
    modules: tuple[str, ...] = ()
    """Ids of the modules that count; all without any."""

    @classmethod
    def of(cls, lessons: Path | str | None, code: str = "", modules: tuple[str, ...] = ()) -> Asked:
        """lessons: their folder; empty for those that ship with tcptutor."""
        return cls(Path(lessons) if lessons else places.lessons(), code, modules)

    @property
    def shipped(self) -> bool:
        """Whether the lessons are those that ship with tcptutor."""
        return self.lessons == places.lessons()

    @property
    def course(self) -> Course:
        """Read from the lessons. Raises ContentError where they cannot be read whole: a page that is left out would
        cost marks; and UsageError for a module that is not there.
        """
        return load(self.lessons).select(self.modules)


Result = tuple[Grade | None, str]
"""A grade, or why there is none, one line."""
_FEW = 4
"""Hand-ins from which on processes are started for them: a start takes longer than grading some."""


def hand_ins(names: Sequence[Path]) -> list[Path]:
    """The files, and in the place of each folder all hand-ins in it, whatever is around them."""
    found = []
    for name in names:
        found += sorted(name.rglob(f"*{SUFFIX}")) if name.is_dir() else [name]
    return list(dict.fromkeys(found))


def graded(paths: Sequence[Path], asked: Asked, jobs: int | None = None) -> Iterator[tuple[int, GradedFile]]:
    """The number of each hand-in with what became of it, in the order in which they end. Raises as `Asked.course`."""
    grader = _Grader(asked)
    called = names(paths)
    processes = min(jobs or len(os.sched_getaffinity(0)), len(paths))
    if processes < 2 or len(paths) < _FEW:
        results: Iterator[tuple[int, Result]] = ((at, grader.result(path)) for at, path in enumerate(paths))
    else:
        results = _side_by_side(paths, asked, processes)
    for number, (found, problem) in results:
        yield number, GradedFile(called[number], found, problem)
    grader.cache.prune()


def names(paths: Sequence[Path]) -> list[str]:
    """What each is called: its name, with the folders that tell it from the others."""
    if len({path.name for path in paths}) == len(paths):
        return [path.name for path in paths]
    whole = [path.absolute() for path in paths]
    above = os.path.commonpath([path.parent for path in whole])
    return [str(path.relative_to(above)) for path in whole]


class _Grader:
    """Grades one after the other, and puts what came out into the cache."""

    def __init__(self, asked: Asked) -> None:
        self._course, self._code = asked.course, asked.code
        self.cache = GradeCache(self._course, self._code)

    def result(self, path: Path) -> Result:
        """Never raises TutorError."""
        try:
            key = self.cache.key(path)
            found = self.cache.get(key)
        except OSError:
            key, found = "", None  # it is told below why
        if found is not None:
            return found, ""
        try:
            with opened_hand_in(path) as hand_in:
                found = grade(hand_in, self._course, self._code)
        except TutorError as error:
            return None, str(error)
        if key:
            self.cache.put(key, found)
        return found, ""


def _side_by_side(paths: Sequence[Path], asked: Asked, processes: int) -> Iterator[tuple[int, Result]]:
    left = list(enumerate(paths))
    while left:
        # A process that was killed takes its pool with it: what had not ended goes to another one, alone if need be.
        ended: set[int] = set()
        with _pool(asked, processes) as pool:
            try:
                for number, one in _results(pool, left):
                    ended.add(number)
                    yield number, one
            except (GeneratorExit, KeyboardInterrupt):
                # Nobody waits any more: what they are at is begun anew another time.
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


def _pool(asked: Asked, processes: int) -> ProcessPoolExecutor:
    # Not forked: this program has threads by now.
    return ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(asked,)
    )


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A ^C comes at the end of the block: a process that is half started would end with a traceback of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


def _results(pool: ProcessPoolExecutor, left: Sequence[tuple[int, Path]]) -> Iterator[tuple[int, Result]]:
    """A few at a time: what waits takes memory."""
    waiting: dict[Future[Result], int] = {}
    todo = iter(left)
    most = 2 * (os.cpu_count() or 1) + 2
    while True:
        for number, path in todo:
            with _undisturbed():
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

    grader: _Grader


def _begin(asked: Asked) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a ^C is for the program that waits for us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Begun.grader = _Grader(asked)


def _end_with_parent() -> None:
    """Leave when the program that grades has ended in whatever way, also by SIGKILL: nobody asks for more then."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _of_course(path: Path) -> Result:
    return _Begun.grader.result(path)
