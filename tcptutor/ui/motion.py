"""Whether figures move: the environment, the student's choice, and a line that keeps up.

While a figure plays, the line to the terminal is measured. A late answer means that output queues up on the line, or
that this computer is too busy: figures then stop until the student turns motion on again.
"""

from __future__ import annotations

from collections.abc import Mapping

from tcptutor.base.errors import JournalError
from tcptutor.journal.saved import Settings
from tcptutor.ui.line_meter import LineMeter


class MotionChoice:
    """The student's choice, and its overrides."""

    def __init__(self, environment: Mapping[str, str], settings: Settings, line: LineMeter) -> None:
        """Create the state.

        Args:
            environment: Environment variables.
            settings: Keeps the choice.
            line: Measures the line to the terminal.
        """
        self._settings, self._line = settings, line
        self._variable = _forbidding_variable(environment)
        self._is_line_slow = False

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
        self._is_line_slow = False
        try:
            self._settings.set_motion(on)
        except JournalError as error:
            return str(error)
        return f"{self._variable} is set: without it figures move." if on and self._variable else ""

    def wait_for_line(self) -> float:
        """Return seconds until the line has room for a frame, 0 for now; a late answer turns motion off."""
        self._is_line_slow |= self._line.is_late
        if pause := self._line.pause_s:
            return pause
        self._line.ask()
        return 0.0


def _forbidding_variable(environment: Mapping[str, str]) -> str:
    if environment.get("NO_MOTION"):
        return "NO_MOTION"
    if environment.get("TEXTUAL_ANIMATIONS", "").lower() == "none":
        return "TEXTUAL_ANIMATIONS=none"
    return ""
