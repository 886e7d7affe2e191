"""Axes before a run: what the page asks about over time, and a ruler, both with the prediction as it is typed.

you           ◆                        2.5
Mbit/s  0     2.5      5      7.5      10
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tcptutor.base import units
from tcptutor.course.activities.run import ChartName
from tcptutor.course.measures import MEASURES, MeasureName
from tcptutor.figures.axes import round_ticks, rounded_up
from tcptutor.figures.lines import MUTED, TEXT, Line
from tcptutor.spec import Experiment
from tcptutor.ui.widgets.chart import axes, chart
from tcptutor.ui.widgets.chart.scene import GuideLine, Scene

_YOU = "◆"
_RULER_LINES = 2
_LOG_FROM = 2000.0
"""End of an axis from which the ruler is logarithmic: the field's unit is much smaller than what the link carries."""
_DECADES = 3
"""Powers of ten on a logarithmic ruler."""
_SHORT = 41
"""Columns of the ruler in a line."""
_ROOM = 1.1
"""Axis end as a multiple of the largest known value."""


class Guess(NamedTuple):
    """The student's prediction before the run."""

    measure: MeasureName
    value: float | None
    """In the base unit; None as long as there is no number."""
    unit: str
    """Unit of the field."""


def lines(
    experiment: Experiment, charted: ChartName, guess: Guess | None, width: int, height: int
) -> list[Line]:
    """Return at most `height` lines: the chart's axes if it shows what is predicted, and the ruler."""
    if guess is None or width < axes.GUTTER + axes.MARGIN + 10:
        return []
    scale = _Scale.of(experiment, guess)
    if scale is None or height < _RULER_LINES:
        return []
    ruler = _ruler(scale, guess, width)
    rows = min(height - _RULER_LINES - 3, 14)
    if charted != guess.measure or rows < chart.MIN_HEIGHT - 2:
        return ruler
    scene = _scene(experiment, scale, guess)
    return [chart.title(scene, width), *chart.render(scene, width, rows - 1, False), Line(), *ruler]


def one_line(experiment: Experiment, guess: Guess) -> tuple[str, str, str] | None:
    """Return the ruler before the mark, the mark, and the ruler after it; None without number or scale.

    0 ├───────◆─────────────┤ 25 Mbit/s
    """
    scale = _Scale.of(experiment, guess)
    if scale is None or guess.value is None:
        return None
    at = scale.column(guess.value / scale.factor, _SHORT)
    before, after = "─" * at, "─" * (_SHORT - 1 - at)
    return f"{scale.start:g} ├{before}", _YOU, f"{after}┤ {scale.top:g} {scale.unit}"


class _Scale(NamedTuple):
    """Axis of the predicted quantity, from 0 to `top` in units of `factor`."""

    top: float
    factor: float
    unit: str
    limits: tuple[tuple[str, float], ...]
    """Known limits of the path with their names, in units of `factor`."""

    @classmethod
    def of(cls, experiment: Experiment, guess: Guess) -> _Scale | None:
        """Return the scale; None if neither path nor prediction gives it an end."""
        path, value = experiment.path, guess.value or 0.0
        match MEASURES[guess.measure].kind:
            case "rate":
                factor = units.parse(f"1 {guess.unit}", "rate")
                known = [("link", path.rate)] if path.rate else []
            case "time":
                factor = units.parse(f"1 {guess.unit}", "time")
                known = [("path", path.delay)] if path.delay else []
                if known and path.rate and path.queue:
                    known.append(("full queue", path.delay + path.queue * 8 / path.rate))
            case _:
                return None
        largest = max([value, *(limit for _, limit in known)])
        if not largest:
            return None
        limits = tuple((name, limit / factor) for name, limit in known)
        return cls(rounded_up(_ROOM * largest / factor), factor, guess.unit, limits)

    @property
    def start(self) -> float:
        """Left end of the ruler: 0 unless it is logarithmic."""
        if self.top < _LOG_FROM:
            return 0.0
        return 10.0 ** (math.floor(math.log10(self.top)) - _DECADES)

    def column(self, value: float, across: int) -> int:
        """Return the column of a value on the ruler."""
        share = value / self.top
        if self.top >= _LOG_FROM:
            share = math.log(max(value, self.start) / self.start) / math.log(self.top / self.start)
        return min(across - 1, max(0, round(share * (across - 1))))

    def ticks(self, number: int) -> list[float]:
        if self.top < _LOG_FROM:
            return round_ticks(self.top, max(2, number))
        return [self.start * 10**power for power in range(_DECADES + 1)]


def _ruler(scale: _Scale, guess: Guess, width: int) -> list[Line]:
    across = axes.columns(width)
    cells = ["─"] * across
    scale_text = [" "] * across
    for value in scale.ticks(across // 9):
        at = scale.column(value, across)
        name = f"{value:g}"
        start = max(0, min(at - len(name) // 2, across - len(name)))
        if not "".join(scale_text[max(0, start - 1) : start + len(name) + 1]).strip():
            scale_text[start : start + len(name)] = name
            cells[at] = "┴"
    styles = [chart.AXIS] * across
    figure = ""
    if guess.value is not None:
        at = scale.column(guess.value / scale.factor, across)
        cells[at], styles[at] = _YOU, "you"
        figure = f" {guess.value / scale.factor:.4g} {scale.unit}"
    you = Line.of(("you".ljust(axes.GUTTER), TEXT), *zip(cells, styles, strict=True), (figure, "you"))
    return [
        you.fit(min(width, you.width)),
        Line.of((scale.unit.ljust(axes.GUTTER), MUTED), ("".join(scale_text), MUTED)),
    ]


def _scene(experiment: Experiment, scale: _Scale, guess: Guess) -> Scene:
    seconds, warmup = experiment.seconds, experiment.flows.warmup
    guides = [GuideLine(name, "limit", ((0.0, value), (seconds, value))) for name, value in scale.limits]
    if guess.value is not None:
        said = guess.value / scale.factor
        guides.append(GuideLine("you", "you", ((warmup, said), (seconds, said))))
    return Scene(
        seconds=seconds,
        warmup=warmup,
        until=0.0,
        quantity=f"{'throughput' if guess.measure == 'throughput' else 'RTT'}, {scale.unit}",
        top=scale.top,
        curves=(),
        band=None,
        references=tuple(guides),
        series={},
    )
