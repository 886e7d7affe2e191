"""Small Braille pictures of the home screen: a sawtooth from theory, and the throughput of the last run."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tcptutor.figures import braille
from tcptutor.figures.braille import Layer
from tcptutor.theory.trajectory import Bottleneck, Source, trajectories

_SAWTOOTH = Bottleneck(rate=10e6, rtt=0.06, queue=60_000)
_SECONDS = 26.0
_FROM_S = 2.0
"""Start of what is drawn, s: slow start would take most of the height."""


def sawtooth(width: int, height: int) -> Content:
    """Draw cwnd of a Reno flow and the BDP below it, in `width` by `height` cells.

    The flow has a bottleneck of 10 Mbit/s, an RTT of 60 ms and a queue of 60 kB.
    """
    flow = trajectories(_SAWTOOTH, [Source()], _SECONDS)[0]
    points = [point for point in zip(flow.t, flow.cwnd, strict=True) if point[0] >= _FROM_S]
    # Columns and rows of dots, from (0, 0): the trajectory fills the height.
    across, down = braille.ACROSS * width, braille.DOWN * height
    top, bottom = max(cwnd for _, cwnd in points), min(cwnd for _, cwnd in points) * 0.85
    line = Layer("$flow-1", across, down)
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


def throughput(points: Sequence[tuple[float, float]], width: int, height: int) -> Content:
    """Draw throughput over time as an area, from zero to its maximum.

    Args:
        points: (s, bit/s), in order; at least one.
        width: Columns of cells.
        height: Rows of cells.
    """
    across, down = braille.ACROSS * width, braille.DOWN * height
    end, top = points[-1][0], max(rate for _, rate in points)
    area = Layer("$flow-1", across, down)
    at = 0
    for column in range(across):
        until = end * (column + 1) / across
        found = []
        while at < len(points) and points[at][0] <= until:
            found.append(points[at][1])
            at += 1
        rate = sum(found) / len(found) if found else points[min(at, len(points) - 1)][1]
        area.span(column, 0, max(0, round(rate / top * down) - 1) if top else 0)
    return _drawn([area], width, height)


def _drawn(layers: Sequence[Layer], width: int, height: int) -> Content:
    rows = braille.compose([], layers, width, height)
    lines = [
        Content.assemble(*((cell[0], cell[1]) if cell else " " for cell in row)).simplify() for row in rows
    ]
    return Content("\n").join(lines)
