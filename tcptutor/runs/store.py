"""A folder of finished run files, and a part for each run in progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tcptutor.base import files
from tcptutor.base.errors import JournalError, TutorError
from tcptutor.base.places import STATE_ELSEWHERE
from tcptutor.run import Run, load, save
from tcptutor.runs import packets, parts
from tcptutor.wire.protocol import CapturedPackets, Event


class RunStore:
    """A folder of `<id>.tcprun`, with a part for each run in progress; with None no run is saved."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._parts: dict[str, parts.Part] = {}
        self._packets: dict[str, list[CapturedPackets]] = {}

    def file(self, run_id: str) -> Path | None:
        """Return the path of a run, which may not exist yet; None without a folder."""
        return self.folder / f"{run_id}.tcprun" if self.folder else None

    def begin(self, run: Run) -> None:
        """Start saving the events of `run`."""
        if file := self.file(run.id):
            self._parts[run.id] = parts.Part(file, run)

    def take(self, run: Run, event: Event) -> None:
        """Save an event."""
        if part := self._parts.get(run.id):
            part.take(event)
            if isinstance(event, CapturedPackets):
                self._packets.setdefault(run.id, []).append(event)

    def finish(self, run: Run) -> str:
        """Write the finished run atomically and return its path; empty for a run without data.

        May be called from any thread after the last event; a large run takes a second.

        Raises:
            JournalError: It cannot be written; the part stays and is recovered at the next start.
        """
        file = self.file(run.id)
        if file is None:
            return ""
        has_data = run.sampled_until > 0 or run.complete
        if has_data:
            try:
                save(run, file, STATE_ELSEWHERE, private=True)
            except TutorError as error:
                raise JournalError(
                    f"the run could not be saved, {error}; what is on the screen stays"
                ) from error
        if part := self._parts.pop(run.id, None):
            part.remove()
        return str(file) if has_data else ""

    def finish_packets(self, run: Run) -> None:
        """Write the packets of `run`, if any, next to its file. Call it after `finish`, from any thread.

        Raises:
            JournalError: They cannot be written and are lost; the run is saved.
        """
        pieces, file = self._packets.pop(run.id, []), self.file(run.id)
        if file is not None and file.exists() and (pieces or run.captured):
            try:
                packets.save(run, pieces, file, STATE_ELSEWHERE)
            except TutorError as error:
                raise JournalError(f"the packets could not be saved, {error}; the run is kept") from error

    def recover(self, report: Callable[[str], None] = lambda _: None) -> list[Run]:
        """Recover the runs of killed programs and return them; also remove packets of deleted runs.

        Call it once, at the start. `report` is called with a line for each damaged run.
        """
        if self.folder is None:
            return []
        files.close_to_others(self.folder)
        packets.remove_orphans(self.folder)
        return parts.recover(self.folder, report)

    def is_running(self, file: Path) -> bool:
        """Return True while any program writes that run."""
        return file.with_name(file.name + parts.SUFFIX).exists()


def first_readable(names: Iterable[str]) -> Run | None:
    """Return the first run that loads, or None."""
    for file in names:
        try:
            return load(Path(file))
        except TutorError:
            continue  # running, deleted or damaged: fall back to an older run of the step
    return None
