"""Terminal of the dialogue: prints paragraphs and reads lines."""

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
"""Width in columns for a terminal without a size."""
MIN_WIDTH = 20
_CHUNK = 65536
_NO_BREAK = "\N{NO-BREAK SPACE}"
"""Space that prevents a line break, such as between a number and its unit."""
_MAX_LINE = 4096
"""Most bytes of a line; the rest is dropped."""


class EndOfInput(Exception):
    """End of the input: Ctrl-D or a closed pipe."""


class LineSource(Protocol):
    """Source of the student's lines."""

    echoes: bool
    """True if the terminal echoes typed characters and line ends."""

    async def read_line(self) -> str:
        """Return the next line without its line end.

        Raises:
            EndOfInput: The input has no more lines.
        """


class TextOutput(Protocol):
    """Destination of printed texts."""

    is_closed: bool
    """True once the reader has closed the output."""

    def write(self, text: str) -> None:
        """Print a text."""


class InputLines:
    """Lines from a file descriptor: a terminal in canonical mode, a pipe, or a file."""

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
            # A terminal stays readable after Ctrl-D, but the student wants to leave.
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
    """Prints paragraphs and asks questions on the terminal."""

    def __init__(
        self,
        lines: LineSource,
        output: TextOutput,
        columns: Callable[[], int] = lambda: DEFAULT_WIDTH,
        encoding: str = "utf-8",
    ) -> None:
        """Create the console.

        Args:
            lines: Source of the student's lines.
            output: Destination of printed texts.
            columns: Returns the current width of the terminal in columns; 0 if unknown.
            encoding: Encoding of the terminal.
        """
        self.lines, self.output, self.encoding, self._columns = lines, output, encoding, columns
        self.chosen_width: int | None = None
        """Width in columns that the student has chosen, 0 to break no lines; None for the terminal's width."""
        self.prompt = ""
        """Prompt that waits for an answer; empty otherwise."""

    def say(self, *texts: str | Paragraph) -> None:
        """Print paragraphs; an empty text prints an empty line."""
        for text in texts:
            shown = text.text if isinstance(text, Paragraph) else text
            is_exact = isinstance(text, Paragraph) and text.is_exact
            for line in self._wrap(readable(shown, self.encoding), is_exact):
                self.output.write(f"{line}\n")

    def say_all(self, texts: Iterable[str | Paragraph]) -> None:
        """Print the paragraphs of an iterable."""
        self.say(*texts)

    def _wrap(self, text: str, is_exact: bool) -> list[str]:
        lines = text.split("\n")
        width = (self._columns() or DEFAULT_WIDTH) if self.chosen_width is None else self.chosen_width
        if is_exact or not width:
            return lines
        room = max(width, MIN_WIDTH) - 1  # a terminal may wrap after its last column
        return [
            piece.replace(_NO_BREAK, " ")
            for line in lines
            for piece in textwrap.wrap(
                QUANTITY_BLANK.sub(_NO_BREAK, line), room, break_long_words=False, break_on_hyphens=False
            )
            or [""]
        ]

    async def ask(self, prompt: str) -> str:
        """Print a prompt, and return the answer without surrounding spaces.

        Raises:
            EndOfInput: The input has no more lines, or the output is closed.
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
            *above, last = self._wrap(readable(self.prompt, self.encoding), is_exact=False)
            for line in above:
                self.output.write(f"{line}\n")
            self.output.write(f"{last} ")


class Output:
    """Standard output. Once it is closed, all text is dropped, so that the dialogue can end in order."""

    def __init__(self, encoding: str) -> None:
        self.is_closed = False
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding=encoding, errors="replace")

    def write(self, text: str) -> None:
        """Write and flush a text."""
        if self.is_closed:
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError:
            self.is_closed = True
            # At exit the interpreter would flush its buffer and report the closed pipe.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
