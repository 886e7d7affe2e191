"""Grading of a class's hand-ins, on this machine's cores or on the workers of a Dask cluster.

A worker never writes hand-ins to disk.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import msgspec

from tcptutor.backends.programs import run_until_signal, terminate_like_ctrl_c
from tcptutor.base import decoding, printable
from tcptutor.base.errors import LabError, TutorError, UsageError, refused
from tcptutor.base.files import read_plain
from tcptutor.fleet.cluster import Cluster
from tcptutor.grading import batch
from tcptutor.grading.batch import GradeCache, Grader, GradingBasis, Result, Sources
from tcptutor.grading.evidence.hand_in import MOST_BYTES, open_hand_in
from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.selection import JOINT, to_join
from tcptutor.grading.versions import CourseVersions


class GradingCounter(Protocol):
    """Shows how many hand-ins are graded."""

    def advance(self, latest: str, *, is_timed: bool) -> None:
        """Count a hand-in; `is_timed` is False where its grade was in the cache."""

    def extend(self, number: int) -> None:
        """Add as many to the total."""


def grade_all(
    paths: Sequence[Path],
    basis: GradingBasis,
    jobs: int | None,
    cluster: str | None,
    progress: GradingCounter,
) -> list[GradedFile]:
    """Grade every hand-in, and joined hand-ins where the course joins them; `select` must follow.

    Args:
        paths: The hand-ins.
        basis: The lessons, course code and modules to grade by.
        jobs: Processes at a time; None for a process per core.
        cluster: Address of the Dask scheduler for remote grading; None for this machine.
        progress: Counts each hand-in.

    Returns:
        An entry per path, in order, and then the joined ones; `problem` is the reason for a missing grade.

    Raises:
        UsageError: Both `jobs` and `cluster` are given, or a module does not exist.
        LabError: The grading was stopped, or the scheduler went away.
    """
    if cluster is not None and jobs is not None:
        raise UsageError(
            "--cluster: each worker grades as many hand-ins at a time as it has threads: omit --jobs"
        )
    names = dict(zip(paths, batch.display_names(paths), strict=True))
    single = [(path,) for path in paths]
    if cluster is None:
        found = _on_this_machine(single, names, basis, jobs, progress)
    else:
        taken: dict[int, GradedFile] = {}

        def take(number: int, result: Result, is_timed: bool) -> None:
            taken[number] = GradedFile(names[paths[number]], *result, sources=single[number])
            progress.advance(taken[number].file, is_timed=is_timed)

        stopped = run_until_signal(_on_cluster(paths, basis, cluster, take))
        if stopped is not None:
            raise stopped
        _extend(basis, taken)
        found = [taken[number] for number in range(len(paths))]
    joined = to_join(found, basis.course.marks.hand_ins)
    progress.extend(len(joined))
    together = _on_this_machine(joined, names, basis, jobs, progress)
    return [*found, *(each for each in together if each.grade is not None)]


def _on_this_machine(
    hand_ins: Sequence[Sources],
    names: Mapping[Path, str],
    basis: GradingBasis,
    jobs: int | None,
    progress: GradingCounter,
) -> list[GradedFile]:
    if not hand_ins:
        return []
    found: dict[int, GradedFile] = {}
    with terminate_like_ctrl_c():
        for number, result, is_cached in batch.grade_files(hand_ins, basis, jobs):
            sources = hand_ins[number]
            found[number] = GradedFile(JOINT.join(names[path] for path in sources), *result, sources=sources)
            progress.advance(found[number].file, is_timed=not is_cached)
    return [found[number] for number in range(len(hand_ins))]


def _extend(basis: GradingBasis, found: dict[int, GradedFile]) -> None:
    """Grade the few students with a deadline of their own on this machine: only then their ids are known."""
    if not basis.decisions:
        return
    grader = Grader(basis)
    for number, each in found.items():
        if each.grade is not None and grader.decisions(each.grade, each.sources):
            grade, problem = grader.result(each.sources)
            found[number] = each._replace(grade=grade, problem=problem)


def none_counts(graded: Sequence[GradedFile]) -> bool:
    """Return whether all of several hand-ins are of a different course, which suggests a wrong key."""
    read = [each.grade for each in graded if each.grade is not None]
    return len(read) > 1 and all(grade.refused for grade in read)


async def _on_cluster(
    paths: Sequence[Path], basis: GradingBasis, cluster: str, take: Callable[[int, Result, bool], None]
) -> TutorError | None:
    try:
        async with aclosing(grade_on_cluster(paths, basis, cluster)) as results:
            async for number, result, is_cached in results:
                take(number, result, not is_cached)
    except asyncio.CancelledError:
        return LabError("stopped: the same command goes on with what was graded")
    return None


class _Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a worker."""

    name: str
    content: bytes
    lessons: str
    """The folder; empty for the shipped lessons."""
    versions: str
    """Folder of other versions; empty for none."""
    digest: str
    """Digest of the caller's lessons, in all versions."""
    code: str
    modules: tuple[str, ...]


