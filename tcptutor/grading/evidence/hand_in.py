"""The hand-in file: written atomically, and read with bounds, since any author is possible.

    hand-in.json       HandInManifest
    journal.jsonl.gz   every event of the journal, in the format of `journal.chains.export_events`
    runs/ID.json.xz    the text of the run files that marks are based on, packed to 60 % of their size

The file is a plain tar archive (`archive`). A reader never unpacks it to a disk.
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
from typing import NamedTuple

import msgspec

from tcptutor.base import archive, decoding, files, printable
from tcptutor.base.archive import ArchiveMember, NotAnArchive
from tcptutor.base.errors import JournalError, TutorError, refused
from tcptutor.grading.evidence.seen_runs import SeenRuns
from tcptutor.journal.chains import export_events, read_events
from tcptutor.journal.events import StoredEvent
from tcptutor.journal.second_record import RecordDoubts
from tcptutor.run import Run

FORMAT_VERSION = 1
SUFFIX = ".tcphandin"
_MANIFEST, _JOURNAL, _RUNS = "hand-in.json", "journal.jsonl.gz", "runs/"
_RUN = re.compile(r"runs/([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})\.json\.xz")
MOST_BYTES = 64 << 20
"""Size limit of the file. A hand-in of the complete course takes a tenth of it."""
_MOST_MEMBER = 32 << 20
_MOST_RUNS = 4096
_MOST_TEXT, _MOST_TEXTS = 96 << 20, 1 << 30
"""Unpacked bytes per run, and over all reads: ten times the size of the course's runs."""
_PRESET = 4
"""Preset of xz: higher presets save a few percent more for twice the time."""
_UNPACKER_MEMORY = 32 << 20
"""Memory for unpacking, bytes: six times the need of the preset."""
_LONGEST_LINE = 2 << 20
"""Bytes of an event's line."""
_WRITE_AGAIN = "ask for another one: `tcptutor submit` writes it"
_MANIFEST_KIND = msgspec.structs.replace(files.small_kind("hand-in", _WRITE_AGAIN), most=4 << 20)
_JOURNAL_KIND = msgspec.structs.replace(
    files.small_kind("record of a hand-in", _WRITE_AGAIN), most=48 << 20, plain=8 << 20, times=60
)


class HandInManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Self-description of a hand-in. Marks depend only on `lessons` and `version`, which select the grading lessons."""

    tcptutor: str
    """Version that wrote the file."""
    made: str
    """Wall-clock time, ISO 8601 with zone."""
    student: str = ""
    """The student's name in the course; empty without an enrollment."""
    course: str = ""
    """Code of the course."""
    title: str = ""
    """Title of the lessons."""
    lessons_id: str = ""
    """Id of the lessons in all their versions."""
    version: str = ""
    """The teacher's name for this version of the lessons."""
    lessons: dict[str, str] = {}
    """SHA-256 of each lesson file, by path."""
    events: int = 0
    machine: dict[str, str] = {}
    missing: tuple[str, ...] = ()
    """A line per run that could not be included."""
    second_record: RecordDoubts = RecordDoubts()
    format_version: int = FORMAT_VERSION


class PackedRun(NamedTuple):
    """A run in an open file."""

    source: BufferedReader | BytesIO
    member: ArchiveMember


class HandIn:
    """An open hand-in, or several joined into a single object. Runs are read on demand."""

    def __init__(
        self,
        path: Path,
        manifest: HandInManifest,
        events: Sequence[StoredEvent],
        broken: str,
        packed: Mapping[str, Sequence[PackedRun]],
        seen: SeenRuns,
    ) -> None:
        self.path, self.manifest, self.events = path, manifest, events
        self.broken = broken
        """Where and how the journal's chain breaks; empty when it is intact."""
        self.packed = packed
        """Copies of each run, by its id; the first that is undamaged counts."""
        self.seen = seen
        """Runs of this and earlier hand-ins."""
        self._unpacked = 0

    @property
    def is_damaged(self) -> bool:
        """Return whether events are missing."""
        return bool(self.broken) or self.manifest.events != len(self.events)

    @property
    def run_ids(self) -> frozenset[str]:
        """Return the ids of the included runs."""
        return frozenset(self.packed)

    def run(self, id: str) -> tuple[Run, str]:
        """Return a run and the SHA-256 of its file's text. Raises TutorError for a missing or damaged run."""
        problem = TutorError(f"the run {id} is not in {self.path}")
        for packed in self.packed.get(id, ()):
            try:
                return self._unpack(packed)
            except TutorError as error:
                problem = error
        raise problem

    def _unpack(self, packed: PackedRun) -> tuple[Run, str]:
        name = packed.member.name
        try:
            text = _unpack(archive.content(packed.source, packed.member))
        except (lzma.LZMAError, EOFError) as error:
            raise TutorError(f"{name} in {self.path} is damaged, or not packed by tcptutor") from error
        self._unpacked += len(text)
        if len(text) > _MOST_TEXT or self._unpacked > _MOST_TEXTS:
            raise TutorError(f"the runs in {self.path} are larger than those of any course")
        return self.seen.load(self.path / name, text), hashlib.sha256(text).hexdigest()


