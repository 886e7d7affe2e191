"""Small Braille pictures of the home screen: a sawtooth from theory, and the throughput of the last run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from textual.content import Content

from tcptutor.base import units
from tcptutor.figures import braille
from tcptutor.figures.braille import Layer
from tcptutor.theory.trajectory import Bottleneck, Source, trajectories

_SAWTOOTH = Bottleneck(rate=10e6, rtt=0.06, queue=60_000)
_SECONDS = 26.0
_FROM_S = 2.0
"""Start of the drawing, s: slow start would take most of the height."""

_ROOM = 1.1
"""Upper end of the last run's chart, as a multiple of the highest value."""
_LEAST_LABEL = 4
"""Columns of its labels."""


def sawtooth(width: int, height: int) -> Content:
    """Draw cwnd of a Reno flow and the BDP below it, in `width` by `height` cells.

    The flow has a bottleneck of 10 Mbit/s, an RTT of 60 ms and a queue of 60 kB.
    """
    flow = trajectories(_SAWTOOTH, [Source()], _SECONDS)[0]
    points = [point for point in zip(flow.t, flow.cwnd, strict=True) if point[0] >= _FROM_S]
    # Columns and rows of dots, from (0, 0): the trajectory fills the height.
    across, down = braille.ACROSS * width, braille.DOWN * height
    top, bottom = max(cwnd for _, cwnd in points), min(cwnd for _, cwnd in points) * 0.85
    line = Layer("$secondary", across, down)
    line.line(
        [
            (
                (t - _FROM_S) / (_SECONDS - _FROM_S) * (across - 1),
                (cwnd - bottom) / (top - bottom) * (down - 1),
            )
            for t, cwnd in points
        ]
    )
    return _drawn([line], width, height)


def throughput(points: Sequence[tuple[float, float]], link: float | None, width: int, height: int) -> Content:
    """Draw throughput over time as a line from zero, with the link's rate as a rule and labels for both.

    A flow that used less than a quarter of the link reaches up to its own maximum. A single row has no labels.

    Args:
        points: (s, bit/s), in order; at least one.
        link: Rate of the link, bit/s; None for an unlimited link.
        width: Columns of cells, including labels.
        height: Rows of cells.
    """
    highest = max(rate for _, rate in points)
    mark, name = (link, "link") if link and highest >= link / 4 else (highest, "")
    name = name or units.rate(float(f"{highest:.2g}"))
    gutter = max(len(name), _LEAST_LABEL) + 2 if height > 1 else 0
    across, down = braille.ACROSS * (width - gutter), braille.DOWN * height
    end, top = points[-1][0] or 1.0, (max(mark, highest) or 1.0) * (_ROOM if height > 1 else 1.0)
    scale = (down - 1) / top
    rule = Layer("$text-muted", across, down, braille.RULE)
    if name == "link" and height > 1:
        rule.line([(0, mark * scale), (across - 1, mark * scale)])
    line = Layer("$flow-1", across, down)
    line.line([(t / end * (across - 1), rate * scale) for t, rate in _averaged(points, end, across)])
    chart = _drawn([rule, line], width - gutter, height)
    if not gutter:
        return chart
    marked = height - 1 - round(mark * scale) // braille.DOWN
    labels = {height - 1: "0", marked: name}
    rows = [
        Content.styled(f"{labels.get(row, ''):>{gutter - 2}} {'┤' if row in labels else '│'}", "$text-muted")
        + drawn
        for row, drawn in enumerate(chart.split("\n", allow_blank=True))
    ]
    return Content("\n").join(rows)


def _averaged(
    points: Sequence[tuple[float, float]], end: float, columns: int
) -> Iterator[tuple[float, float]]:
    """Yield a point per column of dots: time and mean rate of the column's points."""
    for column, group in groupby(points, lambda point: min(columns - 1, int(point[0] / end * columns))):
        rates = [rate for _, rate in group]
        yield (column + 0.5) / columns * end, sum(rates) / len(rates)


def _drawn(layers: Sequence[Layer], width: int, height: int) -> Content:
    rows = braille.compose([], layers, width, height)
    lines = [
        Content.assemble(*((cell[0], cell[1]) if cell else " " for cell in row)).simplify() for row in rows
    ]
    return Content("\n").join(lines)
