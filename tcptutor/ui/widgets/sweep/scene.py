"""Scene of a sweep to draw, in places of the axis and figures of a single unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tcptutor.base import units
from tcptutor.base.confidence import Summary
from tcptutor.course.activities.predict import Predict
from tcptutor.course.measures import MEASURES, expected_knee, knee
from tcptutor.course.page_sweep import CurveLine, summaries
from tcptutor.figures.axes import rounded_down, rounded_up
from tcptutor.study.live_sweep import LiveSweep
from tcptutor.ui.widgets.chart.axes import rate_unit

_ORIGIN_SHARE = 0.35
"""Share of the last value below which the first lets a linear axis start at 0, to show proportionality."""
_LOG_RATIO = 10.0
"""Ratio of values from which the vertical axis is logarithmic if the horizontal axis is: power laws become straight."""
_MAX_LINK_RATIO = 1.6
"""A link that carries more than this multiple of all other values is not drawn: it would flatten the rest."""


@dataclass(frozen=True)
class OwnGuess:
    """The student's prediction of the curve."""

    text: str
    """As typed, with unit."""
    knee: float | None
    """Predicted knee as a place on the axis, 0 to 1; None if a value was predicted."""
    at: float | None = None
    """Place on the axis of a predicted value."""
    value: float = 0.0
    """In the unit of the chart."""


class AxisPlaces:
    """Mapping between values and places on the axis: 0 at its left end, 1 at its right end."""

    def __init__(self, spacing: str, xs: Sequence[float]) -> None:
        self._log = spacing == "log"
        scaled = [self._scaled(x) for x in xs]
        low, high = scaled[0], scaled[-1]
        if spacing == "linear" and 0 <= low < _ORIGIN_SHARE * high:
            self._low, self._high = 0.0, high
        else:
            margin = 0.5 * (high - low) / max(1, len(xs) - 1) if spacing == "names" else 0.06 * (high - low)
            self._low, self._high = low - margin, high
        # The last value is not at the edge: its point has room on both sides.
        self._high += 0.04 * (self._high - self._low)

    def of(self, x: float) -> float | None:
        """Return the place of `x`; None outside the axis."""
        if self._log and x <= 0:
            return None
        at = (self._scaled(x) - self._low) / (self._high - self._low)
        return at if -1e-9 <= at <= 1 + 1e-9 else None

    def value(self, at: float) -> float:
        """Return the value at a place."""
        scaled = self._low + at * (self._high - self._low)
        return math.exp(scaled) if self._log else scaled

    def _scaled(self, x: float) -> float:
        return math.log(x) if self._log else x


@dataclass(frozen=True)
class CurveScene:
    """Moment of a sweep."""

    quantity: str
    """Quantity of the vertical axis, with unit."""
    axis: str
    """Name of the horizontal axis, with unit."""
    top: float
    places: tuple[float, ...]
    """Places of the axis' values, 0 to 1."""
    ticks: tuple[str, ...]
    measured: tuple[tuple[float, float, float] | None, ...]
    """Minimum, mean and maximum at each value; None without measurements."""
    working: frozenset[int]
    lines: tuple[CurveLine, ...]
    published: tuple[tuple[float, float], ...]
    """Place and value."""
    own: OwnGuess | None
    knee: int | None
    """Index of the measured knee, once the sweep is complete."""
    expected_knee: int | None
    limits: tuple[str, ...]
    """Cause that limited the runs at each value, in a word; empty without measurements."""
    spacing: AxisPlaces
    bottom: float = 0.0
    """Lower end of the vertical axis; above 0, the axis is logarithmic."""
    suspect: frozenset[int] = frozenset()
    """Indexes of the values with suspect runs."""

    def height(self, value: float) -> float:
        """Return the height of a value on the vertical axis, 0 to 1."""
        if not self.bottom:
            return value / self.top
        return math.log(max(value, self.bottom) / self.bottom) / math.log(self.top / self.bottom)

    def trajectory(self, line: CurveLine, steps: int) -> list[tuple[float, float]]:
        """Return places and values of a model's line, in about `steps` steps from left to right.

        Interpolates by a power law between values of the axis, exact for lines proportional to the axis or to
        its inverse.
        """
        points = list(zip(self.places, line.values, strict=True))
        curve = points[:1]
        for (at, y), (at2, y2) in pairwise(points):
            number = max(1, round((at2 - at) * steps))
            for step in range(1, number + 1):
                position = at + (at2 - at) * step / number
                curve.append((position, self._between(at, y, at2, y2, position)))
        return curve

    def _between(self, at: float, y: float, at2: float, y2: float, position: float) -> float:
        x, x2, x3 = map(self.spacing.value, (at, at2, position))
        if min(x, x2, y, y2) <= 0 or x == x2:
            return y + (y2 - y) * (position - at) / (at2 - at)
        return float(y * (x3 / x) ** (math.log(y2 / y) / math.log(x2 / x)))


_AXIS_REACH = 2.0
"""Predictions up to this multiple of the data extend the axis."""
_CAUSE_WORDS = {
    "application": "program",
    "receive-window": "window",
    "send-buffer": "buffer",
    "random-loss": "loss",
    "bottleneck": "link",
    "unexplained": "?",
}


