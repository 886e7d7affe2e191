"""How commands print: a JSON document, columns, one line on standard error."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path

import click

WIDTH = 80
"""Columns of a line that is meant to be folded."""


def print_json(document: object) -> None:
    """One line of JSON."""
    click.echo(json.dumps(document, allow_nan=False))


def print_lines(lines: Iterable[str]) -> None:
    """Each on a line of its own."""
    for line in lines:
        click.echo(line)


def print_files(files: Sequence[Path], as_json: bool) -> None:
    """The names of the files that a command has written."""
    print_json({"files": [str(file) for file in files]}) if as_json else print_lines(map(str, files))


def warn(text: str) -> None:
    """One line on standard error, for what went wrong."""
    click.echo(f"tcptutor: {text}", err=True)


def on_terminal() -> bool:
    """Whether a person sits at both ends: input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def table(
    rows: Sequence[Sequence[str]],
    widths: Sequence[int] = (),
    *,
    indent: int = 2,
    gap: int = 2,
    right: bool = False,
    fold: bool = False,
) -> list[str]:
    """`rows` in columns, a line each, without blanks at its end.

    widths: of the columns, the last of which may be left out; without any, as wide as the widest cell.
    indent: blanks before a line; gap: blanks between columns. right: cells stand at the right of their column.
    fold: cells that are too wide go on below, in lines of WIDTH columns.
    """
    widths = widths or [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    rest = WIDTH - indent - sum(widths) - gap * len(widths)
    lines = []
    for row in rows:
        room = [*widths, rest][: len(row)]
        cells = [
            textwrap.wrap(cell, width) or [""] if fold else [cell]
            for cell, width in zip(row, room, strict=True)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (
                part.rjust(width) if right else part.ljust(width)
                for part, width in zip(parts, room, strict=True)
            )
            lines.append((" " * indent + (" " * gap).join(padded)).rstrip())
    return lines
