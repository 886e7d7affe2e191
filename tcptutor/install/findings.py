"""Output of setup and doctor: findings, sizes, and progress bars."""

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
    """A line of the doctor's report."""

    name: str
    """Subject of the check in a word or two; the same on every machine."""
    status: Status
    """ok; warn: a feature is limited or missing and the course works; fail: the course cannot run."""
    text: str
    """Result of the check."""
    remedy: str = ""
    """Action to take; empty when none is needed."""


def ok(name: str, text: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(name, "ok", text)


def warn(name: str, text: str, remedy: str = "") -> Finding:
    """Return a finding that limits the lab."""
    return Finding(name, "warn", text, remedy)


def fail(name: str, text: str, remedy: str) -> Finding:
    """Return a finding that prevents the course."""
    return Finding(name, "fail", text, remedy)


def megabytes(size: float) -> str:
    """Format `size` in bytes as "99 MB"."""
    return f"{size / MEGABYTE:.0f} MB"


@contextmanager
def bars(say: Callable[[str], None]) -> Iterator[Callable[[str], image_build.Progress]]:
    """Yield a function that returns the progress callback of a part by title.

    Progress is a bar on a terminal, and lines for `say` elsewhere.
    """
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
