"""Whether figures move: the environment, the student's choice, and a line that keeps up.

While a figure plays, the terminal is asked a question that it answers at once. A late answer means that output queues
up on the way, or that this computer is too busy: figures then stand still until the student turns motion on again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from tcptutor.base.errors import JournalError
from tcptutor.journal.saved import Settings

_QUESTION = "\x1b[?2026$p"
"""Asks whether the terminal draws whole frames. Textual asks it once, and posts a message for the answer."""
_ASK_EVERY_S = 1.0
_LATE_S = 0.8
"""Seconds after which an answer is late. A line across the world takes 0.3 s."""


class MotionChoice:
    """The student's choice, and its overrides."""

    def __init__(
        self, environment: Mapping[str, str], settings: Settings, write: Callable[[str], object]
    ) -> None:
        """Create the state.

        Args:
            environment: Environment variables.
            settings: Keeps the choice.
            write: Sends text to the terminal.
        """
        self._settings, self._write = settings, write
        self._variable = _forbidding_variable(environment)
        self._is_line_slow = False
        self._has_answered = False
        self._asked: float | None = None
        """Time of the open question; None without an open question."""
        self._last_asked = 0.0

    @property
    def off_because(self) -> str:
        """Reason why figures are still; empty if they may move."""
        if self._variable:
            return f"{self._variable} is set"
        if self._settings.figures_in_words:
            return "figures are in words"
        if not self._settings.motion:
            return "motion is off"
        return "the terminal is slow" if self._is_line_slow else ""

    def choose(self, on: bool) -> str:
        """Keep the student's choice, and return why it has no effect or is not saved; empty otherwise."""
        self._is_line_slow, self._asked = False, None
        try:
            self._settings.set_motion(on)
        except JournalError as error:
            return str(error)
        return f"{self._variable} is set: without it figures move." if on and self._variable else ""

    def check_line(self, playing: bool = True) -> None:
        """Ask the terminal from time to time while a figure plays; a late answer turns motion off."""
        now = time.monotonic()
        if not playing:
            # The time until the next figure plays is no delay.
            self._asked = None
        elif self._asked is not None:
            # A terminal that has never answered does not know the question.
            self._is_line_slow |= self._has_answered and now - self._asked > _LATE_S
        elif now - self._last_asked >= _ASK_EVERY_S:
            self._asked = self._last_asked = now
            self._write(_QUESTION)

    def line_answered(self) -> None:
        """Take the answer of the terminal."""
        self._has_answered, self._asked = True, None


def _forbidding_variable(environment: Mapping[str, str]) -> str:
    if environment.get("NO_MOTION"):
        return "NO_MOTION"
    if environment.get("TEXTUAL_ANIMATIONS", "").lower() == "none":
        return "TEXTUAL_ANIMATIONS=none"
    return ""
