"""How commands print: a JSON document, lines, one line on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click


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
