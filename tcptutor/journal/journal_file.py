"""An exported journal: a file that transfers a student's work between machines, read within bounds.

    journal.json       JournalManifest
    journal.jsonl.gz   every row of the journal, in the format of `journal.chains.export_events`
    runs/ID.tcprun     the run files that the journal names, as they are

The file is a plain tar archive (`archive`), as hand-ins are. A hand-in has only the runs that marks need.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

import msgspec

from tcptutor.base import archive, decoding, files, printable
from tcptutor.base.archive import ArchiveMember, NotAnArchive
from tcptutor.base.errors import JournalError, TutorError, refused
from tcptutor.base.places import STATE_ELSEWHERE
from tcptutor.journal.chains import export_events, read_events
from tcptutor.journal.events import LONGEST_ROW, PageGoalsReached, RunEnded, StoredEvent, decode
from tcptutor.journal.order import student_events
from tcptutor.run import load

FORMAT_VERSION = 1
SUFFIX = ".tcpjournal"
_MANIFEST, _EVENTS, _RUNS = "journal.json", "journal.jsonl.gz", "runs/"
_RUN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}\.tcprun")
_MOST_MEMBER = 256 << 20
"""Bytes of a run file, or of the packed events."""
_MOST_RUNS = 50_000
_LONGEST_LINE = LONGEST_ROW + 256
_EXPORT_AGAIN = "write it again with `tcptutor journal export` on the other machine"
_MANIFEST_KIND = files.small_kind("exported journal", _EXPORT_AGAIN)
_EVENTS_KIND = msgspec.structs.replace(
    files.small_kind("record of an exported journal", _EXPORT_AGAIN), most=96 << 20, plain=8 << 20, times=60
)


class JournalManifest(msgspec.Struct, frozen=True, kw_only=True):
    """An exported journal's description of itself. An import does not depend on it."""

    tcptutor: str
    """Version that wrote the file."""
    made: str
    """Wall-clock time, ISO 8601 with zone."""
    events: int = 0
    format_version: int = FORMAT_VERSION


class JournalFile(NamedTuple):
    """An open exported journal. Its runs are read on demand."""

    path: Path
    events: Sequence[StoredEvent]
    """Its rows, checked."""
    source: BufferedReader
    runs: Mapping[str, ArchiveMember]
    """By name of the run file."""

    def read_run(self, name: str) -> bytes:
        """Return the bytes of a run file."""
        return archive.content(self.source, self.runs[name])


def run_files(rows: Iterable[StoredEvent]) -> dict[str, str]:
    """Return the names of the run files that a journal names, with the SHA-256 of their texts; empty if unknown."""
    found: dict[str, str] = {}
    for stored in student_events(rows).events:
        match decode(stored.data):
            case RunEnded(file=file, digest=digest) if file:
                found[file] = digest
            case PageGoalsReached(session=session):
                found |= {f"{id}.tcprun": session.digests.get(id, "") for id in session.runs}
    return {name: digest for name, digest in found.items() if _RUN.fullmatch(name)}


def write_journal_file(
    target: Path,
    manifest: JournalManifest,
    rows: Sequence[StoredEvent],
    runs: Iterable[Path],
    on_written: Callable[[str], object] = lambda _: None,
) -> None:
    """Write an exported journal atomically.

    Args:
        target: The file to write.
        manifest: Its description.
        rows: Every row of the journal.
        runs: The run files.
        on_written: Called with the name of each run file after it is written.

    Raises:
        TutorError: The file cannot be written, or a run file cannot be read.
    """
    events = gzip.compress(b"".join(export_events(rows)), mtime=0)
    with (
        files.atomic(target, "give another place with -o", private=True) as temporary,
        temporary.open("wb") as archive_file,
    ):
        archive_file.write(archive.member(_MANIFEST, msgspec.json.encode(manifest)))
        archive_file.write(archive.member(_EVENTS, events))
        for file in runs:
            try:
                content = files.read_plain(file, _MOST_MEMBER)
            except OSError as error:
                raise TutorError(f"cannot read {file}: {refused(error)}") from error
            archive_file.write(archive.member(_RUNS + file.name, content))
            on_written(file.name)
        archive_file.write(archive.end())


