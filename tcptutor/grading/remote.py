"""Hand-ins graded on the workers of a Dask cluster. A worker writes nothing of them to a disk."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from functools import lru_cache
from pathlib import Path

import msgspec

from tcptutor.base.errors import TutorError, refused
from tcptutor.base.files import read_plain
from tcptutor.course.model import Course
from tcptutor.fleet.cluster import Cluster
from tcptutor.grading.batch import Asked, Result
from tcptutor.grading.cache import GradeCache
from tcptutor.grading.evidence.hand_in import MOST_BYTES, lesson_hashes, opened_hand_in
from tcptutor.grading.grade import Grade
from tcptutor.grading.marking import grade


class _Call(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is asked."""

    name: str
    content: bytes
    lessons: str
    """The folder; empty for those that ship with tcptutor."""
    digest: str
    """Of the lessons where the question comes from."""
    code: str
    modules: tuple[str, ...]


class RemoteResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker answers."""

    grade: Grade | None = None
    problem: str = ""
    """Why there is no grade, one line."""


async def graded(
    paths: Sequence[Path], asked: Asked, address: str
) -> AsyncGenerator[tuple[int, Result], None]:
    """The number of each hand-in with its grade, or why there is none, in the order in which they end.

    Raises as `Asked.course`, LabUnavailable where no scheduler answers, and LabError when it goes away.
    """
    course = asked.course
    cache, digest = GradeCache(course, asked.code), _digest(course)
    keys: dict[int, str] = {}
    todo: list[int] = []
    for number, path in enumerate(paths):
        try:
            keys[number] = cache.key(path)
        except OSError as error:
            yield number, (None, f"cannot read {path}: {refused(error, 'ask for another one')}")
            continue
        found = cache.get(keys[number])
        if found is None:
            todo.append(number)
        else:
            yield number, (found, "")

    def calls() -> Iterator[bytes]:
        for number in todo:
            yield _written(paths[number], asked, digest)

    async with (
        Cluster(address) as workers,
        aclosing(workers.calls(calls(), grade_there, RemoteResult)) as results,
    ):
        async for at, result in results:
            number = todo[at]
            if isinstance(result, TutorError):
                yield number, (None, f"{paths[number]}: {result}")
            elif result.grade is None:
                yield number, (None, result.problem)
            else:
                cache.put(keys[number], result.grade)
                yield number, (result.grade, "")
    cache.prune()


def _written(path: Path, asked: Asked, digest: str) -> bytes:
    try:
        content = read_plain(path, MOST_BYTES)
    except OSError:
        content = b""  # said by who reads it
    return msgspec.msgpack.encode(
        _Call(
            name=str(path),
            content=content,
            lessons="" if asked.shipped else str(asked.lessons.absolute()),
            digest=digest,
            code=asked.code,
            modules=asked.modules,
        )
    )


def grade_there(argument: bytes) -> RemoteResult:
    """What a worker does. Raises TutorError where its lessons are others."""
    call = msgspec.msgpack.decode(argument, type=_Call)
    course = _course(call.lessons, call.modules, call.digest)
    if _digest(course) != call.digest:
        raise TutorError(
            "the lessons there are others than here: use the same version, and --lessons that all can read"
        )
    try:
        with opened_hand_in(Path(call.name), call.content) as hand_in:
            return RemoteResult(grade=grade(hand_in, course, call.code))
    except TutorError as error:
        return RemoteResult(problem=str(error))


@lru_cache(maxsize=2)
def _course(lessons: str, modules: tuple[str, ...], _digest: str) -> Course:
    """Read once for each digest that is asked for: lessons may be edited while a worker lives."""
    return Asked.of(lessons, "", modules).course


def _digest(course: Course) -> str:
    told = msgspec.json.encode([lesson_hashes(course), course.marks], order="deterministic")
    return hashlib.sha256(told).hexdigest()
