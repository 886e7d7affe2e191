"""A folder of run files: those that are whole, and a part for each run that goes on."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

from tcptutor.base import files
from tcptutor.base.errors import JournalError, TutorError
from tcptutor.base.places import STATE_ELSEWHERE
from tcptutor.run import Run, load, save
from tcptutor.runs import packets, parts
from tcptutor.wire.protocol import CapturedPackets, Event


class RunStore:
    """A folder of `<id>.tcprun`, with a part for each run that goes on; None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._parts: dict[str, parts.Part] = {}
        self._packets: dict[str, list[CapturedPackets]] = {}

    def file(self, run_id: str) -> Path | None:
        """Where the run is, or will be."""
        return self.folder / f"{run_id}.tcprun" if self.folder else None

    def begin(self, run: Run) -> None:
        """Keep what arrives of `run` from now on."""
        if file := self.file(run.id):
            self._parts[run.id] = parts.Part(file, run)

    def take(self, run: Run, event: Event) -> None:
        """Keep what has just arrived."""
        if part := self._parts.get(run.id):
            part.take(event)
            if isinstance(event, CapturedPackets):
                self._packets.setdefault(run.id, []).append(event)

    def finish(self, run: Run) -> str:
        """Write the run, whole or not at all, and give the file's name; empty when there is nothing to keep.

        May be called from any thread, once the last event of the run was taken: a large one takes a second.
        Raises JournalError; what had arrived then stays in the part, for the next start.
        """
        file = self.file(run.id)
        if file is None:
            return ""
        kept = run.sampled_until > 0 or run.complete
        if kept:
            try:
                save(run, file, STATE_ELSEWHERE, private=True)
            except TutorError as error:
                raise JournalError(
                    f"the run could not be saved, {error}; what is on the screen stays"
                ) from error
        if part := self._parts.pop(run.id, None):
            part.remove()
        return str(file) if kept else ""

    def finish_packets(self, run: Run) -> None:
        """Write the packets of `run` beside its file, if there are any. Call it after `finish`; from any thread.

        Raises JournalError; the packets are lost then, and the run is kept.
        """
        pieces, file = self._packets.pop(run.id, []), self.file(run.id)
        if file is not None and file.exists() and (pieces or run.captured):
            try:
                packets.save(run, pieces, file, STATE_ELSEWHERE)
            except TutorError as error:
                raise JournalError(f"the packets could not be saved, {error}; the run is kept") from error

    def recover(self, tell: Callable[[str], None] = lambda _: None) -> list[Run]:
        """The runs of programs that were killed, now in files of their own. Call it once, at the start.

        Packets whose run was removed go as well. `tell` is told what became of a damaged run, a line each.
        """
        if self.folder is None:
            return []
        files.close_to_others(self.folder)
        packets.remove_orphans(self.folder)
        return parts.recover(self.folder, tell)

    def goes_on(self, file: Path) -> bool:
        """Whether a program, this one or another, still writes that run."""
        return file.with_name(file.name + parts.SUFFIX).exists()


def text_digest(file: Path) -> str:
    """SHA-256 of a run file's text, however it is packed; empty where it cannot be read."""
    try:
        with gzip.open(file) as text:
            return hashlib.file_digest(text, "sha256").hexdigest()
    except (OSError, EOFError, zlib.error):
        return ""


def first_readable(names: Iterable[str]) -> Run | None:
    """The first run that loads."""
    for file in names:
        try:
            return load(Path(file))
        except TutorError:
            continue  # it goes on, was deleted or damaged: an older run of the step is better than none
    return None
