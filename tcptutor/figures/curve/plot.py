"""Drawing of curves: axes, dots, regions, and labels in free cells next to their curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tcptutor.figures import braille
from tcptutor.figures.axes import free_ticks
from tcptutor.figures.braille import Layer
from tcptutor.figures.curve.canvas import RULE, Canvas
from tcptutor.figures.curve.law import Points
from tcptutor.figures.curve.scene import AlignedPanels, LabeledCurve, Panel, Region
from tcptutor.figures.lettering import PLAIN, Lettering
from tcptutor.figures.lines import FRAME, LIMIT, MUTED, STRONG, TEXT, Line

POINT, GUIDE = "●", "┊"
_PATTERNS = (braille.SOLID, braille.DASHED, braille.DASH_DOT)
_TICK_ROWS, _TICK_GAP = 3, 5
"""Rows per tick, and columns between the numbers of ticks."""
_SHADE = "░"
_MIN_COLUMNS = 16
"""Columns of the dots at least."""


class Drawing(NamedTuple):
    """Lines of a figure, and the texts without a free place."""

    lines: list[Line]
    crowded: tuple[str, ...]


class Plot:
    """A scene at a width, with everything computed that does not depend on the instant."""

    def __init__(self, scene: AlignedPanels, width: int, letters: Lettering = PLAIN) -> None:
        self.letters = letters
        per_tick = max(_TICK_ROWS, letters.height + 2)
        ticks = [panel.scale.ticks(max(2, panel.rows // per_tick + 1)) for panel in scene.panels]
        self.left = max(letters.width(name) for each in ticks for _, name in each) + 2
        _, unit = scene.x.unit
        self.x_title = ", ".join(filter(None, (scene.x_name, unit)))
        labels = [label for panel in scene.panels for label in _right_labels(panel)]
        self.width = width
        self.across = max(_MIN_COLUMNS, width - self.left - max(map(len, (*labels, self.x_title))) - 2)
        self.scene = scene
        self.panels: list[_PanelPlot] = []
        top = 1
        for panel, each in zip(scene.panels, ticks, strict=True):
            self.panels.append(_PanelPlot(self, panel, top, each))
            top += panel.rows + 1
        self.bottom = top - 1

    def draw(self, t: float) -> Drawing:
        """Draw it, up to the instant `t` if it moves."""
        frame = _Frame(self, min(t, self.scene.x.high) if self.scene.moves else self.scene.x.high)
        for panel in self.panels:
            frame.panel(panel)
        frame.axis(self.bottom)
        return Drawing(frame.grid.lines(), tuple(frame.grid.crowded))

    def column(self, x: float) -> int:
        share = self.scene.x.share(x)
        return min(
            self.across - 1, max(0, round(share * (braille.ACROSS * self.across - 1)) // braille.ACROSS)
        )


class _PanelPlot:
    """A panel at a width: its dots with all curves and with none, and its shaded areas."""

    def __init__(self, plot: Plot, panel: Panel, top: int, ticks: Sequence[tuple[float, str]]) -> None:
        self.plot, self.panel, self.top = plot, panel, top
        self.names = {self.row(value): name for value, name in reversed(ticks)}
        back, front = [], []
        for level in panel.levels:
            back.append(self._layer(LIMIT, braille.RULE, self._across(level.value)))
        for curve in panel.curves:
            if curve.cap is not None:
                back.append(self._layer(MUTED, braille.DOTTED, curve.uncapped))
                back.append(self._layer(LIMIT, braille.RULE, self._across(curve.cap)))
            pattern = _PATTERNS[curve.rank % len(_PATTERNS)]
            front.append(self._layer(curve.style, pattern, curve.points))
        self.complete = braille.compose(back, front, plot.across, panel.rows)
        self.empty = braille.compose(back, [], plot.across, panel.rows) if plot.scene.moves else self.complete
        self.spans = [region.spans() for region in panel.regions]
        self.shade = [cell for region in panel.regions for cell in self._shaded(region)]

    def row(self, y: float) -> int:
        """Return the row of the figure that shows a height."""
        share = min(1.0, max(0.0, self.panel.scale.share(y)))
        up = round(share * (braille.DOWN * self.panel.rows - 1)) // braille.DOWN
        return self.top + self.panel.rows - 1 - up

    def _layer(self, style: str, pattern: braille.Pattern, points: Points) -> Layer:
        x, y = self.plot.scene.x, self.panel.scale
        wide, high = braille.ACROSS * self.plot.across, braille.DOWN * self.panel.rows
        layer = Layer(style, wide, high, pattern)
        layer.line([(x.share(at) * (wide - 1), y.share(height) * (high - 1)) for at, height in points])
        return layer

    def _across(self, value: float) -> Points:
        x = self.plot.scene.x
        return (x.low, value), (x.high, value)

    def _shaded(self, region: Region) -> Iterator[tuple[int, int, int]]:
        """Yield column, first and last row of each shaded column."""
        if region.curve is None:
            return
        places = self.plot.scene.x.places(self.plot.across)
        for start, end in region.spans():
            for column in range(self.plot.column(start), self.plot.column(end) + 1):
                height = region.curve.at(min(max(places[column], start), end))
                if height is not None:
                    first, last = sorted(map(self.row, (height, region.level)))
                    yield column, first, last


class _Frame:
    """An instant while it is drawn: cells so far, and which of them are taken."""

    def __init__(self, plot: Plot, end: float) -> None:
        self.plot, self.scene, self.end = plot, plot.scene, end
        self.left, self.across = plot.left, plot.across
        self.last_column = self._column(end)
        self.grid = Canvas(plot.width, plot.bottom + 1 + plot.letters.height, plot.left, plot.bottom - 1)

    def panel(self, plot: _PanelPlot) -> None:
        panel, top = plot.panel, plot.top
        _, unit = panel.scale.unit
        self.grid.put(1, top - 1, panel.name, STRONG)
        if unit and unit not in panel.name:
            self.grid.put(1 + len(panel.name), top - 1, f", {unit}", MUTED)
        # Guides have their texts next to the first panel's name.
        named = 1 + len(panel.name) + len(unit) + 2 if top == 1 else self.grid.width
        self.grid.taken.update((column, top - 1) for column in range(named))
        for row in range(top, top + panel.rows):
            self.grid.put(self.left - 1, row, "┤" if row in plot.names else "│", FRAME)
        self._numbers(plot)
        self._guides(plot)
        for column, first, last in plot.shade:
            if column <= self.last_column:
                self.grid.column_of(self.left + column, first, last, _SHADE, MUTED)
        self._dots(plot)
        self._marks(plot)
        self._labels(plot)
        for guide in self.scene.guides if top == 1 else ():
            if guide.x <= self.end:
                self.grid.place(
                    self.left + self._column(guide.x) - 1, 0, guide.text, TEXT, range(panel.rows + 1)
                )
        for region, spans in zip(panel.regions, plot.spans, strict=True):
            self._region_text(plot, region, spans)

    def _numbers(self, plot: _PanelPlot) -> None:
        """Write the numbers of the vertical axis, each next to its tick as far as the panel has room."""
        letters, end = self.plot.letters, plot.top + plot.panel.rows
        free = end
        for row, name in sorted(plot.names.items(), reverse=True):
            first = max(plot.top, min(row - letters.height // 2, end - letters.height))
            if first + letters.height <= free:
                for at, line in enumerate(letters.draw(name), start=first):
                    self.grid.put(self.left - 1 - letters.width(name), at, line, MUTED)
                free = first

    def axis(self, row: int) -> None:
        """Draw the horizontal axis with its name at the end."""
        letters = self.plot.letters
        number = max(2, self.across // (letters.width("000") + _TICK_GAP))
        places = [(self._column(value), name) for value, name in self.scene.x.ticks(number)]
        ticks = free_ticks(places, self.across, self.left - 1, letters.width)
        self.grid.put(self.left - 1, row, "└" + "─" * self.across, FRAME)
        for tick in ticks:
            self.grid.put(self.left + tick.at, row, "┬", FRAME)
            for at, line in enumerate(letters.draw(tick.name), start=row + 1):
                self.grid.put(self.left + tick.start, at, line, MUTED)
        self.grid.put(self.left + self.across + 1, row, self.plot.x_title, STRONG)

    def _guides(self, plot: _PanelPlot) -> None:
        for guide in self.scene.guides:
            if guide.x > self.end:
                continue
            column = self.left + self._column(guide.x)
            self._rule(column, plot)

    def _dots(self, plot: _PanelPlot) -> None:
        columns = self.last_column + 1
        for number, (cells, empty) in enumerate(zip(plot.complete, plot.empty, strict=True), start=plot.top):
            for column, cell in enumerate((*cells[:columns], *empty[columns:]), start=self.left):
                if cell is not None:
                    self.grid.put(column, number, *cell)
                    if cell[0] != RULE:
                        self.grid.taken.add((column, number))
        if self.scene.moves and self.end < self.scene.x.high:
            for curve in plot.panel.curves:
                height = curve.at(self.end)
                if height is not None:
                    self.grid.point(self.left + self.last_column, plot.row(height), POINT, curve.style)

    def _marks(self, plot: _PanelPlot) -> None:
        shown = [
            (mark.text, self.left + self._column(mark.x), plot.row(mark.y))
            for mark in plot.panel.marks
            if mark.x <= self.end and mark.y is not None
        ]
        for _, column, row in shown:
            self.grid.point(column, row, POINT, STRONG)
        for text, column, row in shown:
            self.grid.place(column, row, text, TEXT)

    def _labels(self, plot: _PanelPlot) -> None:
        end = self.left + self.across - 1
        for level in plot.panel.levels:
            self.grid.place(end, plot.row(level.value), level.label, LIMIT)
        for curve in plot.panel.curves:
            if curve.cap is not None:
                self.grid.place(end, plot.row(curve.cap), curve.cap_label, LIMIT)
            place = self._law_place(curve)
            if place is not None:
                self.grid.place(
                    self.left + self._column(place[0]),
                    plot.row(place[1]),
                    curve.law_label,
                    curve.style,
                )
            last = min(self.end, curve.points[-1][0])
            height = curve.at(last)
            if height is not None:
                self.grid.place(self.left + self._column(last), plot.row(height), curve.label, curve.style)

    def _law_place(self, curve: LabeledCurve) -> tuple[float, float] | None:
        """Return the middle of the part that the cap leaves of the law; its end if others are next to it."""
        below = [point for point in curve.points if curve.cap is None or point[1] < curve.cap * (1 - 1e-9)]
        if not (below and curve.law_label):
            return None
        return below[len(below) // 2] if curve.is_alone else below[-1]

    def _region_text(self, plot: _PanelPlot, region: Region, spans: Sequence[tuple[float, float]]) -> None:
        spans = [span for span in spans if span[1] <= self.end * (1 + 1e-9)]
        if not spans:
            return
        start, end = max(spans, key=lambda span: self._column(span[1]) - self._column(span[0]))
        rows = range(plot.top, plot.top + plot.panel.rows)
        if region.curve is None:
            for edge in (start, end):
                if self.scene.x.low < edge < self.scene.x.high:
                    self._rule(self.left + self._column(edge), plot)
            self.grid.write(self._place_in(start, end, rows, region.text), region.text, TEXT)
            return
        way = 1 if region.is_below else -1
        inside = plot.row(region.level) + way
        near = sorted(rows, key=lambda row: ((inside - row) * way > 0, abs(row - inside)))
        column, row = self._place_in(start, end, near, region.text)
        if any(self.grid.at(at, row)[0] != _SHADE for at in range(column, column + len(region.text))):
            column, row = self._place_in(start, end, near, f"{_SHADE} {region.text}")
            self.grid.write((column, row), _SHADE, MUTED)
            column += 2
        self.grid.write((column, row), region.text, TEXT)

    def _place_in(self, start: float, end: float, rows: Sequence[int], text: str) -> tuple[int, int]:
        first, last = self.left + self._column(start), self.left + self._column(end)
        missing = len(text) - (last + 1 - first)
        if missing > 0:
            first = min(max(first - missing // 2, self.left), self.left + self.across - len(text))
            last = first + len(text) + missing
        return self.grid.place_in(first, min(last, self.left + self.across - 1), rows, text)

    def _rule(self, column: int, plot: _PanelPlot) -> None:
        for row in range(plot.top, plot.top + plot.panel.rows):
            if (column, row) not in self.grid.taken:
                self.grid.put(column, row, GUIDE, MUTED)

    def _column(self, x: float) -> int:
        return self.plot.column(x)


def _right_labels(panel: Panel) -> list[str]:
    """Return the labels right of the panel."""
    return [
        *(level.label for level in panel.levels),
        *(curve.label for curve in panel.curves),
        *(curve.cap_label for curve in panel.curves),
    ]
