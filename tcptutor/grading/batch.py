"""Grading of many hand-ins in parallel, in separate processes, so that a bad hand-in cannot hurt the others.

Grades are cached by hand-in, lessons and tcptutor version: a partly graded folder continues where it stopped. Marks are
personal: only the owner can read the cache's files.
"""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import msgspec

import tcptutor
from tcptutor.base import decoding, files, places, printable
from tcptutor.base.errors import TutorError
from tcptutor.course.outline import Course, load
from tcptutor.course.sources import course_folder
from tcptutor.grading.decisions import Decision, DecisionsByStudent
from tcptutor.grading.evidence.hand_in import MOST_BYTES, SUFFIX, open_hand_in
from tcptutor.grading.evidence.joining import join
from tcptutor.grading.evidence.seen_runs import SeenRuns
from tcptutor.grading.grade import Grade
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.versions import CourseVersions


@dataclass(frozen=True)
class GradingBasis:
    """The lessons, course code and modules to grade by."""

    lessons: Path
    """Folder, pack or archive."""
    code: str = ""
    """Grade only students of the course with this code; empty for all."""
    modules: tuple[str, ...] = ()
    """Ids of the modules that count; empty for all."""
    decisions: DecisionsByStudent = field(default_factory=lambda: DecisionsByStudent(()))
    """Deadlines of single students, and ids that are the same student."""
    versions: Path | None = None
    """Folder of other versions of the course, for hand-ins that were made with them."""

    @classmethod
    def from_options(
        cls, lessons: Path | str | None, code: str = "", modules: tuple[str, ...] = ()
    ) -> GradingBasis:
        """Return the basis for command line options; `lessons` None or empty means the chosen course."""
        chosen = places.chosen_course()
        own = places.shipped_lessons()
        if chosen:  # as given, since workers of a cluster have caches of their own
            own = chosen.local
        return cls(Path(lessons) if lessons else own, code, modules)

    @property
    def is_shipped(self) -> bool:
        return self.lessons == places.shipped_lessons()

    @cached_property
    def course(self) -> Course:
        """Load the course from the lessons, once.

        Raises:
            ContentError: A page cannot be read; leaving it out would cost marks.
            UsageError: A module does not exist.
        """
        return self.whole_course.select(self.modules)

    @cached_property
    def whole_course(self) -> Course:
        """Load the course with all modules, once. Raises ContentError as `course` does."""
        return load(course_folder(self.lessons))

    def __reduce__(self) -> tuple[type[GradingBasis], tuple[object, ...]]:
        """Pickle without the course: the receiving process loads its own."""
        return GradingBasis, (self.lessons, self.code, self.modules, self.decisions, self.versions)

    @property
    def all_versions(self) -> Course:
        """Return a course with the pages of every version.

        Raises:
            TutorError: A version cannot be read.
        """
        course = self.course
        modules = tuple(
            module for each in CourseVersions(course, self.versions).all for module in each.modules
        )
        return msgspec.structs.replace(course, modules=modules)


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


Sources = tuple[Path, ...]
"""The file of a hand-in, or the files of a student's joined hand-ins, which get a single grade."""


def grade_files(
    hand_ins: Sequence[Sources], basis: GradingBasis, jobs: int | None = None
) -> Iterator[tuple[int, Result, bool]]:
    """Yield index, result and cache flag of each hand-in; cached results come first.

    Raises:
        ContentError: A page cannot be read.
        UsageError: A module does not exist.
    """
    grader = Grader(basis)
    todo: list[tuple[int, Sources]] = []
    for number, sources in enumerate(hand_ins):
        found = grader.cached(sources)
        if found is None:
            todo.append((number, sources))
        else:
            yield number, (found, ""), True
    processes = min(jobs or len(os.sched_getaffinity(0)), len(todo))
    if processes < 2 or len(todo) < _MIN_PARALLEL:
        results: Iterator[tuple[int, Result]] = ((at, grader.result(each)) for at, each in todo)
    else:
        results = _in_parallel(todo, basis, processes)
    for number, result in results:
        yield number, result, False
    grader.cache.prune()


def display_names(paths: Sequence[Path]) -> list[str]:
    """Return a printable name for each path, with enough folders to distinguish equal file names."""
    if len({path.name for path in paths}) == len(paths):
        return [printable.escaped(path.name) for path in paths]
    absolute = [path.absolute() for path in paths]
    root = os.path.commonpath([path.parent for path in absolute])
    return [printable.escaped(str(path.relative_to(root))) for path in absolute]


