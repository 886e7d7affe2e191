"""The file that a student hands in: written whole or not at all; read with bounds, whoever wrote it.

    hand-in.json       HandInManifest
    journal.jsonl.gz   every event of the journal, as `journal.events.export_events` has them
    runs/ID.json.xz    the text of the run files that marks are given by, packed to 60 % of what these take

It is a plain tar archive (`archive`). Nothing of it is ever written to a disk by who reads it.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import platform
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path

import msgspec

from tcptutor.base import archive, files, printable
from tcptutor.base.archive import ArchiveMember, NotAnArchive
from tcptutor.base.errors import JournalError, TutorError, refused
from tcptutor.course.model import Course
from tcptutor.journal.events import StoredEvent, export_events, read_events
from tcptutor.run import Run, load

FORMAT_VERSION = 1
SUFFIX = ".tcphandin"
_MANIFEST, _JOURNAL, _RUNS = "hand-in.json", "journal.jsonl.gz", "runs/"
_RUN = re.compile(r"runs/([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})\.json\.xz")
MOST_BYTES = 64 << 20
"""Of a whole file. One of the whole course takes a tenth of it."""
_MOST_MEMBER = 32 << 20
_MOST_RUNS = 4096
_MOST_TEXT, _MOST_TEXTS = 96 << 20, 1 << 30
"""Bytes, unpacked, of one run, and of all that are read, again and again where they are asked for again: ten times as
many as the whole course has."""
_PRESET = 4
"""Of xz: beyond it a few percent less take twice the time."""
_UNPACKER_MEMORY = 32 << 20
"""Bytes: six times what that needs."""
_LONGEST_LINE = 2 << 20
"""Bytes of an event's line."""
_WRITE_AGAIN = "ask for another one: `tcptutor submit` writes it"
_MANIFEST_KIND = msgspec.structs.replace(files.small_kind("hand-in", _WRITE_AGAIN), most=4 << 20)
_JOURNAL_KIND = msgspec.structs.replace(
    files.small_kind("record of a hand-in", _WRITE_AGAIN), most=48 << 20, plain=8 << 20, times=60
)


class HandInManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a hand-in says of itself. Nothing in it gives marks."""

    tcptutor: str
    """The version that wrote it."""
    made: str
    """Wall-clock time, ISO 8601 with zone."""
    student: str = ""
    """As the course names its students; empty for who is not enrolled."""
    course: str = ""
    """The course's code."""
    title: str = ""
    """Of the lessons."""
    lessons: dict[str, str] = {}
    """SHA-256 of each of their files, by its path."""
    events: int = 0
    machine: dict[str, str] = {}
    missing: tuple[str, ...] = ()
    """What could not be put in, a line each."""
    format_version: int = FORMAT_VERSION


class HandIn:
    """An opened one. Its runs are read one by one when they are asked for."""

    def __init__(
        self,
        path: Path,
        manifest: HandInManifest,
        events: Sequence[StoredEvent],
        broken: str,
        source: BufferedReader | BytesIO,
        runs: Mapping[str, ArchiveMember],
    ) -> None:
        self.path, self.manifest, self.events = path, manifest, events
        self.broken = broken
        """Why the journal ends where it does; empty when it is whole."""
        self._source, self._runs = source, runs
        self._unpacked = 0

    @property
    def run_ids(self) -> frozenset[str]:
        """Of the runs that are in it."""
        return frozenset(self._runs)

    def run(self, id: str) -> tuple[Run, str]:
        """The run and the SHA-256 of its file's text. Raises TutorError for one that is not in it, or damaged."""
        member = self._runs.get(id)
        if member is None:
            raise TutorError(f"the run {id} is not in {self.path}")
        try:
            text = _unpacked(_content(self._source, member))
        except (lzma.LZMAError, EOFError) as error:
            raise TutorError(f"{member.name} in {self.path} is not packed as ours are, or damaged") from error
        self._unpacked += len(text)
        if len(text) > _MOST_TEXT or self._unpacked > _MOST_TEXTS:
            raise TutorError(f"the runs in {self.path} are larger than those of any course")
        return load(self.path / member.name, text), hashlib.sha256(text).hexdigest()


def _unpacked(packed: bytes) -> bytes:
    """Raises LZMAError, and EOFError for what has no end; of what is too large it gives the beginning."""
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_UNPACKER_MEMORY)
    text = unpacker.decompress(packed, max_length=_MOST_TEXT + 1)
    if len(text) <= _MOST_TEXT and not unpacker.eof:
        raise EOFError
    return text


