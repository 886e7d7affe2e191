"""Widget of styled lines that redraws only changed cells, in vertical slices.

Textual rewrites a changed line from the left edge of its widget, and a full redraw costs 8 KB of output: narrow widgets
need fewer bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tcptutor.figures.lines import Line, Piece


class SlicedLines(Widget):
    """Base of widgets that show lines; subclasses pass new lines to `show_lines`."""

    STYLE_PREFIX = ""
    """Prefix of the component classes that define the styles of lines."""

    def __init__(self, slices: int, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: list[Line] = []
        self._blank_style: Style | None = None
        self._slices = [Slice(self, number) for number in range(slices)]
        self._borders = [0] * (slices + 1)
        """Columns of the slice borders as last laid out, which may lag behind a change of size."""

    def slice_borders(self, width: int) -> list[int]:
        """Return the columns at which slices begin, and the end of the last slice."""
        count = len(self._slices)
        return [width * number // count for number in range(count + 1)]

    @property
    def lines(self) -> list[str]:
        """Lines on display, as text."""
        return [line.text for line in self._lines]

    def compose(self) -> ComposeResult:
        yield from self._slices

    def on_resize(self) -> None:
        if self._slices:
            # Deferred: a size requested during a layout would be ignored.
            self.call_after_refresh(self._lay_out_slices)

    def show_lines(self, lines: list[Line]) -> list[Line]:
        """Show `lines`, and return the parts of them that are written to the terminal."""
        before, self._lines = self._lines, lines
        written = []
        for part in self._slices:
            if len(before) != len(lines):
                part.refresh()
                continue
            start, end = self._borders[part.number : part.number + 2]
            for y, line in enumerate(lines):
                if changed := line.changed_range(before[y], start, end):
                    first, last = changed
                    part.refresh(Region(first - start, y, last - first, 1))
                    written.append(line.part(start, last))
        return written

    def line_part(self, y: int, number: int) -> Strip:
        """Return the part of a line that slice `number` shows."""
        start, end = self._borders[number : number + 2]
        return self.strip(y, start, end)

    def strip(self, y: int, start: int, end: int) -> Strip:
        """Return the columns from `start` to `end` of a line."""
        if y >= len(self._lines):
            return Strip.blank(end - start, self.blank)
        pieces = self.pieces(self._lines[y].part(start, end))
        segments = [Segment(text, self.cell_style(name)) for text, name in pieces]
        # The line may still be of another size.
        return Strip(segments).adjust_cell_length(end - start, self.blank)

    def cell_style(self, name: str) -> Style:
        """Return the style of cells by its name in a line."""
        return self.get_component_rich_style(f"{self.STYLE_PREFIX}{name}")

    def pieces(self, line: Line) -> Iterable[Piece]:
        """Return the pieces to write for a line or a part of it."""
        return line.pieces()

    @property
    def blank(self) -> Style:
        """Style of empty cells, cached: Textual derives it from all ancestors, at the cost of a line."""
        if self._blank_style is None:
            self._blank_style = self.rich_style
        return self._blank_style

    def notify_style_update(self) -> None:
        self._blank_style = None
        super().notify_style_update()

    def _lay_out_slices(self) -> None:
        self._borders = self.slice_borders(self.content_size.width)
        for part, (start, end) in zip(self._slices, pairwise(self._borders), strict=True):
            part.styles.width = end - start
            # A slice of the same width may show other columns, and Textual caches its lines.
            part.refresh()


class Slice(Widget):
    """Some columns of the lines."""

    ALLOW_SELECT = False

    def __init__(self, whole: SlicedLines, number: int) -> None:
        super().__init__()
        self._whole, self.number = whole, number

    def render_line(self, y: int) -> Strip:
        return self._whole.line_part(y, self.number)