class Grader:
    """Grades hand-ins, and stores the grades in the cache."""

    def __init__(self, basis: GradingBasis) -> None:
        self._versions = CourseVersions(basis.course, basis.versions)
        self._seen = SeenRuns()
        self._code, self._decisions = basis.code, basis.decisions
        self.cache = GradeCache(self._versions, self._code)

    def cached(self, sources: Sources) -> Grade | None:
        """Return the stored grade; None if no grade is stored or a file is unreadable."""
        found = self._stored(sources, ())
        own = self.decisions(found, sources) if found is not None else ()
        return self._stored(sources, own) if own else found

    def result(self, sources: Sources) -> Result:
        """Return the grade, or the reason for its absence. Never raises TutorError."""
        found, problem = self._graded(sources, ())
        own = self.decisions(found, sources) if found is not None else ()
        return self._graded(sources, own) if own else (found, problem)

    def decisions(self, grade: Grade, sources: Sources) -> tuple[Decision, ...]:
        """Return the decisions on the student that marking applies."""
        found = (self._decisions.of(grade.student, path.name) for path in sources)
        return tuple(dict.fromkeys(each for own in found for each in own))

    def _stored(self, sources: Sources, decisions: tuple[Decision, ...]) -> Grade | None:
        try:
            return self.cache.get(self.cache.key(sources, decisions))
        except OSError:
            return None  # opening the hand-in reports the error

    def _graded(self, sources: Sources, decisions: tuple[Decision, ...]) -> Result:
        found = self._stored(sources, decisions)
        if found is not None:
            return found, ""
        try:
            with ExitStack() as stack:
                hand_ins = [stack.enter_context(open_hand_in(path, seen=self._seen)) for path in sources]
                hand_in = join(hand_ins) if len(hand_ins) > 1 else hand_ins[0]
                if len(hand_ins) > 1 and hand_in in hand_ins:  # it has all of the others
                    found, problem = self._graded((hand_in.path,), decisions)
                else:
                    course = self._versions.course_of(hand_in.manifest)
                    found, problem = grade_hand_in(hand_in, course, self._code, decisions), ""
        except TutorError as error:
            return None, printable.escaped(str(error))
        if found is not None:
            with suppress(OSError):
                self.cache.put(self.cache.key(sources, decisions), found)
        return found, problem


def _in_parallel(
    hand_ins: Sequence[tuple[int, Sources]], basis: GradingBasis, processes: int
) -> Iterator[tuple[int, Result]]:
    left = list(hand_ins)
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
                    number, sources = next(each for each in left if each[0] not in ended)
                    ended.add(number)
                    name = printable.escaped(", ".join(map(str, sources)))
                    yield number, (None, f"{name} ended the process that graded it")
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


def _results(pool: ProcessPoolExecutor, left: Sequence[tuple[int, Sources]]) -> Iterator[tuple[int, Result]]:
    """Grade in the pool, a few at a time: waiting tasks take memory."""
    waiting: dict[Future[Result], int] = {}
    todo = iter(left)
    most = 2 * (os.cpu_count() or 1) + 2
    while True:
        for number, sources in todo:
            with _deferred_interrupt():
                waiting[pool.submit(_grade_in_worker, sources)] = number
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


def _grade_in_worker(sources: Sources) -> Result:
    return _Worker.grader.result(sources)


_MOST = 8 << 20
_decoder = decoding.json_decoder(Grade)


class GradeCache:
    """The grades of a course, in a folder."""

    def __init__(self, versions: CourseVersions, code: str, folder: Path | None = None) -> None:
        course = versions.current
        marks = msgspec.structs.replace(course.marks, hand_ins="union")  # selects among finished grades
        basis = msgspec.json.encode(
            [_program(), code, versions.hashes, [each.id for each in course.modules], marks],
            order="deterministic",
        )
        self._basis = hashlib.sha256(basis).digest()
        self._folder = folder or places.cache() / "grades"

    def key(self, sources: Sources, decisions: tuple[Decision, ...] = ()) -> str:
        """Return the key of a hand-in of a student with these decisions.

        Raises OSError for an unreadable file, and above MOST_BYTES.
        """
        # The order in which joined files are given makes no difference.
        content = b"".join(sorted(map(self._digest, sources)))
        own = msgspec.json.encode(decisions) if decisions else b""
        return hashlib.sha256(self._basis + content + own).hexdigest()[:32]

    def _digest(self, path: Path) -> bytes:
        with files.open_regular(path) as content:
            if os.fstat(content.fileno()).st_size > MOST_BYTES:
                raise OSError(errno.EFBIG, "larger than any hand-in")
            return hashlib.file_digest(content, "sha256").digest()

    def get(self, key: str) -> Grade | None:
        """Return the stored grade; None where it is missing or damaged."""
        try:
            return _decoder.decode(files.read_plain(self._file(key), _MOST))
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, key: str, grade: Grade) -> None:
        """Store a grade, if the folder can be written."""
        with suppress(TutorError), files.atomic(self._file(key), private=True) as temporary:
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
