"""The run files beside the journal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tcptutor.errors import JournalError, TutorError
from tcptutor.run import Run, load, save

INTERRUPTED = "tcptutor ended during the run"


class RunFiles:
    """A folder of `<id>.tcprun`; None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def save(self, run: Run) -> str:
        """Write the run, whole or not at all, and give the file's name. Raises JournalError."""
        if self.folder is None:
            return ""
        file = self.folder / f"{run.id}.tcprun"
        try:
            save(run, file)
        except (TutorError, OSError) as error:
            # OSError: making the folder itself, which save does not guard.
            raise JournalError(f"the run could not be saved, {error}; what is on the screen stays") from error
        return str(file)

    def first_readable(self, rows: Iterable[tuple[str, bool]]) -> Run | None:
        """The first run that loads, of (file, whether it was finished)."""
        for file, finished in rows:
            try:
                run = load(Path(file))
            except TutorError:
                continue  # deleted or damaged: an older run of the step is better than none
            if not finished:
                run.complete, run.note = False, run.note or INTERRUPTED
            return run
        return None
