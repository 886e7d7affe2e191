"""What setup and doctor write: a finding, plain lines whole however narrow the terminal is, sizes, and progress."""

from __future__ import annotations

from types import TracebackType
from typing import Literal

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tcptutor.backends.guest import image

MEGABYTE = 1_000_000

Status = Literal["ok", "warn", "fail"]


class Finding(msgspec.Struct, frozen=True):
    """One line of the doctor's report."""

    name: str
    """What was looked at, in a word or two; the same on every machine."""
    status: Status
    """ok; warn: something works less well or not at all, the course goes on; fail: the course cannot go on."""
    text: str
    """What was seen."""
    remedy: str = ""
    """What to do about it; empty when there is nothing to do."""


def ok(name: str, text: str) -> Finding:
    return Finding(name, "ok", text)


def warn(name: str, text: str, remedy: str = "") -> Finding:
    return Finding(name, "warn", text, remedy)


def fail(name: str, text: str, remedy: str) -> Finding:
    return Finding(name, "fail", text, remedy)


def console(*, stderr: bool = False) -> Console:
    """A console without markup, coloured only where colour shows; made when needed, for standard output may change."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def megabytes(size: float) -> str:
    """`size` in bytes as "99 MB"."""
    return f"{size / MEGABYTE:.0f} MB"


class Bars:
    """How far the parts have come, while it is entered: a bar for each on a terminal, plain lines elsewhere."""

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

    def part(self, name: str) -> image.Progress:
        """A bar for the part `name`, and the function that moves it."""
        task = self._progress.add_task("", total=1.0, part=name)
        last = ""

        def show(share: float, text: str) -> None:
            nonlocal last
            self._progress.update(task, completed=share, description=text)
            if not self._live and text != last:
                self._console.print(f"  {name}: {text}")
            last = text

        return show
