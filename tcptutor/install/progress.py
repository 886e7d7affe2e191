"""How far the parts have come: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tcptutor.backends.guest.image import Progress as Told


class Bars:
    """Shows one bar for each part while it is entered."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = console.is_terminal and not console.is_dumb_terminal
        self._progress = Progress(
            SpinnerColumn("line", finished_text=" "), TextColumn("{task.fields[part]}"), BarColumn(20),
            TextColumn("{task.description}"), TimeElapsedColumn(),
            console=console, disable=not self._live, refresh_per_second=4,
        )  # fmt: skip

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def part(self, name: str) -> Told:
        """A bar for the part `name`, and the function that moves it."""
        task = self._progress.add_task("", total=1.0, part=name)
        said = ""

        def told(share: float, text: str) -> None:
            nonlocal said
            self._progress.update(task, completed=share, description=text)
            if not self._live and text != said:
                self._console.print(f"  {name}: {text}")
            said = text

        return told
