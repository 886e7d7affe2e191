"""A shell on a lab host as the app keeps it: its terminal in the lab, and what that shows. Knows no widgets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tcptutor.ui.terminal.screen import TerminalScreen

FLOOD, DRAWN_OF_IT = 32_768, 8192
"""From so many bytes on that wait, only the last ones are drawn; of those before only looks and modes are obeyed.

Nobody could read them, and all of them would be drawn before what a ^C leads to.
"""

_ENDS_OF_LINES = (b"", b"\r", b"\n", b"\x03", b"\x04", b"\x15")
"""Enter, ^C, ^D, ^U."""


def begins_line(typed: bytes) -> bool:
    """Return whether `typed` leaves a line at the prompt that was not run."""
    return typed[-1:] not in _ENDS_OF_LINES


SLICE = 1024
"""Bytes that are drawn at a time: a few milliseconds of work at most."""

_BREATH = 0.002
"""Seconds of drawing after which others have their turn."""


class TerminalLike(Protocol):
    """What a shell needs of its terminal; `tcptutor.backends.session.Terminal` is one."""

    async def read(self) -> bytes:
        """What was written there, waiting for something; empty at the end."""
        ...

    def write(self, data: bytes) -> None:
        """Type it."""
        ...

    def resize(self, rows: int, columns: int) -> None:
        """The screen has another size."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class Shell:
    """One terminal. `screen` is what it shows; `moved` is called when that has changed, and when the shell ends."""

    def __init__(
        self,
        host: str,
        terminal: TerminalLike,
        lines: int,
        columns: int,
        moved: Callable[[Shell], object],
        heard: Callable[[str, bytes], object] = lambda _host, _data: None,
    ) -> None:
        """heard: called with the host and what its terminal has written."""
        self.host = host
        # Not at the top: its tables of characters take a tenth of a second, and the first frame has no terminal.
        from tcptutor.ui.terminal.screen import TerminalScreen  # noqa: PLC0415

        self.screen: TerminalScreen = TerminalScreen(columns, lines)
        self.over = False
        """Whether its shell has ended."""
        self.begun = False
        """Whether something may stand at its prompt that was typed and not run."""
        self.spoke = False
        """Whether it has shown anything yet: before that, what is typed stands there twice."""
        self._terminal, self._moved, self._heard = terminal, moved, heard
        self._typed = b""
        """What was typed before it has shown anything."""
        self._following = asyncio.create_task(self._follow())

    def write(self, data: bytes) -> None:
        """Type into it; before its prompt is there, as soon as it is."""
        self.begun = begins_line(data)
        if self.spoke:
            self._terminal.write(data)
        else:
            self._typed += data

    def say(self, text: str) -> None:
        """Show something that the shell has not said."""
        self.screen.feed(text.encode())
        self._moved(self)

    def resize(self, lines: int, columns: int) -> None:
        """Its place on the screen has another size."""
        if (lines, columns) != (self.screen.lines, self.screen.columns) and lines > 0 and columns > 1:
            self.screen.resize(lines, columns)
            self._terminal.resize(lines, columns)

    def close(self) -> None:
        """Hang up, and follow it no more."""
        self._terminal.close()
        self._following.cancel()

    async def _follow(self) -> None:
        drawn = time.perf_counter()
        while data := await self._terminal.read():
            if not self.spoke:
                self.spoke = True
                # First what was typed first: a page's command comes after it.
                self._terminal.write(self._typed)
                self._typed = b""
            self._heard(self.host, data)
            # A program that has the screen for itself draws each cell once, and knows what it has drawn.
            if len(data) > FLOOD and not self.screen.alternate:
                cut = data.find(b"\n", len(data) - DRAWN_OF_IT) + 1 or len(data) - DRAWN_OF_IT
                self.screen.skim(data[:cut])
                data = data[cut:]
            for start in range(0, len(data), SLICE):
                began = time.perf_counter()
                if began - drawn > 2 * _BREATH:  # there was a pause
                    drawn = began
                self.screen.feed(data[start : start + SLICE])
                if answers := self.screen.take_replies():
                    self._terminal.write(answers)
                self._moved(self)
                if (worked := time.perf_counter() - drawn) > _BREATH:
                    # A flood of text leaves half of the time to keys, runs and the page.
                    await asyncio.sleep(worked)
                    drawn = time.perf_counter()
        self.over = True
        self._moved(self)
