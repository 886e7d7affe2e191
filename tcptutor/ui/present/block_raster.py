"""Raster of four pixels a cell, in quadrant blocks, with two colors in a cell where lines cross."""

from __future__ import annotations

from collections import Counter

from tcptutor.figures.lines import TEXT, Line

ACROSS, DOWN = 2, 2
"""Pixels per cell."""
THICK = 2
"""Pixels across a thick line: a cell high where it is level, a cell wide where it is steep."""

QUADRANTS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"
"""Blocks by the bits of their quarters: upper left, upper right, lower left, lower right."""
BOTH = "/"
"""Separates the styles of foreground and background in the name of a cell's style."""


class BlockRaster:
    """Styled pixels; later pixels cover earlier pixels. Rows count from the bottom."""

    def __init__(self, columns: int, lines: int) -> None:
        self._columns, self._lines = columns, lines
        self.width, self.height = ACROSS * columns, DOWN * lines
        self._pixels = [[""] * self.width for _ in range(self.height)]

    def span(self, x: int, low: float, high: float, style: str, thickness: int = 1) -> None:
        """Color a column of pixels from `low` to `high` in rows, at least `thickness` pixels."""
        # A line beyond the upper edge runs along it.
        first, last = (min(round(row), self.height - 1) for row in (low, high))
        missing = thickness - (last - first + 1)
        if missing > 0:
            last = min(last + missing - missing // 2, self.height - 1)
            first = last - thickness + 1
        if 0 <= x < self.width:
            for y in range(max(0, first), last + 1):
                self._pixels[y][x] = style

    def thick_line(self, spans: list[tuple[float, float] | None], style: str) -> None:
        """Draw a line that covers a span of rows in each column of pixels; None leaves a gap."""
        before: tuple[float, float] | None = None
        for x, span in enumerate(spans):
            if span is not None:
                low, high = span
                if before is not None:
                    # Joined to the column on the left, wherever that one ended.
                    low, high = min(low, before[1]), max(high, before[0])
                self.span(x, low, high, style, THICK)
                if high - low >= THICK:
                    self.span(x + 1, low, high, style, THICK)
            before = span

    def lines(self) -> list[Line]:
        """Return the cells, from the top."""
        return [
            Line.of(*(self._cell(column, row) for column in range(self._columns)))
            for row in range(self._lines - 1, -1, -1)
        ]

    def _cell(self, column: int, row: int) -> tuple[str, str]:
        x, y = ACROSS * column, DOWN * row
        upper, lower = self._pixels[y + 1], self._pixels[y]
        pixels = (upper[x], upper[x + 1], lower[x], lower[x + 1])
        styles = [style for style, _ in Counter(filter(None, pixels)).most_common(2)]
        if not styles:
            return " ", TEXT
        front = styles[0]
        if len(styles) > 1 and all(pixels):
            mask = sum(1 << at for at, style in enumerate(pixels) if style == front)
            return QUADRANTS[mask], f"{front}{BOTH}{styles[1]}"
        return QUADRANTS[sum(1 << at for at, style in enumerate(pixels) if style)], front
