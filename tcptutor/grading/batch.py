"""Grading of many hand-ins in parallel, in separate processes, so that a bad hand-in cannot hurt the others.

Grades are cached by hand-in, lessons and tcptutor version: a partly graded folder continues where it stopped. Marks are
personal: only the owner can read the cache's files.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

import tcptutor
from tcptutor.base import files, places
from tcptutor.base.errors import TutorError
from tcptutor.course.outline import Course, load
from tcptutor.grading.decisions import Decision, decisions_for
from tcptutor.grading.evidence.hand_in import MOST_BYTES, SUFFIX, lesson_hashes, open_hand_in
from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.marking import grade_hand_in


class GradingBasis(NamedTuple):
    """The lessons, course code and modules to grade by."""

    lessons: Path
    code: str = ""
    """Grade only students of the course with this code; empty for all."""
    modules: tuple[str, ...] = ()
    """Ids of the modules that count; empty for all."""
    extensions: tuple[Decision, ...] = ()
    """Deadlines of single students."""

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
    grader = Grader(basis)
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


class Grader:
    """Grades hand-ins, and stores the grades in the cache."""

    def __init__(self, basis: GradingBasis) -> None:
        self._course, self._code, self._extensions = basis.course, basis.code, basis.extensions
        self.cache = GradeCache(self._course, self._code)

    def result(self, path: Path) -> Result:
        """Return the grade, or the reason for its absence. Never raises TutorError."""
        found, problem = self._graded(path, ())
        own = decisions_for(self._extensions, found.student, path.name) if found is not None else ()
        return self._graded(path, own) if own else (found, problem)

    def _graded(self, path: Path, extensions: tuple[Decision, ...]) -> Result:
        try:
            key = self.cache.key(path, extensions)
            found = self.cache.get(key)
        except OSError:
            key, found = "", None  # opening the hand-in below reports the error
        if found is not None:
            return found, ""
        try:
            with open_hand_in(path) as hand_in:
                found = grade_hand_in(hand_in, self._course, self._code, extensions)
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

    grader: Grader


def _start_worker(basis: GradingBasis) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles ^C
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Worker.grader = Grader(basis)


def _end_with_parent() -> None:
    """Exit when the parent has ended in any way, also by SIGKILL: its results would go nowhere."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _grade_in_worker(path: Path) -> Result:
    return _Worker.grader.result(path)


_MOST = 8 << 20
_decoder = msgspec.json.Decoder(Grade)


class GradeCache:
    """The grades of a course, in a folder."""

    def __init__(self, course: Course, code: str, folder: Path | None = None) -> None:
        basis = msgspec.json.encode(
            [_program(), code, lesson_hashes(course), [each.id for each in course.modules], course.marks],
            order="deterministic",
        )
        self._basis = hashlib.sha256(basis).digest()
        self._folder = folder or places.cache() / "grades"

    def key(self, hand_in: Path, extensions: tuple[Decision, ...] = ()) -> str:
        """Return the key of a hand-in of a student with these deadlines.

        Raises OSError for an unreadable file, and above MOST_BYTES.
        """
        with files.open_regular(hand_in) as content:
            if os.fstat(content.fileno()).st_size > MOST_BYTES:
                raise OSError(errno.EFBIG, "larger than any hand-in")
            found = hashlib.file_digest(content, "sha256")
        own = msgspec.json.encode(extensions) if extensions else b""
        return hashlib.sha256(self._basis + found.digest() + own).hexdigest()[:32]

    def get(self, key: str) -> Grade | None:
        """Return the stored grade; None where it is missing or damaged."""
        try:
            return _decoder.decode(files.read_plain(self._file(key), _MOST))
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, key: str, grade: Grade) -> None:
        """Store a grade, if the folder can be written."""
        with contextlib.suppress(TutorError), files.atomic(self._file(key), private=True) as temporary:
            temporary.write_bytes(msgspec.json.encode(grade))

    def prune(self) -> None:
        """Remove grades that have not been used for 60 days."""
        places.remove_unused(self._folder.glob("*.json"))

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"


@cache
def _program() -> str:
    """Return a digest of tcptutor's source: other versions may mark differently."""
    found = hashlib.sha256()
    root = Path(tcptutor.__file__).parent
    for file in sorted(root.rglob("*.py")):
        found.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()
