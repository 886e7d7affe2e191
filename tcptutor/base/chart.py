"""Charts in lines of text: curves, points with their spread, and bars, drawn by plotext.

plotext takes a sixth of a second to import: it is imported when a chart is drawn.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

from tcptutor.base.errors import TutorError, UsageError
from tcptutor.base.places import has_matplotlib, matplotlib_command

Point = tuple[float, float]
Ticks = Sequence[tuple[float, str]]

SUFFIXES = (".svg", ".pdf", ".png")
"""Formats of pictures for paper."""
COLORS = (6, 3, 2, 5, 4, 1, 12)
"""Colors of series, from the terminal's own palette so that they suit its background."""
RED, GRAY = 1, 8
MARKERS = "●▲■◆▼►◄★"
"""Markers of points, which differ in shape."""
SUSPECT = "○"
LEVEL, DOTTED = "┈", "·"
"""Markers of limits, and of faint curves."""
_DIGITS = "123456789abcdefghijklmnopqrstuvwxyz"
_EVENT, _BAR = "×", "█"
_SAMPLE = "⠒⠒"
_DOTS_ACROSS, _DOTS_UP = 2, 4
"""Dots of braille in a cell."""
_TITLE_LINES = 2
_SIGN_GAP = 16
"""Columns between the characters that name a line without color."""
_MIN_ROWS, _MIN_COLUMNS = 3, 16


@dataclass(frozen=True, kw_only=True)
class ChartSeries:
    """A curve, points, or bars."""

    points: Sequence[Point]
    label: str = ""
    """Name in the legend; series with the same name share an entry. Empty: without one."""
    color: int | None = None
    """Color of the terminal's palette; None for that of text."""
    marker: str = ""
    """Character of the curve or of its points. Empty: braille dots."""
    is_connected: bool = True
    spread: Sequence[float] = ()
    """Half the length of each point's error bar."""


