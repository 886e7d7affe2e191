"""A bar on standard error while many experiments run; nothing where that is not a terminal."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from tcptutor.commands.output import colourless


class Bar:
    """Counts the runs that have ended, with the time that passed and is left."""

    def __init__(self, title: str, total: int, done: int = 0) -> None:
        console = Console(stderr=True, highlight=False, markup=False, no_color=colourless() or None)
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[latest]}"),
            console=console, disable=not console.is_terminal or console.is_dumb_terminal, transient=True,
            refresh_per_second=4,
            # Lines for a terminal go above the bar; those for a file stay out of rich's hands.
            redirect_stdout=sys.stdout.isatty(),
        )  # fmt: skip
        self._task = self._progress.add_task(title, total=total, completed=done, latest="")

    def one_more(self, latest: str = "") -> None:
        """A run has ended; `latest` stands beside the bar until another one has."""
        self._progress.update(self._task, advance=1, latest=latest)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
