"""Charts as SVG, in a page of HTML: the same chart as in the terminal, with the hues of the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from tcptutor.base.chart import COLORS, GRAY, Chart, ChartAxis, ChartSeries, Point

_WIDTH = 760
_LEFT, _RIGHT = 64, 14
_HEAD, _GAP, _FOOT = 22, 14, 34
_PANEL = 108
"""Height of a panel of weight 1."""
_LEGEND = 18
_TICKS_UP, _TICKS_ACROSS = 4, 9
_LETTER = 6.6
"""Width of a letter of the legend."""
_SAMPLE = 26


class _Frame(NamedTuple):
    """Place of a panel in the picture."""

    top: float
    height: float
    x: ChartAxis
    y: ChartAxis

    def across(self, value: float) -> float:
        return _LEFT + self.x.position(value, _WIDTH - _LEFT - _RIGHT + 1)

    def up(self, value: float) -> float:
        return self.top + self.height - self.y.position(value, int(self.height) + 1)

    def point(self, at: Point) -> str:
        """Return the place of a point, with one decimal; values beyond the axis are clipped to the picture."""
        up = min(max(self.up(at[1]), self.top), self.top + self.height)
        return f"{self.across(at[0]):.1f},{up:.1f}"


def as_svg(chart: Chart, description: str) -> str:
    """Return the chart as an SVG element.

    Args:
        chart: The chart.
        description: The chart in words, for screen readers.
    """
    parts = list(_panels(chart))
    legend = _legend(chart)
    top = _panels_end(chart)
    parts += _place_legend(legend, top)
    height = top + _LEGEND * _legend_rows(legend)
    words = escape(description)
    return (
        f'<svg role="img" aria-label="{words}" viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}">'
        f"<title>{words}</title>{''.join(parts)}</svg>"
    )


def _heights(chart: Chart) -> list[int]:
    return [_PANEL * panel.weight for panel in chart.panels]


def _panels_end(chart: Chart) -> float:
    heights = _heights(chart)
    return sum(heights) + len(heights) * (_HEAD + _GAP) + _FOOT


def _panels(chart: Chart) -> Iterator[str]:
    top = 0.0
    for number, (panel, height) in enumerate(zip(chart.panels, _heights(chart), strict=True)):
        frame = _Frame(top + _HEAD, height, chart.x, panel.y)
        yield f'<text x="{_LEFT}" y="{top + _HEAD - 7:.0f}" class="head">{escape(panel.heading)}</text>'
        yield from _axes(frame, is_last=number == len(chart.panels) - 1)
        for event in panel.events:
            x = frame.across(event)
            yield f'<path d="M{x:.1f} {frame.top:.0f}v{_EVENT_HEIGHT}" class="event"/>'
        for series in panel.series:
            yield from _bars(frame, series) if panel.has_bars else _series(frame, series)
        top += _HEAD + height + _GAP
    if chart.x.label:
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        yield f'<text x="{middle:.0f}" y="{top + _FOOT - 6:.0f}" class="middle">{escape(chart.x.label)}</text>'


_EVENT_HEIGHT = 9


def _axes(frame: _Frame, *, is_last: bool) -> Iterator[str]:
    right, bottom = _WIDTH - _RIGHT, frame.top + frame.height
    for value, name in frame.y.named(_TICKS_UP):
        y = frame.up(value)
        yield f'<path d="M{_LEFT} {y:.1f}H{right}" class="grid"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="end">{escape(name)}</text>'
    yield f'<path d="M{_LEFT} {frame.top:.0f}V{bottom:.0f}H{right}" class="axis"/>'
    if is_last:
        for value, name in frame.x.named(_TICKS_ACROSS):
            x = frame.across(value)
            yield f'<path d="M{x:.1f} {bottom:.0f}v4" class="axis"/>'
            yield f'<text x="{x:.1f}" y="{bottom + 17:.0f}" class="middle">{escape(name)}</text>'


def _series(frame: _Frame, series: ChartSeries) -> Iterator[str]:
    known = [
        (point, spread)
        for point, spread in zip(series.points, series.spread or [0.0] * len(series.points), strict=True)
        if all(map(math.isfinite, point))
    ]
    hue = _hue(series)
    for (x, y), spread in known:
        if spread:
            low, high = frame.point((x, y - spread)), frame.point((x, y + spread))
            yield f'<path d="M{low}L{high}" class="line {hue}"/>'
    if series.is_connected:
        line = " ".join(_thinned([frame.point(point) for point, _ in known]))
        dashed = " dashed" if series.marker else ""
        yield f'<polyline points="{line}" class="line {hue}{dashed}"/>'
    elif not any(spread for _, spread in known):
        for point, _ in known:
            across, up = frame.point(point).split(",")
            yield f'<circle cx="{across}" cy="{up}" r="3.5" class="dot {hue}"/>'


def _bars(frame: _Frame, series: ChartSeries) -> Iterator[str]:
    width = max(1.0, (_WIDTH - _LEFT - _RIGHT) / max(1, len(series.points)) - 2)
    for x, y in series.points:
        top = frame.up(y)
        left = frame.across(x) - width / 2
        height = frame.top + frame.height - top
        yield (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" class="dot {_hue(series)}"/>'
        )


def _thinned(places: Sequence[str]) -> Iterator[str]:
    """Yield the first, the lowest, the highest and the last point of each pixel column, in their order."""
    for _, group in groupby(places, lambda place: place.partition(".")[0]):
        column = list(group)
        if len(column) < 4:
            yield from column
            continue
        heights = [float(place.partition(",")[2]) for place in column]
        kept = {0, len(column) - 1, heights.index(min(heights)), heights.index(max(heights))}
        yield from (column[index] for index in sorted(kept))


def _hue(series: ChartSeries) -> str:
    if series.color is None:
        return "ink"
    return (
        "gray" if series.color == GRAY or series.color not in COLORS else f"hue{COLORS.index(series.color)}"
    )


def _legend(chart: Chart) -> list[tuple[str, str]]:
    """Return the name and the classes of each line, and the notes without classes; empty for a single line."""
    entries: dict[str, str] = {}
    for panel in chart.panels:
        for each in panel.series:
            if each.label:
                dashed = " dashed" if each.marker and each.is_connected else ""
                entries.setdefault(each.label, f"line {_hue(each)}{dashed}")
        if panel.events and panel.events_label:
            entries.setdefault(panel.events_label, "event")
    if len(entries) < 2 and not chart.notes:
        return []
    return [*entries.items(), *((note, "") for note in chart.notes)]


def _legend_places(legend: Sequence[tuple[str, str]]) -> list[tuple[float, int]]:
    """Return x and row of each entry."""
    places: list[tuple[float, int]] = []
    x, row = float(_LEFT), 0
    for label, _ in legend:
        width = _SAMPLE + 6 + _LETTER * len(label) + 18
        if x + width > _WIDTH and x > _LEFT:
            x, row = float(_LEFT), row + 1
        places.append((x, row))
        x += width
    return places


def _legend_rows(legend: Sequence[tuple[str, str]]) -> int:
    return 1 + _legend_places(legend)[-1][1] if legend else 0


def _place_legend(legend: Sequence[tuple[str, str]], top: float) -> Iterator[str]:
    for (label, look), (x, row) in zip(legend, _legend_places(legend), strict=True):
        y = top + row * _LEGEND + 8
        if look:
            yield f'<path d="M{x:.0f} {y:.0f}h{_SAMPLE}" class="{look}"/>'
        yield f'<text x="{x + _SAMPLE + 6:.0f}" y="{y + 4:.0f}">{escape(label)}</text>'