@dataclass(frozen=True, kw_only=True)
class ChartAxis:
    """An axis with its range."""

    high: float
    low: float = 0.0
    label: str = ""
    unit: str = ""
    """Unit after the last tick, in place of a label."""
    is_log: bool = False
    is_whole: bool = False
    """Whether ticks are whole numbers."""
    ticks: Ticks = ()
    """Positions and names; by default round numbers."""

    def position(self, value: float, cells: int) -> float:
        """Return the cell of `value`, between 0 and `cells` - 1 inside of the range."""
        if self.is_log:
            low, high, value = (math.log10(max(each, 1e-300)) for each in (self.low, self.high, value))
        else:
            low, high = self.low, self.high
        share = (value - low) / (high - low) if high > low else 0.5
        return min(max(share, -1.0), 2.0) * (cells - 1)

    def named(self, number: int) -> Ticks:
        """Return about `number` ticks with their names."""
        if self.ticks:
            return self.ticks
        place = ratio_ticks if self.is_log else round_numbers
        values = place(self.low, self.high, number)
        if self.is_whole:
            values = [value for value in values if value == round(value)]
        names = [f"{value:.6g}" for value in values]
        return [
            *zip(values, names[:-1] + [f"{name} {self.unit}".strip() for name in names[-1:]], strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class ChartPanel:
    """Curves of a quantity over the x axis."""

    heading: str
    """The quantity with its unit."""
    series: Sequence[ChartSeries]
    y: ChartAxis
    weight: int = 1
    """Share of the height."""
    events: Sequence[float] = ()
    """Positions on the x axis to mark above the curves."""
    events_label: str = ""
    has_bars: bool = False
    """Whether each point is a bar from zero."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Panels above each other with a common x axis."""

    title: Sequence[str]
    panels: Sequence[ChartPanel]
    x: ChartAxis
    notes: Sequence[str] = ()
    """Remarks at the end of the legend."""


def render(chart: Chart, width: int, height: int, *, plain: bool = False) -> list[str]:
    """Draw a chart in `height` lines of at most `width` characters, with color codes.

    A chart that needs more lines to be readable gets them. With `plain`, characters name the lines instead of colors.
    """
    signs = _signs(chart) if plain else {}
    title = [textwrap.shorten(line, width, placeholder=" …") for line in chart.title[:_TITLE_LINES]]
    legend = _legend(chart, width, signs)
    fixed = len(title) + len(chart.panels) + 2 + bool(chart.x.label) + len(legend)
    heights = _heights(chart.panels, height - fixed)
    ticks = [panel.y.named(max(1, rows // 2)) for panel, rows in zip(chart.panels, heights, strict=True)]
    gutter = max(len(name) for each in ticks for _, name in each)
    columns = max(_MIN_COLUMNS, width - gutter - 1)
    lines = [f"\x1b[1m{line}\x1b[0m" for line in title]
    for number, (panel, rows, up) in enumerate(zip(chart.panels, heights, ticks, strict=True)):
        lines.append(f"{'':{gutter + 1}}{panel.heading}"[:width])
        across = chart.x.named(columns // 10) if number == len(heights) - 1 else ()
        lines += _panel(
            chart.x, panel, (columns, rows), across, [(at, name.rjust(gutter)) for at, name in up], signs
        )
    if chart.x.label:
        lines.append(f"{'':{gutter + 1}}{chart.x.label.center(columns)}".rstrip())
    return [*lines, *legend]


def _heights(panels: Sequence[ChartPanel], rows: int) -> list[int]:
    """Divide the rows by weight; the first panels get the rest."""
    total = sum(panel.weight for panel in panels)
    heights = [max(_MIN_ROWS, rows * panel.weight // total) for panel in panels]
    for number in range(max(0, rows - sum(heights))):
        heights[number % len(heights)] += 1
    return heights


def _signs(chart: Chart) -> dict[str, str]:
    """Return a character that names each line of dots; none if there is a single one."""
    names = [each.label for panel in chart.panels for each in panel.series if _is_dotted(each)]
    dotted = dict.fromkeys(names)
    return dict(zip(dotted, _DIGITS, strict=False)) if len(dotted) > 1 else {}


def _is_dotted(series: ChartSeries) -> bool:
    return bool(series.label) and not series.marker


def _legend(chart: Chart, width: int, signs: Mapping[str, str]) -> list[str]:
    """Return a sample and the name of each series, in lines of `width`; nothing for a single series."""
    entries: dict[str, tuple[str, int | None]] = {}
    series = [each for panel in chart.panels for each in panel.series if each.label]
    for each in sorted(series, key=lambda each: bool(each.marker) and each.is_connected):
        sample = 2 * each.marker if each.is_connected else each.marker
        entries.setdefault(each.label, (sample or signs.get(each.label, _SAMPLE), each.color))
    for panel in chart.panels:
        if panel.events:
            entries.setdefault(panel.events_label, (_EVENT, RED))
    texts = [
        (f"{sample} {label}", f"{_colored(sample, color)} {label}")
        for label, (sample, color) in entries.items()
    ]
    if len(texts) < 2 and not chart.notes:
        return []
    lines: list[str] = []
    used = width
    for text, shown in [*texts, *((note, note) for note in chart.notes)]:
        if used + 3 + len(text) > width:
            lines.append(shown)
            used = len(text)
        else:
            lines[-1] += f"   {shown}"
            used += 3 + len(text)
    return lines


def _colored(text: str, color: int | None) -> str:
    return text if color is None else f"\x1b[38;5;{color}m{text}\x1b[0m"


def _panel(
    x: ChartAxis, panel: ChartPanel, size: tuple[int, int], across: Ticks, up: Ticks, signs: Mapping[str, str]
) -> Iterator[str]:
    """Yield the lines of a panel; below the last panel, whose x axis has ticks `across`, also that axis."""
    import plotext  # noqa: PLC0415

    plotext.terminal.limit(False, False)  # the size is given, even in a pipe
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    columns, rows = size
    figure.plot_size(len(up[0][1]) + 1 + columns, rows + 2 * bool(across))
    figure.axes(False, axis="x", side="upper")
    figure.axes(False, axis="y", side="right")
    figure.axes(bool(across), axis="x", side="lower")
    figure.ruler("y", "left").lim(0, rows - 1).ticks(
        [panel.y.position(at, rows - bool(panel.events)) for at, _ in up], [name for _, name in up]
    )
    figure.ruler("x", "lower").lim(0, columns - 1).ticks(
        [x.position(at, columns) for at, _ in across], [name for _, name in across]
    )

    def cell(point: Point) -> Point:
        return x.position(point[0], columns), panel.y.position(point[1], rows - bool(panel.events))

    if panel.has_bars:
        for each in panel.series:
            _bars(
                figure, [cell(point) for point in each.points], columns / max(1, len(each.points)), each.color
            )
    else:
        for look, alike in groupby(panel.series, lambda each: (_is_line_of_dots(each), each.color)):
            curves = [*alike]
            if look[0] and len(curves) > 1:
                _bundle(figure, curves, cell, size)
            else:
                for each in curves:
                    _curve(figure, each, cell)
    for number, (label, sign) in enumerate(signs.items()):
        for each in panel.series:
            if each.label == label and _is_dotted(each):
                cells = [cell(point) for point in each.points if all(map(math.isfinite, point))]
                labeled = _samples(cells, (number + 0.5) * _SIGN_GAP / len(signs), _SIGN_GAP)
                _signal(figure, labeled, sign, None, is_connected=False)
    if panel.events:
        at = [(x.position(event, columns), rows - 1.0) for event in panel.events]
        _signal(figure, at, _EVENT, RED, is_connected=False)
    lines: list[str] = figure.build().string().split("\n")
    yield from lines[: rows + 2 * bool(across)]


def _curve(figure: Any, series: ChartSeries, cell: Callable[[Point], Point]) -> None:
    known = [
        (point, spread)
        for point, spread in zip(series.points, series.spread or [0.0] * len(series.points), strict=True)
        if all(map(math.isfinite, point))
    ]
    bars = [cell((at, value + sign * spread)) for (at, value), spread in known if spread for sign in (-1, 1)]
    _signal(figure, bars, "", series.color, is_connected=False, in_pairs=True)
    cells = [cell(point) for point, _ in known]
    if series.is_connected:
        cells = [*_thinned(cells, _DOTS_ACROSS)]
    _signal(figure, cells, series.marker, series.color, is_connected=series.is_connected)


def _is_line_of_dots(series: ChartSeries) -> bool:
    return series.is_connected and not series.marker and not series.spread


def _bundle(
    figure: Any, curves: Sequence[ChartSeries], cell: Callable[[Point], Point], size: tuple[int, int]
) -> None:
    """Draw curves of a color as a single set of dots: the time for plotext grows with the points given to it."""
    # The outermost dots are at the outermost positions of cells.
    across, up = (
        (dots * cells - 1) / max(1, cells - 1)
        for dots, cells in zip((_DOTS_ACROSS, _DOTS_UP), size, strict=True)
    )
    dots: set[tuple[int, int]] = set()
    for each in curves:
        cells = [cell(point) for point in each.points if all(map(math.isfinite, point))]
        fine = [(column * across, row * up) for column, row in cells]
        line = [(round(column), round(row)) for column, row in _thinned(fine, 1)]
        dots.update(line)
        for (left, low), (right, high) in pairwise(line):
            steps = max(abs(right - left), abs(high - low))
            dots.update(
                (left + round(step * (right - left) / steps), low + round(step * (high - low) / steps))
                for step in range(1, steps)
            )
    _signal(
        figure,
        [(column / across, row / up) for column, row in sorted(dots)],
        "",
        curves[0].color,
        is_connected=False,
    )


def _thinned(points: Sequence[Point], dots: float) -> Iterator[Point]:
    """Yield the lowest and the highest point of a line in each column, `dots` of them a unit of x, in their order."""
    for _, group in groupby(points, lambda point: round(dots * point[0])):
        column = [*group]
        ends = {min(column, key=itemgetter(1)), max(column, key=itemgetter(1))}
        yield from sorted(ends, key=column.index)


def _samples(cells: Sequence[Point], first: float, gap: float) -> list[Point]:
    """Return the points of a line at every `gap` columns from column `first`."""
    found: list[Point] = []
    for (column, row), (next_column, next_row) in pairwise(cells):
        while first <= next_column:
            if first >= column:
                share = (first - column) / (next_column - column) if next_column > column else 0.0
                found.append((round(first), row + share * (next_row - row)))
            first += gap
    return found


def _bars(figure: Any, tops: Sequence[Point], width: float, color: int | None) -> None:
    """Fill a bar below each point that is above zero; `width` columns include the gap to the next."""
    half = max(0, int(width) - 2) // 2
    filled = [
        (column, float(row))
        for middle, top in tops
        if top > 0
        for column in range(round(middle) - half, round(middle) + half + 1)
        for row in range(round(top) + 1)
    ]
    _signal(figure, filled, _BAR, color, is_connected=False)


def _signal(
    figure: Any,
    cells: Sequence[Point],
    marker: str,
    color: int | None,
    *,
    is_connected: bool = True,
    in_pairs: bool = False,
) -> None:
    import plotext  # noqa: PLC0415

    if cells:
        across, up = zip(*cells, strict=True)
        sign = plotext.marker(marker or "braille", pixel=color)
        signal = figure.signal(list(across), list(up), marker=sign)
        signal.lines(is_connected)
        for second in range(1, len(cells) if in_pairs else 0, 2):
            signal.line(second)
        figure.draw(signal)


def check_target(target: Path) -> None:
    """Check the name of a picture for paper. Raises UsageError for its suffix, TutorError without matplotlib."""
    if target.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{target}: a plot's name ends in {', '.join(SUFFIXES)}")
    check_matplotlib()


def check_matplotlib() -> None:
    """Check that matplotlib is installed. Raises TutorError that says how to install it."""
    if not has_matplotlib():
        raise TutorError(f"a plot needs matplotlib: run {matplotlib_command()}")


def round_numbers(low: float, high: float, number: int) -> list[float]:
    """Return round positions between `low` and `high`: two at least, about `number` steps apart."""
    steps = [mantissa * 10.0**power for power in range(-9, 24) for mantissa in (1, 2, 2.5, 5)]
    at = next(at for at, step in enumerate(steps) if (high - low) / step <= max(number, 1))
    for step in reversed(steps[: at + 1]):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last > first:
            return [step * place for place in range(first, last + 1)]
    return [low, high]


def ratio_ticks(lower: float, upper: float, number: int) -> list[float]:
    """Return round positions on a logarithmic axis, at most `number` unless there are more decades.

    Tries 1, 2 and 5 times each power of ten, then 1 and 3 times, then only powers.
    """
    powers = range(math.floor(math.log10(lower) + 1e-9), math.ceil(math.log10(upper) - 1e-9) + 1)
    positions: list[float] = []
    for mantissas in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        positions = [mantissa * 10.0**power for power in powers for mantissa in mantissas]
        positions = [value for value in positions if lower * (1 - 1e-9) <= value <= upper * (1 + 1e-9)]
        if len(positions) <= number:
            break
    return positions
