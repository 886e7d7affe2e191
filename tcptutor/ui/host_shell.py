"""A shell on a lab host: its terminal in the lab and the screen it writes to. Knows no widgets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tcptutor.backends.session import LabTerminal
    from tcptutor.ui.terminal.screen import TerminalScreen

FLOOD, DRAWN_OF_IT = 32_768, 8192
"""Thresholds in bytes: if more than FLOOD bytes are waiting, only the last DRAWN_OF_IT are drawn.

Earlier output only updates colors and modes. Drawing it all, unreadably fast, would delay the response to ^C.
"""

_ENDS_OF_LINES = (b"", b"\r", b"\n", b"\x03", b"\x04", b"\x15")
"""Enter, ^C, ^D, ^U."""


def begins_line(typed: bytes) -> bool:
    """Return True if `typed` leaves an unfinished line at the prompt."""
    return typed[-1:] not in _ENDS_OF_LINES


SLICE = 1024
"""Bytes drawn at a time, a few milliseconds of work."""

_BREATH = 0.002
"""Seconds of drawing after which other tasks get a turn."""


class Shell:
    """A shell on a lab host, which starts to follow its terminal at once.

    Calls `moved` when `screen` changes and when the shell ends, `heard` with the host and each piece of output.
    """

    def __init__(
        self,
        host: str,
        terminal: LabTerminal,
        lines: int,
        columns: int,
        moved: Callable[[Shell], object],
        heard: Callable[[str, bytes], object] = lambda _host, _data: None,
    ) -> None:
        self.host = host
        # Imported late: its character tables take 0.1 s to build, and the first frame shows no terminal.
        from tcptutor.ui.terminal.screen import TerminalScreen  # noqa: PLC0415

        self.screen: TerminalScreen = TerminalScreen(columns, lines)
        self.over = False
        self.begun = False
        """True if the prompt may hold an unfinished line."""
        self.last_key = time.monotonic()
        """Monotonic time of the last key, or of the start."""
        self.spoke = False
        """True once the shell has printed anything. Keys sent before its prompt would be echoed twice."""
        self._terminal, self._moved, self._heard = terminal, moved, heard
        self._typed = b""
        self._following = asyncio.create_task(self._follow())

    def write(self, data: bytes) -> None:
        """Send keys, after the prompt has appeared."""
        self.begun, self.last_key = begins_line(data), time.monotonic()
        if self.spoke:
            self._terminal.write(data)
        else:
            self._typed += data

    def say(self, text: str) -> None:
        """Show text that is not the shell's."""
        self.screen.feed(text.encode())
        self._moved(self)

    def resize(self, lines: int, columns: int) -> None:
        """Resize the screen and the terminal."""
        if (lines, columns) != (self.screen.lines, self.screen.columns) and lines > 0 and columns > 1:
            self.screen.resize(lines, columns)
            self._terminal.resize(lines, columns)

    def close(self) -> None:
        """Hang up and stop following the terminal."""
        self._terminal.close()
        self._following.cancel()

    async def _follow(self) -> None:
        drawn = time.perf_counter()
        while data := await self._terminal.read():
            if not self.spoke:
                self.spoke = True
                # Send waiting keys before a page's command, which comes later.
                self._terminal.write(self._typed)
                self._typed = b""
            self._heard(self.host, data)
            # Full-screen programs draw each cell once and rely on it, so nothing may be skipped.
            if len(data) > FLOOD and not self.screen.alternate:
                cut = data.find(b"\n", len(data) - DRAWN_OF_IT) + 1 or len(data) - DRAWN_OF_IT
                self.screen.skim(data[:cut])
                data = data[cut:]
            for start in range(0, len(data), SLICE):
                began = time.perf_counter()
                if began - drawn > 2 * _BREATH:  # after a pause
                    drawn = began
                self.screen.feed(data[start : start + SLICE])
                if answers := self.screen.take_replies():
                    self._terminal.write(answers)
                self._moved(self)
                if (worked := time.perf_counter() - drawn) > _BREATH:
                    # A flood of output leaves half of the time to keys, runs and the page.
                    await asyncio.sleep(worked)
                    drawn = time.perf_counter()
        self.over = True
        self._moved(self)
