"""A progress bar on standard error for many runs; hidden when standard error is not a terminal."""

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

from tcptutor.commands.output import colorless


class Bar:
    """Counts finished runs and shows elapsed and remaining time."""

    def __init__(self, title: str, total: int, done: int = 0) -> None:
        console = Console(stderr=True, highlight=False, markup=False, no_color=colorless() or None)
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[latest]}"),
            console=console, disable=not console.is_terminal or console.is_dumb_terminal, transient=True,
            refresh_per_second=4,
            # Output to a terminal goes above the bar; output to a file bypasses rich.
            redirect_stdout=sys.stdout.isatty(),
        )  # fmt: skip
        self._task = self._progress.add_task(title, total=total, completed=done, latest="")

    def advance(self, latest: str = "") -> None:
        """Count a finished run and show `latest` next to the bar."""
        self._progress.update(self._task, advance=1, latest=latest)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