def scene_of(live: LiveSweep, predict: Predict | None, guess: tuple[str, float] | None) -> CurveScene:
    """Return the scene to draw; `guess` is the student's prediction as typed and in base units."""
    sweep = live.activity
    measure = MEASURES[sweep.measure]
    by_value = summaries(sweep, live.cells)
    place = AxisPlaces(sweep.spacing, sweep.xs)
    published_points = sweep.published.points() if sweep.published else []
    published = [(at, y) for x, y in published_points if (at := place.of(x)) is not None]
    at_value = predict is not None and bool(predict.at) and guess is not None
    highest = max(
        [
            *(max(live.measured[at]) for at, each in enumerate(by_value) if each),
            *(max(line.values) for line in live.models if line.kind == "formula"),
            *(y for _, y in published),
        ],
        default=0.0,
    )
    if at_value and guess and (not highest or guess[1] <= _AXIS_REACH * highest):
        highest = max(highest, guess[1])  # one further off is named at the chart's edge
    lines = [
        line
        for line in live.models
        if line.kind == "formula" or not highest or max(line.values) <= _MAX_LINK_RATIO * highest
    ]
    highest = max([highest, *(max(line.values) for line in lines)], default=0.0) or 1.0
    scale, unit = _unit(measure.kind, highest)
    top = 1.0 if measure.kind == "number" and highest <= 1 else rounded_up(1.04 * highest / scale)
    lowest = [
        *(min(live.measured[at]) for at, each in enumerate(by_value) if each),
        *(value for line in lines for value in line.values),
        *(y for _, y in published),
        *([guess[1]] if at_value and guess else []),
    ]
    is_complete, asks_knee = live.complete, predict is not None and predict.knee
    return CurveScene(
        quantity=f"{measure.label}, {unit}" if unit else measure.label,
        axis=_axis(sweep.axis, _common_unit(sweep.values)),
        top=top,
        bottom=_bottom(sweep.spacing, [value / scale for value in lowest], top),
        places=tuple(at if (at := place.of(x)) is not None else 0.0 for x in sweep.xs),
        ticks=_ticks(sweep.values),
        measured=tuple(_spread(live.measured[at], each, scale) for at, each in enumerate(by_value)),
        suspect=frozenset(live.suspect),
        working=frozenset(live.working),
        lines=tuple(
            CurveLine(name=line.name, kind=line.kind, values=tuple(value / scale for value in line.values))
            for line in lines
        ),
        published=tuple((at, y / scale) for at, y in published),
        own=_guess(live, predict, guess, place, scale),
        knee=_knee_without_suspects([each.mean if each else None for each in by_value], live)
        if is_complete and asks_knee
        else None,
        expected_knee=_expected_knee(lines, live),
        limits=tuple(_limits(live, at) for at in range(len(sweep.values))),
        spacing=place,
    )


def _bottom(spacing: str, values: Sequence[float], top: float) -> float:
    """Return the lower end of a logarithmic vertical axis; 0 for a linear axis."""
    least = min(values, default=0.0)
    if spacing != "log" or least <= 0 or top <= _LOG_RATIO * least:
        return 0.0
    return rounded_down(least / 1.04)


def _knee_without_suspects(values: Sequence[float | None], live: LiveSweep) -> int | None:
    sweep, suspect = live.activity, live.suspect
    trusted = [(at, value) for at, value in enumerate(values) if value is not None and at not in suspect]
    if sweep.spacing == "names" or None in values or not trusted:
        return None
    return trusted[knee([value for _, value in trusted], sweep.share, MEASURES[sweep.measure].is_cost)][0]


def _expected_knee(lines: Sequence[CurveLine], live: LiveSweep) -> int | None:
    sweep = live.activity
    if not lines or lines[0].kind != "formula" or sweep.spacing == "names":
        return None
    return expected_knee(lines[0].values, sweep.share, MEASURES[sweep.measure].is_cost)


def _guess(
    live: LiveSweep, predict: Predict | None, guess: tuple[str, float] | None, place: AxisPlaces, scale: float
) -> OwnGuess | None:
    if predict is None or guess is None:
        return None
    text, value = guess
    if predict.knee:
        return OwnGuess(text, knee=place.of(value))
    sweep = live.activity
    if predict.at not in sweep.values:
        return None
    return OwnGuess(text, None, place.of(sweep.xs[sweep.values.index(predict.at)]), value / scale)


def _spread(
    figures: Sequence[float], summary: Summary | None, scale: float
) -> tuple[float, float, float] | None:
    if summary is None:
        return None
    return min(figures) / scale, summary.mean / scale, max(figures) / scale


def _limits(live: LiveSweep, at: int) -> str:
    causes = {cell.limited_by for cell in live.counted_cells(at)}
    return "/".join(sorted(_CAUSE_WORDS.get(cause, cause) for cause in causes))


def _unit(kind: str, highest: float) -> tuple[float, str]:
    match kind:
        case "rate":
            return rate_unit(highest)
        case "time":
            return (1.0, "s") if highest >= 1 else (1e-3, "ms")
        case "ratio":
            return 0.01, "%"
        case _:
            return 1.0, ""


def _axis(name: str, unit: str) -> str:
    return f"{name.replace('_', ' ')}, {unit}" if unit else name.replace("_", " ")


def _common_unit(values: Sequence[str]) -> str:
    units_used = {_split(value)[1] for value in values if _split(value)[0] != "0"}
    return units_used.pop() if len(units_used) == 1 else ""


def _ticks(values: Sequence[str]) -> tuple[str, ...]:
    if _common_unit(values):
        return tuple(_split(value)[0] for value in values)
    return tuple(values)


def _split(value: str) -> tuple[str, str]:
    number, _, unit = value.strip().partition(" ")
    if unit:
        return number, unit
    digits = value.rstrip("%‰" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/")
    return (digits, value[len(digits) :]) if digits.replace(".", "").isdigit() else (value, "")


def format_figure(value: float, kind: str) -> str:
    """Format a figure with its unit, in three digits."""
    return units.write(float(f"{value:.3g}"), kind)
