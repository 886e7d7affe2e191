"""Room for the parts of the home screen, by the size of the terminal."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.ui.screens.base import TALL, WIDE
from tcptutor.ui.widgets.home.modules import CARD_LINES
from tcptutor.ui.widgets.home.text import LABEL

_LEAST_FOR_RUN = 36
"""Lines of a screen that shows the last run below the objectives of the student's module."""
_HIGH = 44
"""Lines of a screen that shows a module's objectives and the last run at the same time."""
_LINES_BESIDES_CARDS = 13
"""Lines of header, title, button, lab and footer, with the gaps between them."""
_MOST_GAP_LINES = 3
"""Blank lines between two modules at most."""
_MOST_COLUMNS = 156
"""Columns of the screen's contents at most: wider lines are hard to read."""
_MOST_TEXT = 90
"""Columns of a line of facts at most."""
_CURSOR_COLUMNS = 2
"""Columns of a row that its cursor takes."""
_LIST_SHARE = 60
"""Percentage of the columns for the modules next to the facts about them."""


class HomeRoom(NamedTuple):
    """Columns and lines for the parts of the home screen."""

    width: int
    """Columns of the terminal."""
    height: int
    """Lines of the terminal."""

    @property
    def is_tall(self) -> bool:
        """True if the objectives of a module fit."""
        return self.height >= TALL

    @property
    def has_columns(self) -> bool:
        """True if the facts are next to the modules."""
        return self.is_tall and self.width >= WIDE

    @property
    def columns(self) -> int:
        """Columns between the margins."""
        return min(self.width, _MOST_COLUMNS) - 6

    @property
    def list_columns(self) -> int:
        """Columns of the modules if the facts are next to them."""
        return self.columns * _LIST_SHARE // 100

    @property
    def row_columns(self) -> int:
        """Columns of a module's row."""
        return (self.list_columns if self.has_columns else self.columns) - _CURSOR_COLUMNS

    @property
    def text_columns(self) -> int:
        """Columns of a line of facts."""
        beside = self.columns * (100 - _LIST_SHARE) // 100 - 4
        return min(beside if self.has_columns else self.columns, _MOST_TEXT)

    def work_columns(self, button: int) -> int:
        """Return the columns for the student's work: next to the button of that width, or of a line of facts."""
        if not self.has_columns:
            return self.text_columns
        return max(self.columns - min(button + 6, self.columns * 60 // 100) - 5, LABEL + 10)

    def gap_lines(self, modules: int, others: int) -> int:
        """Return the blank lines between the cards of modules, which take the height that is left.

        Args:
            modules: Number of modules.
            others: Lines of marks and problems.
        """
        free = self.height - _LINES_BESIDES_CARDS - others - CARD_LINES * modules
        return max(1, min(free // max(1, modules - 1), _MOST_GAP_LINES))

    def has_last_run(self, is_choosing: bool) -> bool:
        """Return whether the last run fits below the objectives; less does while a module is chosen."""
        return not self.has_columns or self.height >= (_HIGH if is_choosing else _LEAST_FOR_RUN)
