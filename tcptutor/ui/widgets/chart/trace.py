"""Traces of measured values on a canvas of dots: a line, or a range around the mean for dense data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from math import isnan

from tcptutor.figures.braille import Layer
from tcptutor.ui.widgets.chart.history import STEPS, interpolate
from tcptutor.ui.widgets.chart.scene import FlowCurve

Span = tuple[int, int, int]
"""Column, lowest dot and highest dot."""

_TALL_DOTS, _TALL_SHARE = 3, 0.1
"""Dots, and share of the chart's height, from which a column looks like part of a block."""

_AROUND = 8
"""Columns on each side over which tall columns are counted and the mean is taken."""

_DENSE = 0.4
"""Share of tall columns above which swings cannot be distinguished."""

_SHORTEST = 24
"""Columns that a stretch of such swings has at least."""


def draw(layer: Layer, spans: Sequence[Span]) -> None:
    """Draw the columns as a connected line."""
    before: Span | None = None
    for column, low, high in spans:
        first, last = low, high
        if before is not None:
            at, lowest, highest = before
            if column - at > 1:
                layer.line([(at, (lowest + highest) / 2), (column, (low + high) / 2)])
            else:
                first = min(low, highest + 1)
                last = max(high, lowest - 1)
        layer.span(column, first, last)
        before = column, low, high


def draw_range(line: Layer, area: Layer, curve: FlowCurve, top: float) -> None:
    """Draw a line where swings can be distinguished, otherwise their range as `area` and their mean as `line`."""
    spans = list(spans_of(curve, top, line.width, line.height))
    dense = dense_columns(spans, line.height)
    means = _means(curve, line.width)
    for is_dense, group in groupby(spans, key=lambda span: span[0] in dense):
        stretch = list(group)
        if is_dense:
            for column, low, high in stretch:
                area.span(column, low, high)
            line.line([(column, means[column] * ((line.height - 1) / top)) for column, *_ in stretch])
        else:
            draw(line, stretch)


def thin_out(line: Layer, area: Layer) -> None:
    """Move stretches of a drawn line with indistinguishable swings to `area`, and draw their middle."""
    spans = [
        (column, (bits & -bits).bit_length() - 1, bits.bit_length() - 1)
        for column, bits in enumerate(line.columns)
        if bits
    ]
    dense = dense_columns(spans, line.height)
    middles = [(low + high) / 2 if column in dense else 0.0 for column, low, high in spans]
    sums = [0.0, *accumulate(middles)]
    counts = [0, *accumulate(column in dense for column, *_ in spans)]
    points = []
    for at, (column, low, high) in enumerate(spans):
        if column in dense:
            area.span(column, low, high)
            line.columns[column] = 0
            start, end = max(0, at - _AROUND), min(len(spans), at + _AROUND + 1)
            points.append((column, (sums[end] - sums[start]) / (counts[end] - counts[start])))
    line.line(points)


def spans_of(curve: FlowCurve, top: float, width: int, dots: int) -> Iterator[Span]:
    """Yield the span of each column with measurements, cut off at the top."""
    scale = (dots - 1) / top
    for column in range(width):
        first = column * STEPS // width
        steps = slice(first, max(first + 1, (column + 1) * STEPS // width))
        low = min((value for value in curve.low[steps] if not isnan(value)), default=math.inf)
        if low < math.inf:
            high = max(value for value in curve.high[steps] if not isnan(value))
            yield column, min(dots - 1, round(low * scale)), min(dots - 1, round(high * scale))


def dense_columns(spans: Sequence[Span], dots: int) -> set[int]:
    """Return the columns of long stretches with too many tall columns to distinguish swings.

    Args:
        spans: Columns of a line.
        dots: Height of the chart.
    """
    tall, least = [], max(_TALL_DOTS, _TALL_SHARE * dots)
    lowest = highest = spans[0][1] if spans else 0
    for _, low, high in spans:
        tall.append(max(high - low, low - highest, lowest - high) >= least)
        lowest, highest = low, high
    counts, number = [0, *accumulate(tall)], len(spans)
    dense: set[int] = set()
    end = 0
    for at in range(number):
        around = counts[min(number, at + _AROUND)] - counts[max(0, at - _AROUND)]
        if around >= _DENSE * 2 * _AROUND:
            # Stretches that overlap with what is counted around them are one.
            start = end if 0 < at - end <= _AROUND else at
            dense.update(range(start, at + 1))
            end = at + 1
    stretches: set[int] = set()
    for is_dense, group in groupby(range(number), key=dense.__contains__):
        stretch = list(group)
        if is_dense and len(stretch) >= _SHORTEST:
            stretches.update(spans[at][0] for at in stretch)
    # A chart that is mostly a range is one throughout.
    return {column for column, *_ in spans} if 2 * len(stretches) > number else stretches


def _means(curve: FlowCurve, width: int) -> list[float]:
    """Return the mean around each column."""
    known = [0.0 if isnan(value) else value for value in interpolate(curve.last)]
    sums = [0.0, *accumulate(known)]
    counts = [0, *accumulate(not isnan(value) for value in interpolate(curve.last))]
    means = []
    for column in range(width):
        start = max(0, (column - _AROUND) * STEPS // width)
        end = min(STEPS, (column + _AROUND + 1) * STEPS // width)
        number = counts[end] - counts[start]
        means.append((sums[end] - sums[start]) / number if number else 0.0)
    return means
