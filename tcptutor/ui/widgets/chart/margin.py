"""Figures in the margin right of the time axis: numbers aligned on their decimal points, dim words behind them.

◂ 39.2  measured
   9.02 mean
 126    mean
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isnan
from typing import NamedTuple

from tcptutor.figures.lines import MUTED, TEXT, Line, Piece
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.chart.scene import WINDOW, GuideLine, Kind, Scene

EDGE_KINDS: tuple[Kind, ...] = ("mean", "expected", "you")
"""Kinds marked only at the right edge: a line through the data would hide it, or be hidden."""

_FIGURE = re.compile(r"(\d+)([.\d]*k?)(?: (.*))?")
"""Digits before the decimal point, the rest of the number, and its word."""
_WHOLE = 3
"""Least columns before the decimal point, enough for 100 %."""


class Column(NamedTuple):
    """Widths that the numbers of a panel share."""

    whole: int = _WHOLE
    """Columns before the decimal point."""
    decimals: int = 0
    """Columns from the decimal point on."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> Column:
        """Return the widths for texts like "9.02 mean"."""
        numbers = [found for text in texts if (found := _FIGURE.fullmatch(text))]
        return cls(
            max([_WHOLE, *(len(number[1]) for number in numbers)]),
            max((len(number[2]) for number in numbers), default=0),
        )

    def line(self, text: str, style: str, sign: str = "") -> Line:
        """Return the figure in its style after a sign; a text without number follows the sign."""
        found = _FIGURE.fullmatch(text)
        if found is None:
            return Line.of((f"{sign:<2}{text}"[: axes.MARGIN], style))
        number, word = f"{found[1]:>{self.whole}}{found[2]}", found[3] or ""
        aligned = f"{number:<{self.whole + self.decimals}} "
        if len(aligned) + len(word) + 2 > axes.MARGIN:
            aligned = f"{number} "
        pieces: list[Piece] = [(f"{sign:<2}", style if sign else TEXT), (aligned, style), (word, MUTED)]
        line = Line.of(*pieces)
        return line.fit(min(line.width, axes.MARGIN))


def column_of(scene: Scene) -> Column:
    """Return the widths that the figures right of the chart and of its strips share."""
    marks = (tick_text(scene, each) for each in edge_marks(scene)) if scene.flows < 2 else ()
    return Column.of([*marks, *(each.summary for each in scene.series.values())])


def edge_marks(scene: Scene) -> list[GuideLine]:
    """Return the marks at the right edge by importance; during a run, include the flow's latest value."""
    marks = [each for kind in EDGE_KINDS if (each := scene.reference(kind)) and each.value <= scene.top]
    if not scene.ended and scene.flows < 2 and scene.curves:
        latest = next((value for value in reversed(scene.curves[0].last) if not isnan(value)), None)
        if latest is not None and latest <= scene.top:
            marks.insert(0, GuideLine("now", "now", ((scene.until, latest),)))
    return marks


def tick_text(scene: Scene, reference: GuideLine) -> str:
    """Return value and name of a tick."""
    name = reference.name.split()[0]
    if reference.kind == "you" and scene.quantity == WINDOW:  # no number that the student typed
        return name
    return f"{axes.short_figure(reference.value)} {name}"
