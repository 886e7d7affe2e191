"""Widget that draws a figure at the width there is."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from tcptutor.figures.figure import MIN_WIDTH, Figure
from tcptutor.figures.lines import MUTED, STYLES, Line

MAX_WIDTH = 78
"""Columns that a figure uses at most: a wider one is harder to take in."""


class FigureView(Widget):
    """A figure, with its caption below."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"figure--{style}" for style in STYLES}

    def __init__(self, figure: Figure) -> None:
        super().__init__(classes="figure")
        self.figure = figure
        motion = figure.motion
        self._t = motion.rest if motion else 0.0
        self._lines: list[Line] = []
        self._drawn_width = 0

    @property
    def lines(self) -> list[str]:
        """Lines on display, as text."""
        return [line.text for line in self._lines]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return len(self._drawn(width))

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        lines = self._drawn(width)
        blank = self.rich_style
        if y >= len(lines):
            return Strip.blank(width, blank)
        segments = [Segment(text, self._style(name)) for text, name in lines[y].pieces()]
        return Strip(segments).adjust_cell_length(width, blank)

    def _drawn(self, width: int) -> list[Line]:
        width = max(MIN_WIDTH, min(width, MAX_WIDTH))
        if width != self._drawn_width:
            caption = [Line.of((self.figure.caption, MUTED))] if self.figure.caption else []
            self._lines, self._drawn_width = [*self.figure.draw(width, self._t), *caption], width
        return self._lines

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"figure--{name}")
