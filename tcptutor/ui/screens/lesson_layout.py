"""Layout of a page: which of its text, panel and terminal are visible."""

from __future__ import annotations

from typing import Literal, NamedTuple

View = Literal["both", "chart", "text"]

VIEWS: tuple[View, ...] = ("both", "chart", "text")
"""Views in two columns, in the order of key c."""


class Layout(NamedTuple):
    """Parts of a page, their place, and the view that the student chose."""

    wide: bool = False
    """True if two columns fit."""
    tall: bool = False
    """True if a terminal's chart fits above its shell."""
    has_panel: bool = False
    """True if the page has a panel for a run or a sweep."""
    terminal_open: bool = False
    shell_focused: bool = False
    """True if the shell gets the keys."""
    wide_view: View = "both"
    """The student's choice in two columns."""
    narrow_view: View = "text"
    """The student's choice in a single column: chart or text."""

    @property
    def view(self) -> View:
        """Visible parts; "chart" includes a terminal."""
        if not self.has_panel and not self.terminal_open:
            return "text"
        view = self.wide_view if self.wide else self.narrow_view
        if self.terminal_open and self.shell_focused and (not self.wide or view == "text"):
            return "chart"
        return view

    @property
    def shows_terminal_chart(self) -> bool:
        """True if the terminal's chart is visible whenever the terminal is."""
        return self._fits_chart_and_shell or not self.shows_shell

    @property
    def shows_shell(self) -> bool:
        """True if the shell is visible whenever the terminal is."""
        return self.shell_focused or self._fits_chart_and_shell or (self.wide and self.view != "chart")

    @property
    def shows_chart(self) -> bool:
        """True if the chart of the panel or of the terminal is visible."""
        return self.view != "text" and (not self.terminal_open or self.shows_terminal_chart)

    @property
    def classes(self) -> dict[str, bool]:
        """CSS classes of the screen."""
        return {
            "-wide": self.wide,
            "-narrow": not self.wide,
            "-tall": self.tall,
            "-chart-only": self.view == "chart",
            "-text-only": self.view == "text",
            "-terminal": self.terminal_open,
            "-terminal-chart": self.shows_terminal_chart,
            "-terminal-shell": self.shows_shell,
        }

    def next_view(self) -> Layout:
        """Return the layout after key c."""
        if self.wide:
            return self._replace(wide_view=VIEWS[(VIEWS.index(self.wide_view) + 1) % len(VIEWS)])
        return self._replace(narrow_view="text" if self.narrow_view == "chart" else "chart")

    @property
    def _fits_chart_and_shell(self) -> bool:
        return self.wide and self.tall
