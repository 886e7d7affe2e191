"""Axes before a run: the page's quantity over time, and a ruler, both with the prediction as typed.

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
from tcptutor.figures.lines import MUTED, STRONG, TEXT, Line
from tcptutor.spec import Experiment
from tcptutor.ui.widgets.chart import axes, chart, edge
from tcptutor.ui.widgets.chart.edge import Keys
from tcptutor.ui.widgets.chart.scene import WINDOW, GuideLine, Scene

_YOU = "◆"
_LOG_FROM = 2000.0
"""End of an axis from which the ruler is logarithmic: the field's unit is much smaller than the link's rate."""
_DECADES = 3
"""Powers of ten on a logarithmic ruler."""
_SHORT = 41
"""Columns of the ruler in a line."""
_FEWEST_ROWS = 5
"""Lines of the chart's axes worth drawing."""
_CHART_LINES = 5
"""Lines of the chart besides its rows: edge, description, time axis of two lines, and a gap below."""
_CHARTED: dict[ChartName, str] = {"cwnd": WINDOW, "throughput": "throughput", "rtt": "RTT"}
_BELOW_CHART: dict[ChartName, str] = {
    "cwnd": "throughput, RTT, queue and losses",
    "throughput": "RTT, queue and losses",
    "rtt": "throughput, queue and losses",
}
_MODELS = "what the models expect, with their tolerance, and the run"
_ROOM = 1.1
"""Axis end as a multiple of the largest known value."""


class Guess(NamedTuple):
    """The student's prediction before the run."""

    measure: MeasureName
    value: float | None
    """In the base unit; None until a number is typed."""
    unit: str
    """Unit of the field."""


def frames(
    experiment: Experiment, charted: ChartName, guess: Guess | None, width: int, height: int, keys: Keys
) -> list[Line]:
    """Return the edges of verdict, chart and models, each with a line on its content after the run.

    The edge of the chart has `keys`. The chart has the axes of the predicted quantity if they fit, and the models have
    a ruler, both with the prediction as typed. If space is short, only the ruler is drawn.
    """
    if width < axes.GUTTER + axes.MARGIN + 10:
        return []
    has_tcp = experiment.total_streams > 0
    charted = charted if has_tcp else "throughput"
    scale = _Scale.of(experiment, guess) if guess is not None else None
    ruler = _ruler(scale, guess, width) if scale is not None and guess is not None else []
    asked = MEASURES[guess.measure].label if guess is not None else MEASURES["throughput"].label
    more = ", what limited it, and how far you were off" if guess is not None else ", and what limited it"
    verdict = [edge.named("verdict", width), _muted(f"the {asked}{more}", width), Line()]
    models = [edge.named("models", width), _muted(_MODELS, width), *ruler]
    below = _BELOW_CHART[charted] if has_tcp else "the queue"
    if not has_tcp:  # models and verdicts are about TCP
        verdict, models = [], ruler
    rows = height - len(verdict) - len(models) - _CHART_LINES
    about = _muted(f"over time, with {below} below", width)
    if rows < _FEWEST_ROWS:
        compact = [*verdict[:2], edge.named(_CHARTED[charted], width, keys), about, *models]
        return compact if len(compact) <= height else ruler[:height]
    if scale is not None and guess is not None and charted == guess.measure:
        scene = _scene(experiment, scale, guess)
        drawn = chart.render(scene, width, rows, True)
        title = chart.title(scene, edge.room(width, keys))
    else:
        across = axes.columns(width)
        ticks = axes.time_ticks(experiment.seconds, across)
        drawn = [Line.of((text, chart.AXIS)) for text in axes.frame(across, rows, ticks, (), True)]
        title = Line.of((_CHARTED[charted], STRONG))
    return [*verdict, edge.edge(title, width, keys), about, *drawn, Line(), *models]


def _muted(text: str, width: int) -> Line:
    return Line.of((text[:width], MUTED))


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
