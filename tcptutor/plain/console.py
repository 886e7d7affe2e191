"""The terminal of the dialogue: paragraphs out, lines in."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
import textwrap
from collections.abc import Callable, Iterable
from typing import Protocol

from tcptutor.base.columns import QUANTITY_BLANK
from tcptutor.plain.letters import readable
from tcptutor.plain.prose import Paragraph

DEFAULT_WIDTH = 80
"""Columns if the terminal has no size."""
MIN_WIDTH = 20
_CHUNK = 65536
_KEPT = "\N{NO-BREAK SPACE}"
"""Blank at which no line is broken, such as that between a number and its unit."""
_MAX_LINE = 4096
"""Bytes of an answer; the rest of a longer line is dropped."""


class EndOfInput(Exception):
    """The input has ended: Ctrl-D, or a closed pipe."""


class LineSource(Protocol):
    """Where the student's lines come from."""

    echoes: bool
    """True if the terminal shows what is typed, and the end of the line."""

    async def read_line(self) -> str:
        """Return the next line without its end.

        Raises:
            EndOfInput: if there are no more lines.
        """


class TextOutput(Protocol):
    """Where texts are printed."""

    is_closed: bool
    """True if nobody reads them anymore."""

    def write(self, text: str) -> None:
        """Print a text."""


class InputLines:
    """Lines of a file descriptor: a terminal that edits lines itself, a pipe, or a file."""

    def __init__(self, descriptor: int, encoding: str = "utf-8") -> None:
        self._descriptor, self._buffer, self._has_ended = descriptor, b"", False
        self._encoding = encoding
        self.echoes = os.isatty(descriptor)

    async def read_line(self) -> str:
        while b"\n" not in self._buffer and not self._has_ended:
            chunk = await self._read()
            self._has_ended = not chunk
            self._buffer += chunk
        if not self._buffer:
            # A terminal can go on after Ctrl-D, but the student wants to leave.
            raise EndOfInput
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line[:_MAX_LINE].decode(self._encoding, errors="replace").rstrip("\r")

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        try:
            loop.add_reader(self._descriptor, readable.set)
        except PermissionError:  # a regular file is always readable, and cannot be watched
            return os.read(self._descriptor, _CHUNK)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._descriptor)
        try:
            return os.read(self._descriptor, _CHUNK)
        except OSError:  # the terminal is gone
            return b""


class Console:
    """Prints paragraphs and asks for lines."""

    def __init__(
        self,
        lines: LineSource,
        output: TextOutput,
        columns: Callable[[], int] = lambda: DEFAULT_WIDTH,
        encoding: str = "utf-8",
    ) -> None:
        """Create the console.

        Args:
            lines: The student's lines.
            output: Where texts are printed.
            columns: Returns the columns of the terminal now; 0 if unknown.
            encoding: Characters that the terminal can show.
        """
        self.lines, self.output, self.encoding, self._columns = lines, output, encoding, columns
        self.chosen_width: int | None = None
        """Columns that the student has chosen, 0 for lines that are not broken; None for those of the terminal."""
        self.prompt = ""
        """The prompt that waits for a line; empty while none is asked for."""

    def say(self, *texts: str | Paragraph) -> None:
        """Print paragraphs; an empty text is an empty line."""
        for text in texts:
            shown = text.text if isinstance(text, Paragraph) else text
            is_exact = isinstance(text, Paragraph) and text.is_exact
            for line in self._broken(readable(shown, self.encoding), is_exact):
                self.output.write(f"{line}\n")

    def say_all(self, texts: Iterable[str | Paragraph]) -> None:
        """Print paragraphs."""
        self.say(*texts)

    def _broken(self, text: str, is_exact: bool) -> list[str]:
        lines = text.split("\n")
        width = (self._columns() or DEFAULT_WIDTH) if self.chosen_width is None else self.chosen_width
        if is_exact or not width:
            return lines
        room = max(width, MIN_WIDTH) - 1  # a terminal may wrap after its last column
        return [
            piece.replace(_KEPT, " ")
            for line in lines
            for piece in textwrap.wrap(
                QUANTITY_BLANK.sub(_KEPT, line), room, break_long_words=False, break_on_hyphens=False
            )
            or [""]
        ]

    async def ask(self, prompt: str) -> str:
        """Print a prompt and return the line that answers it, without spaces around it.

        Raises:
            EndOfInput: if there are no more lines, or nobody reads what is printed.
        """
        self.prompt = prompt
        self.prompt_again()
        if self.output.is_closed:
            raise EndOfInput
        try:
            line = await self.lines.read_line()
        finally:
            self.prompt = ""
            if not self.lines.echoes:
                self.output.write("\n")
        return line.strip()

    def prompt_again(self) -> None:
        """Print the prompt again after an interruption."""
        if self.prompt:
            *above, last = self._broken(readable(self.prompt, self.encoding), is_exact=False)
            for line in above:
                self.output.write(f"{line}\n")
            self.output.write(f"{last} ")


class Output:
    """Standard output. Once it is closed, everything is dropped, and the dialogue can end in order."""

    def __init__(self, encoding: str) -> None:
        self.is_closed = False
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding=encoding, errors="replace")

    def write(self, text: str) -> None:
        """Write at once."""
        if self.is_closed:
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError:
            self.is_closed = True
            # The interpreter flushes what is left when it ends, and would report the closed pipe.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