@contextmanager
def open_journal_file(path: Path) -> Iterator[JournalFile]:
    """Open the exported journal at `path` for the block.

    Raises:
        TutorError: The file is missing, unreadable, no exported journal, damaged, or of a newer version.
    """
    try:
        with files.open_regular(path) as source:
            yield _read(path, source)
    except FileNotFoundError:
        raise TutorError(f"no exported journal {path}: `tcptutor journal export` writes one") from None
    except OSError as error:
        raise TutorError(f"cannot read {path}: {refused(error)}") from error


def _read(path: Path, source: BufferedReader) -> JournalFile:
    try:
        manifest, events, runs = _index(source)
    except NotAnArchive as error:
        message = printable.escaped(str(error))
        raise TutorError(
            f"{path} is not an exported journal, or damaged ({message}): {_EXPORT_AGAIN}"
        ) from error
    with files.open_bounded(path, _MANIFEST_KIND, content=archive.content(source, manifest)) as text:
        files.check_version(bytes(text), FORMAT_VERSION, path)
        decoding.decode_json(text, JournalManifest)
    with files.open_bounded(path, _EVENTS_KIND, content=archive.content(source, events)) as text:
        lines = bytes(text).splitlines(keepends=True)
    try:
        rows = list(read_events(line[:_LONGEST_LINE] for line in lines))
    except JournalError as error:
        raise TutorError(f"{path} is damaged: {printable.escaped(str(error))}; {_EXPORT_AGAIN}") from error
    return JournalFile(path, rows, source, runs)


def _index(source: BufferedReader) -> tuple[ArchiveMember, ArchiveMember, dict[str, ArchiveMember]]:
    """Locate the description, the events and the run files. Raises NotAnArchive."""
    found = archive.members(source, _MOST_MEMBER)
    manifest, events = next(found, None), next(found, None)
    if manifest is None or events is None or (manifest.name, events.name) != (_MANIFEST, _EVENTS):
        raise NotAnArchive("it does not begin as one")
    runs: dict[str, ArchiveMember] = {}
    for member in found:
        name = member.name.removeprefix(_RUNS)
        if f"{_RUNS}{name}" != member.name or not _RUN.fullmatch(name) or name in runs:
            raise NotAnArchive("a file that is none of ours, or twice")
        if len(runs) == _MOST_RUNS:
            raise NotAnArchive("too many runs")
        runs[name] = member
    return manifest, events, runs


class DamagedRun(ValueError):
    """A run file in an exported journal that is damaged or does not match the journal."""


def missing_runs(found: JournalFile, folder: Path) -> dict[str, str]:
    """Return the names of the included run files that are not in `folder` yet, with their digests."""
    named = run_files(found.events)
    return {name: named[name] for name in found.runs if name in named and not (folder / name).exists()}


def add_run(found: JournalFile, name: str, digest: str, folder: Path) -> None:
    """Write an included run file to `folder`.

    Raises:
        DamagedRun: The file is damaged, or does not match its digest in the journal.
        TutorError: The file cannot be written.
    """
    content = found.read_run(name)
    place = found.path / _RUNS / name
    try:
        run = load(place, content)
        text_hash = hashlib.sha256(gzip.decompress(content)).hexdigest()
    except (TutorError, OSError, EOFError, zlib.error) as error:
        raise DamagedRun(str(error)) from error
    if digest and digest != text_hash:
        raise DamagedRun(f"{place} was changed after the run")
    if f"{run.id}.tcprun" != name:
        raise DamagedRun(f"{place} is the file of another run, {printable.escaped(run.id)}")
    with files.atomic(folder / name, STATE_ELSEWHERE, private=True) as temporary:
        temporary.write_bytes(content)
