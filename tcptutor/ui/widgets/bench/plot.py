"""The picture of congestion windows as lines of characters, drawn by plotext.

plotext takes a third of a second to import: it comes in when a chart is first drawn, or by `preload`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any

from tcptutor.ui.widgets.bench import axis, traces
from tcptutor.ui.widgets.bench.traces import Point, Points

EXPECTED, COURSE, MEAN = "╌", "·", "━"
"""Shapes of their own, so that they can be told from the flows' braille without colours."""
AXIS, FLOW, FAINT, MODEL, TIMELY = "axis", "flow", "faint", "expected", "course"
"""What a cell of the chart shows; faint are the single flows when their mean is what counts."""


_figure_in_use = threading.Lock()
"""plotext has one figure, and the chart of a page that was left may still be drawn."""


@dataclass(frozen=True)
class Line:
    """One line of the picture: a character and what it shows for each cell."""

    text: str
    kinds: tuple[str, ...]

    def pieces(self) -> Iterator[tuple[str, str]]:
        """Runs of cells of one kind: (kind, text)."""
        start = 0
        for kind, group in groupby(self.kinds):
            end = start + sum(1 for _ in group)
            yield kind, self.text[start:end]
            start = end

    def changed(self, before: Line) -> tuple[int, int] | None:
        """From where to where it differs from what it was; None if it does not."""
        differs = [
            index
            for index, now in enumerate(zip(self.text, self.kinds, strict=True))
            if index >= len(before.text) or now != (before.text[index], before.kinds[index])
        ]
        return (differs[0], differs[-1] + 1) if differs else None


def preload() -> None:
    """Import plotext now, say in a thread."""
    import plotext  # noqa: F401, PLC0415


def draw(
    flows: Sequence[Points],
    size: tuple[int, int],
    seconds: float,
    top: float,
    expected: float | None,
    course: Sequence[Point] = (),
) -> list[Line]:
    """The flows (time in s, segments) on axes of 0 to `seconds` and 0 to `top`, over what models expect of them.

    expected: their mean; course: their mean over time. More than one flow: their mean is drawn over them, since it is
    what a model speaks about.
    """
    with _figure_in_use:
        if len(flows) < 2:
            return [_line(text) for text in _lines(flows, size, seconds, top, expected, course=course)]
        lines = _lines(flows, size, seconds, top, expected)
        mean = traces.mean(flows, seconds, size[0])
        over = _lines([mean], size, seconds, top, expected, MEAN, course)
    return [_line(text, above) for text, above in zip(lines, over, strict=True)]


def _line(text: str, above: str = "") -> Line:
    cells: list[str] = []
    kinds: list[str] = []
    for under, over in zip_longest(text, above, fillvalue=" "):
        cell = over if over in (MEAN, EXPECTED, COURSE) else under
        cells.append(cell)
        if cell == MEAN:
            kinds.append(FLOW)
        elif _measured(cell):
            kinds.append(FAINT if above else FLOW)
        elif cell == EXPECTED:
            kinds.append(MODEL)
        elif cell == COURSE:
            kinds.append(TIMELY)
        else:
            # A blank belongs to what stands before it: every change of style is ten bytes to the terminal.
            kinds.append(kinds[-1] if cell == " " and kinds else AXIS)
    return Line("".join(cells), tuple(kinds))


def _measured(cell: str) -> bool:
    """Whether it is one of the braille patterns that a flow is drawn with."""
    return "\u2801" <= cell <= "\u28ff"


def _lines(
    flows: Sequence[Points],
    size: tuple[int, int],
    seconds: float,
    top: float,
    expected: float | None,
    marker: str = "braille",
    course: Sequence[Point] = (),
) -> tuple[str, ...]:
    width, height = size
    heights = traces.ticks(top, max(height // 4, 2), whole=True)
    numbers = [f"{value:g}" for value in heights]
    # plotext sets the axis beside the longest number: blanks before it bring it to where the gutter ends.
    blank = max(0, axis.GUTTER - 1 - max(map(len, numbers)))
    figure = _figure(width - blank, height)
    times = traces.ticks(seconds, max(width // 12, 2))
    labels = [f"{t:g}" for t in times]
    labels[-1] += " s"
    figure.ruler("x", "lower").lim(0, seconds).ticks(times, labels)
    figure.ruler("y", "left").lim(0, top).ticks(heights, numbers)
    if course:
        t, cwnd = zip(*course, strict=True)
        cut = [min(value, top) for value in cwnd]
        figure.draw(figure.signal(list(t), cut, marker=COURSE).lines(True))
    if expected is not None:
        # Flows are drawn over it, so the broken line shows only where nothing was measured.
        figure.draw(figure.signal([0, seconds], [expected, expected], marker=EXPECTED).lines(True))
    for points in flows:
        if points:
            t, cwnd = zip(*points, strict=True)
            cut = [min(value, top) for value in cwnd]
            figure.draw(figure.signal(list(t), cut, marker=marker).lines(True))
    text: str = figure.build().string(colorless=True)
    return tuple(f"{'':{blank}}{line}".ljust(width)[:width] for line in text.split("\n")[:height])


def _figure(width: int, height: int) -> Any:
    import plotext  # noqa: PLC0415

    plotext.terminal.limit(False, False)  # our widget knows its size; plotext would ask the terminal
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, height)
    figure.axes(False, axis="x", side="upper")
    figure.axes(False, axis="y", side="right")
    return figure