def _unpack(packed: bytes) -> bytes:
    """Unpack up to the limit of a run's size. Raises LZMAError, and EOFError for a truncated file."""
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_UNPACKER_MEMORY)
    text = unpacker.decompress(packed, max_length=_MOST_TEXT + 1)
    if len(text) <= _MOST_TEXT and not unpacker.eof:
        raise EOFError
    return text


def _pack(file: Path) -> bytes:
    try:
        with gzip.open(file) as text:
            return lzma.compress(text.read(), preset=_PRESET)
    except (OSError, EOFError, zlib.error) as error:
        raise TutorError(f"cannot read {file} any more ({error}): {_WRITE_AGAIN}") from error


@contextmanager
def open_hand_in(path: Path, content: bytes | None = None, seen: SeenRuns | None = None) -> Iterator[HandIn]:
    """Open the hand-in at `path` for the block. A journal with a broken chain is accepted: see `HandIn.broken`.

    Args:
        path: The file.
        content: Its bytes, if they are in memory already.
        seen: Runs of earlier hand-ins, which are not read and judged again.

    Raises:
        TutorError: The file is missing, unreadable or no hand-in; one line.
    """
    try:
        with files.open_regular(path) if content is None else BytesIO(content) as source:
            yield _read_hand_in(path, source, seen or SeenRuns())
    except FileNotFoundError:
        raise TutorError(f"no hand-in {path}: `tcptutor submit` writes one") from None
    except OSError as error:
        raise TutorError(f"cannot read {path}: {refused(error)}") from error


def _read_hand_in(path: Path, source: BufferedReader | BytesIO, seen: SeenRuns) -> HandIn:
    size = source.seek(0, 2)
    source.seek(0)
    if size > MOST_BYTES:
        raise TutorError(f"{path} is larger than {MOST_BYTES >> 20} MB: {_WRITE_AGAIN}")
    try:
        first, second, runs = _index(source)
    except NotAnArchive as error:
        message = printable.escaped(str(error))
        raise TutorError(f"{path} is not a hand-in, or damaged ({message}): {_WRITE_AGAIN}") from error
    with files.open_bounded(path, _MANIFEST_KIND, content=archive.content(source, first)) as text:
        files.check_version(bytes(text), FORMAT_VERSION, path)
        manifest = decoding.convert(printable.escape_tree(msgspec.json.decode(text)), HandInManifest)
    events: list[StoredEvent] = []
    broken = ""
    with files.open_bounded(path, _JOURNAL_KIND, content=archive.content(source, second)) as text:
        lines = bytes(text).splitlines(keepends=True)
    try:
        for event in read_events(line[:_LONGEST_LINE] for line in lines):
            events.append(event)
    except JournalError as error:
        broken = printable.escaped(str(error))
    packed = {id: (PackedRun(source, member),) for id, member in runs.items()}
    return HandIn(path, manifest, events, broken, packed, seen)


def _index(source: BufferedReader | BytesIO) -> tuple[ArchiveMember, ArchiveMember, dict[str, ArchiveMember]]:
    """Locate the description, the journal and the runs. Raises NotAnArchive."""
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


def write_hand_in(
    target: Path,
    manifest: HandInManifest,
    events: Sequence[StoredEvent],
    runs: Sequence[tuple[str, Path]],
    on_written: Callable[[str], object] = lambda _: None,
) -> None:
    """Write a hand-in atomically.

    Args:
        target: The file to write.
        manifest: Its description.
        events: Every event of the journal.
        runs: Id and file of each run.
        on_written: Called with the id of each run after it is written.

    Raises:
        TutorError: The file cannot be written, or a run file cannot be read.
    """
    journal = gzip.compress(b"".join(export_events(events)), mtime=0)
    described = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    with (
        files.atomic(target, "give another place with -o", private=True) as temporary,
        temporary.open("wb") as archive_file,
        ThreadPoolExecutor() as pool,  # the packer lets other threads run
    ):
        for name, content in ((_MANIFEST, described), (_JOURNAL, journal)):
            archive_file.write(archive.member(name, content))
        packed = pool.map(_pack, (file for _, file in runs))
        for (id, _), content in zip(runs, packed, strict=True):
            archive_file.write(archive.member(f"{_RUNS}{id}.json.xz", content))
            on_written(id)
        archive_file.write(archive.end())


def machine() -> dict[str, str]:
    """Return facts about this computer that do not identify its owner."""
    return {"system": platform.system(), "machine": platform.machine(), "python": platform.python_version()}