class RemoteResult(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's answer."""

    grade: Grade | None = None
    problem: str = ""
    """Reason for a missing grade."""


async def grade_on_cluster(
    paths: Sequence[Path], basis: GradingBasis, address: str
) -> AsyncGenerator[tuple[int, Result, bool], None]:
    """Yield index, result and cache flag of each hand-in; cached results come first.

    Raises:
        ContentError: A page cannot be read.
        UsageError: A module does not exist.
        LabUnavailable: No scheduler answers.
        LabError: The scheduler went away.
    """
    versions = CourseVersions(basis.course, basis.versions)
    cache, digest = GradeCache(versions, basis.code), _digest(versions)
    keys: dict[int, str] = {}
    todo: list[int] = []
    for number, path in enumerate(paths):
        try:
            keys[number] = cache.key((path,))
        except OSError as error:
            why = refused(error, "ask for another one")
            yield number, (None, printable.escaped(f"cannot read {path}: {why}")), False
            continue
        found = cache.get(keys[number])
        if found is None:
            todo.append(number)
        else:
            yield number, (found, ""), True

    def calls() -> Iterator[bytes]:
        for number in todo:
            yield _encode_call(paths[number], basis, digest)

    async with (
        Cluster(address) as workers,
        aclosing(workers.calls(calls(), grade_on_worker, RemoteResult)) as results,
    ):
        async for at, result in results:
            number = todo[at]
            if isinstance(result, TutorError):
                yield number, (None, printable.escaped(f"{paths[number]}: {result}")), False
            elif result.grade is None:
                yield number, (None, result.problem), False
            else:
                cache.put(keys[number], result.grade)
                yield number, (result.grade, ""), False
    cache.prune()


def _encode_call(path: Path, basis: GradingBasis, digest: str) -> bytes:
    try:
        content = read_plain(path, MOST_BYTES)
    except OSError:
        content = b""  # reading the hand-in on the worker reports the error
    return msgspec.msgpack.encode(
        _Call(
            name=str(path),
            content=content,
            lessons="" if basis.is_shipped else str(basis.lessons.absolute()),
            versions=str(basis.versions.absolute()) if basis.versions else "",
            digest=digest,
            code=basis.code,
            modules=basis.modules,
        )
    )


def grade_on_worker(argument: bytes) -> RemoteResult:
    """Grade a hand-in on a worker. Raises TutorError where the worker's lessons differ from the caller's."""
    call = decoding.msgpack_decoder(_Call).decode(argument)
    if call.versions and not Path(call.versions).is_dir():
        raise TutorError(
            f"the worker has no folder {call.versions}: use --versions with one that all can read"
        )
    versions = _versions(call.lessons, call.modules, call.versions, call.digest)
    if _digest(versions) != call.digest:
        raise TutorError(
            "the worker's lessons differ from yours: use the same version, and a --course that all can read"
        )
    try:
        with open_hand_in(Path(call.name), call.content) as hand_in:
            course = versions.course_of(hand_in.manifest)
            return RemoteResult(grade=grade_hand_in(hand_in, course, call.code))
    except TutorError as error:
        return RemoteResult(problem=printable.escaped(str(error)))


@lru_cache(maxsize=2)
def _versions(lessons: str, modules: tuple[str, ...], versions: str, _digest: str) -> CourseVersions:
    """Load the course and its versions once per digest: lessons may be edited while a worker lives."""
    course = GradingBasis.from_options(lessons, "", modules).course
    return CourseVersions(course, Path(versions) if versions else None)


def _digest(versions: CourseVersions) -> str:
    content = msgspec.json.encode([versions.hashes, versions.current.marks], order="deterministic")
    return hashlib.sha256(content).hexdigest()
