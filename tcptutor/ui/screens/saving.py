"""What a screen says of saving, at the right of its line of keys: that something was written, or could not be."""

from __future__ import annotations

from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.bars import KeyBar

NOT_SAVED = "NOT SAVED"
SAVED = "saved"
_SAVED_FOR = 2.0
"""Seconds for which it says that something was written."""


class SavingScreen(TutorScreen):
    """NOT SAVED stays for as long as it is so; "saved" is shown after each write, and goes again."""

    _written = 0
    """How many events the journal had when that was last shown."""

    def show_saved(self) -> None:
        written = self.tutor.journal.event_count
        if not self.tutor.is_saved:
            self._show_right(NOT_SAVED)
        elif written != self._written:
            self.say_saved()
        else:
            self._forget(NOT_SAVED)
        self._written = written

    def say_saved(self) -> None:
        """Something was written just now."""
        self._show_right(SAVED if self.tutor.is_saved else NOT_SAVED)
        self.set_timer(_SAVED_FOR, lambda: self._forget(SAVED))

    def _forget(self, shown: str) -> None:
        for bar in self.query(KeyBar):
            if bar.right == shown:
                bar.show_right("")

    def _show_right(self, text: str) -> None:
        for bar in self.query(KeyBar):
            bar.show_right(text)
