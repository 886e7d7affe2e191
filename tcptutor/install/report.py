"""What setup and doctor tell: a finding, sizes, and progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tcptutor.backends.guest import image_build

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


def megabytes(size: float) -> str:
    """`size` in bytes as "99 MB"."""
    return f"{size / MEGABYTE:.0f} MB"


@contextmanager
def bars(say: Callable[[str], None]) -> Iterator[Callable[[str], image_build.Progress]]:
    """Gives what shows the progress of a part by its name: a bar on a terminal, elsewhere lines for `say`."""
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    live = console.is_terminal and not console.is_dumb_terminal
    progress = Progress(
        SpinnerColumn("line", finished_text=" "), TextColumn("{task.fields[part]}"), BarColumn(20),
        TextColumn("{task.description}"), TimeElapsedColumn(),
        console=console, disable=not live, refresh_per_second=4,
    )  # fmt: skip

    def part(name: str) -> image_build.Progress:
        task = progress.add_task("", total=1.0, part=name)
        last = ""

        def show(share: float, text: str) -> None:
            nonlocal last
            progress.update(task, completed=share, description=text)
            if not live and text != last:
                say(f"  {name}: {text}")
            last = text

        return show

    with progress:
        yield part
