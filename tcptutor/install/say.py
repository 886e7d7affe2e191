"""Plain lines to the terminal: whole however narrow it is, coloured only where colour shows."""

from __future__ import annotations

from rich.console import Console

MEGABYTE = 1_000_000


def console(*, stderr: bool = False) -> Console:
    """Made when needed, so that it writes to what is standard output then."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def megabytes(size: float) -> str:
    """`size` in bytes as "99 MB"."""
    return f"{size / MEGABYTE:.0f} MB"
