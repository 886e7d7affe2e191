"""How all commands print: lines for people, one JSON document for programs, one line on standard error.

UTF-8 whatever the locale says; colours where they show, or where they are asked for; never cut to a width.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, TextIO

import click

from tcptutor.base.errors import TutorError, UsageError, refused
from tcptutor.base.printable import escaped

Tone = Literal["title", "good", "doubt", "bad", "faint"]
_TONES: dict[Tone, dict[str, object]] = {
    "title": {"bold": True},
    "good": {"fg": "green"},
    "doubt": {"fg": "yellow"},
    "bad": {"fg": "red", "bold": True},
    "faint": {"dim": True},
}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


_ENDLESS = re.compile(r"\S{400,}")
"""Longer than any name of a file, and shorter than a line of options."""
_BEGINS, _ENDS = 60, 20


def prepare() -> None:
    """Standard output and error as every command needs them: UTF-8, and waiting for a slow reader."""
    # What was closed: its number must not become that of a file of ours. It is open to the end.
    for name, mode, flags in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),  # who prints results there is told that they are lost
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A file's name may have bytes that are no letters: they go out as they are.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
            # Who shares the other end may have made it refuse what it cannot take at once.
            with suppress(OSError, ValueError):
                os.set_blocking(stream.fileno(), True)


def colours(asked: str) -> bool | None:
    """Whether to colour: as `asked` ("always", "never"); else as NO_COLOR or FORCE_COLOR say; None: on a terminal."""
    if asked != "auto":
        return asked == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def width() -> int | None:
    """Characters of a line of the terminal that standard output is; None where it is none, and nothing is folded."""
    return _columns(sys.stdout)


def error_width() -> int:
    """Characters of a line of standard error."""
    return _columns(sys.stderr) or 80


def _columns(stream: TextIO) -> int | None:
    try:
        return (os.get_terminal_size(stream.fileno()).columns or None) if stream.isatty() else None
    except (OSError, ValueError):
        return None


def colourless() -> bool:
    """Whether colours are not wanted, on a terminal either."""
    context = click.get_current_context(silent=True)
    return context is not None and context.color is False


def toned(text: str, tone: Tone) -> str:
    """`text` in a colour; `print_lines` leaves the colour out where none is wanted."""
    return click.style(text, **_TONES[tone])  # type: ignore[arg-type]


def print_lines(lines: Iterable[str], *, exact: bool = False) -> None:
    """Each on a line of its own, with what a terminal would obey as escapes unless it is to be `exact`.

    Raises TutorError when standard output cannot be written, a full disk for one.
    """
    try:
        for line in lines:
            click.echo(line if exact else _shown(line))
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up_output()
        raise TutorError(f"cannot write standard output: {refused(error)}") from error


def _shown(line: str) -> str:
    """`line` as a terminal may have it: whatever came into it from a file, nothing is obeyed but our own colours."""
    parts = _COLOUR.split(line)
    if len(parts) == 1:
        return escaped(line, lines=True)
    colours = [*_COLOUR.findall(line), ""]
    return "".join(escaped(part, lines=True) + colour for part, colour in zip(parts, colours, strict=True))


def print_bytes(pieces: Iterable[bytes]) -> None:
    """What is no text, such as packets. Raises TutorError as `print_lines` does, and UsageError on a terminal."""
    if sys.stdout.isatty():
        raise UsageError("packets are no text for a terminal: give a file with -o, or a pipe")
    try:
        out = sys.stdout.buffer
        for piece in pieces:
            out.write(piece)
        out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up_output()
        raise TutorError(f"cannot write standard output: {refused(error)}") from error


def print_json(document: object) -> None:
    """One line of JSON."""
    print_lines([json.dumps(document, allow_nan=False).replace("\x7f", "\\u007f")])


def print_files(files: Sequence[Path], as_json: bool) -> None:
    """The names of the files that a command has written."""
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        # A script takes a name as it is, a person sees what is in it.
        print_lines(map(str, files), exact=not sys.stdout.isatty())


def warn(text: str) -> None:
    """One line on standard error, for what went wrong; of a word that nobody would read to its end the two ends."""
    said = _ENDLESS.sub(lambda word: f"{word[0][:_BEGINS]}…{word[0][-_ENDS:]}", text)
    remark(f"tcptutor: {escaped(said)}")


def remark(text: str, *, newline: bool = True) -> None:
    """On standard error, for a reader while a command goes on. Nobody there is no reason to end it."""
    with suppress(OSError):
        click.echo(text, err=True, nl=newline)


def give_up_output() -> None:
    """What is still to be written goes nowhere: the reader has gone, or there is no room."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def on_terminal() -> bool:
    """Whether a person sits at both ends: input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()