def _packed(file: Path) -> bytes:
    """A run file as it stands in a hand-in. Raises TutorError."""
    try:
        with gzip.open(file) as text:
            return lzma.compress(text.read(), preset=_PRESET)
    except (OSError, EOFError, zlib.error) as error:
        raise TutorError(f"cannot read {file} any more ({error}): {_WRITE_AGAIN}") from error


@contextmanager
def opened_hand_in(path: Path, content: bytes | None = None) -> Iterator[HandIn]:
    """The hand-in at `path`, while the block lasts. Raises TutorError, one line, for anything else.

    content: what stands in it, where it was read before. A journal that does not hold together is no reason to refuse
    it: `HandIn.broken` says where.
    """
    try:
        with files.open_regular(path) if content is None else BytesIO(content) as source:
            yield _read(path, source)
    except FileNotFoundError:
        raise TutorError(f"no hand-in {path}: `tcptutor submit` writes one") from None
    except OSError as error:
        raise TutorError(f"cannot read {path}: {refused(error)}") from error


def _read(path: Path, source: BufferedReader | BytesIO) -> HandIn:
    size = source.seek(0, 2)
    source.seek(0)
    if size > MOST_BYTES:
        raise TutorError(f"{path} is larger than {MOST_BYTES >> 20} MB: {_WRITE_AGAIN}")
    try:
        first, second, runs = _index(source)
    except NotAnArchive as error:
        said = printable.escaped(str(error))
        raise TutorError(f"{path} is not a hand-in, or damaged ({said}): {_WRITE_AGAIN}") from error
    with files.open_bounded(path, _MANIFEST_KIND, content=_content(source, first)) as text:
        files.check_version(bytes(text), FORMAT_VERSION, path)
        manifest = msgspec.convert(printable.escape_tree(msgspec.json.decode(text)), HandInManifest)
    events: list[StoredEvent] = []
    broken = ""
    with files.open_bounded(path, _JOURNAL_KIND, content=_content(source, second)) as text:
        lines = bytes(text).splitlines(keepends=True)
    try:
        for event in read_events(line[:_LONGEST_LINE] for line in lines):
            events.append(event)
    except JournalError as error:
        broken = printable.escaped(str(error))
    return HandIn(path, manifest, events, broken, source, runs)


def _index(source: BufferedReader | BytesIO) -> tuple[ArchiveMember, ArchiveMember, dict[str, ArchiveMember]]:
    """Where its description, its journal and its runs are. Raises NotAnArchive."""
    found = archive.members(source, _MOST_MEMBER)
    manifest, journal = next(found, None), next(found, None)
    if manifest is None or journal is None or (manifest.name, journal.name) != (_MANIFEST, _JOURNAL):
        raise NotAnArchive("it does not begin as one of ours")
    runs: dict[str, ArchiveMember] = {}
    for member in found:
        named = _RUN.fullmatch(member.name)
        if named is None or named[1] in runs or len(runs) == _MOST_RUNS:
            raise NotAnArchive("a file that is none of ours, or twice")
        runs[named[1]] = member
    return manifest, journal, runs


def _content(source: BufferedReader | BytesIO, member: ArchiveMember) -> bytes:
    source.seek(member.start)
    return source.read(member.size)


def write_hand_in(
    target: Path,
    manifest: HandInManifest,
    events: Sequence[StoredEvent],
    runs: Sequence[tuple[str, Path]],
    written: Callable[[str], object] = lambda _: None,
) -> None:
    """Write one to `target`, whole or not at all; `runs`: the id and the file of each. Raises TutorError.

    written: told the id of each run as it is in.
    """
    journal = gzip.compress(b"".join(export_events(events)), mtime=0)
    described = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    with (
        files.atomic(target, "give another place with -o", private=True) as beside,
        beside.open("wb") as archived,
        ThreadPoolExecutor() as pool,  # the packer lets other threads run
    ):
        for name, content in ((_MANIFEST, described), (_JOURNAL, journal)):
            archived.write(archive.member(name, content))
        packed = pool.map(_packed, (file for _, file in runs))
        for (id, _), content in zip(runs, packed, strict=True):
            archived.write(archive.member(f"{_RUNS}{id}.json.xz", content))
            written(id)
        archived.write(archive.end())


def lesson_hashes(course: Course) -> dict[str, str]:
    """SHA-256 of each file that the lessons are read from, by its path in their folder."""
    if course.root is None:
        return {}
    found = sorted(path for ending in ("*.md", "*.toml") for path in course.root.rglob(ending))
    return {str(path.relative_to(course.root)): _digest(path) for path in found}


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def machine() -> dict[str, str]:
    """What a hand-in says of the computer it was written on: nothing that tells whose it is."""
    return {"system": platform.system(), "machine": platform.machine(), "python": platform.python_version()}
