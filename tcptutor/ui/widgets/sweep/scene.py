"""What is to be drawn of a sweep, in places of the axis and numbers of one unit: no cells, no colours, no widgets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tcptutor.base import units
from tcptutor.course.activities.predict import Predict
from tcptutor.course.curve import expected_knee, knee
from tcptutor.course.measures import MEASURES
from tcptutor.sweep.confidence import Summary
from tcptutor.sweep.page import CurveLine, summaries
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.ui.widgets.bench.axes import rate_unit, rounded_down, rounded_up

_ORIGIN = 0.35
"""A linear axis whose first value is below so much of its last one begins at 0: what is proportional is then seen."""
_DECADE = 10.0
"""Values that span more than this are drawn in equal ratios where the level axis is: a power law is a straight line."""
_NAMED_LINK = 1.6
"""A link that carries more than so many times all else is not drawn: it would press the rest to the ground."""


@dataclass(frozen=True)
class OwnGuess:
    """What the student predicted of the curve."""

    text: str
    """As typed, with its unit."""
    knee: float | None
    """The place on the axis, 0 to 1; None where a value was predicted."""
    at: float | None = None
    """The place on the axis at which a value was predicted."""
    value: float = 0.0
    """In the unit of the chart."""


class Places:
    """Where on the axis a value stands: 0 at its left end, 1 at its right one."""

    def __init__(self, spacing: str, xs: Sequence[float]) -> None:
        self._log = spacing == "log"
        scaled = [self._scaled(x) for x in xs]
        low, high = scaled[0], scaled[-1]
        if spacing == "linear" and 0 <= low < _ORIGIN * high:
            self._low, self._high = 0.0, high
        else:
            margin = 0.5 * (high - low) / max(1, len(xs) - 1) if spacing == "names" else 0.06 * (high - low)
            self._low, self._high = low - margin, high
        # The last value is not on the edge: a point has room at both sides.
        self._high += 0.04 * (self._high - self._low)

    def of(self, x: float) -> float | None:
        """None for what is beside the axis."""
        if self._log and x <= 0:
            return None
        at = (self._scaled(x) - self._low) / (self._high - self._low)
        return at if -1e-9 <= at <= 1 + 1e-9 else None

    def value(self, at: float) -> float:
        """What stands at a place of the axis."""
        scaled = self._low + at * (self._high - self._low)
        return math.exp(scaled) if self._log else scaled

    def _scaled(self, x: float) -> float:
        return math.log(x) if self._log else x


@dataclass(frozen=True)
class CurveScene:
    """One moment of a sweep."""

    quantity: str
    """Of the upright axis, with its unit."""
    axis: str
    """Of the level axis, with its unit."""
    top: float
    places: tuple[float, ...]
    """Of the axis' values, 0 to 1."""
    ticks: tuple[str, ...]
    """What stands at each."""
    measured: tuple[tuple[float, float, float] | None, ...]
    """At each value the least, the mean and the greatest; None where nothing was measured yet."""
    working: frozenset[int]
    lines: tuple[CurveLine, ...]
    published: tuple[tuple[float, float], ...]
    """Place and value."""
    own: OwnGuess | None
    knee: int | None
    """The index of the measured knee, once all is there."""
    expected_knee: int | None
    limits: tuple[str, ...]
    """What limited the runs at each value, in a word; empty where nothing was measured."""
    spacing: Places
    bottom: float = 0.0
    """The lower end of the upright axis; above 0 equal heights are equal ratios."""
    suspect: frozenset[int] = frozenset()
    """The indexes of the values whose runs the lab doubts."""

    def height(self, value: float) -> float:
        """Return where on the upright axis a value stands: 0 at its lower end, 1 at its upper one."""
        if not self.bottom:
            return value / self.top
        return math.log(max(value, self.bottom) / self.bottom) / math.log(self.top / self.bottom)

    def course(self, line: CurveLine, steps: int) -> list[tuple[float, float]]:
        """Places and values of a model's line, in some `steps` from left to right.

        Between two values of the axis by the power that leads from one to the other: what is proportional to the axis,
        or to its inverse, goes as it should.
        """
        points = list(zip(self.places, line.values, strict=True))
        found = points[:1]
        for (at, y), (at2, y2) in pairwise(points):
            number = max(1, round((at2 - at) * steps))
            for step in range(1, number + 1):
                here = at + (at2 - at) * step / number
                found.append((here, self._between(at, y, at2, y2, here)))
        return found

    def _between(self, at: float, y: float, at2: float, y2: float, here: float) -> float:
        x, x2, x3 = map(self.spacing.value, (at, at2, here))
        if min(x, x2, y, y2) <= 0 or x == x2:
            return y + (y2 - y) * (here - at) / (at2 - at)
        return float(y * (x3 / x) ** (math.log(y2 / y) / math.log(x2 / x)))


_FAR = 2.0
"""Times the highest of the data up to which the axis makes room for a prediction."""
_SHORT = {
    "application": "program",
    "receive-window": "window",
    "send-buffer": "buffer",
    "random-loss": "loss",
    "bottleneck": "link",
    "unexplained": "?",
}


def scene_of(live: LiveSweep, predict: Predict | None, guess: tuple[str, float] | None) -> CurveScene:
    """`guess` is the student's prediction as it is written, and in base units; None where none was made."""
    sweep = live.activity
    measure = MEASURES[sweep.measure]
    found = summaries(sweep, live.cells)
    place = Places(sweep.spacing, sweep.xs)
    beside = sweep.published.points() if sweep.published else []
    published = [(at, y) for x, y in beside if (at := place.of(x)) is not None]
    at_value = predict is not None and predict.of == "at" and guess is not None
    highest = max(
        [
            *(max(live.measured[at]) for at, each in enumerate(found) if each),
            *(max(line.values) for line in live.models if line.kind == "formula"),
            *(y for _, y in published),
        ],
        default=0.0,
    )
    if at_value and guess and (not highest or guess[1] <= _FAR * highest):
        highest = max(highest, guess[1])  # one further off is named at the chart's edge
    lines = [
        line
        for line in live.models
        if line.kind == "formula" or not highest or max(line.values) <= _NAMED_LINK * highest
    ]
    highest = max([highest, *(max(line.values) for line in lines)], default=0.0) or 1.0
    scale, unit = _unit(measure.kind, highest)
    top = 1.0 if measure.kind == "number" and highest <= 1 else rounded_up(1.04 * highest / scale)
    lowest = [
        *(min(live.measured[at]) for at, each in enumerate(found) if each),
        *(value for line in lines for value in line.values),
        *(y for _, y in published),
        *([guess[1]] if at_value and guess else []),
    ]
    whole, wanted = live.complete, predict is not None and predict.of == "knee"
    return CurveScene(
        quantity=f"{measure.label}, {unit}" if unit else measure.label,
        axis=_axis(sweep.axis, _common_unit(sweep.values)),
        top=top,
        bottom=_bottom(sweep.spacing, [value / scale for value in lowest], top),
        places=tuple(at if (at := place.of(x)) is not None else 0.0 for x in sweep.xs),
        ticks=_ticks(sweep.values),
        measured=tuple(_spread(live.measured[at], each, scale) for at, each in enumerate(found)),
        suspect=frozenset(live.suspect),
        working=frozenset(live.working),
        lines=tuple(
            CurveLine(name=line.name, kind=line.kind, values=tuple(value / scale for value in line.values))
            for line in lines
        ),
        published=tuple((at, y / scale) for at, y in published),
        own=_guess(live, predict, guess, place, scale),
        knee=_knee([each.mean if each else None for each in found], live) if whole and wanted else None,
        expected_knee=_expected_knee(lines, live),
        limits=tuple(_limits(live, at) for at in range(len(sweep.values))),
        spacing=place,
    )


def _bottom(spacing: str, values: Sequence[float], top: float) -> float:
    """The lower end of an upright axis of equal ratios; 0 where the axis begins at 0."""
    least = min(values, default=0.0)
    if spacing != "log" or least <= 0 or top <= _DECADE * least:
        return 0.0
    return rounded_down(least / 1.04)


def _knee(values: Sequence[float | None], live: LiveSweep) -> int | None:
    """The index of the knee of the sound values."""
    sweep, suspect = live.activity, live.suspect
    sound = [(at, value) for at, value in enumerate(values) if value is not None and at not in suspect]
    if sweep.spacing == "names" or None in values or not sound:
        return None
    return sound[knee([value for _, value in sound], sweep.share, MEASURES[sweep.measure].is_cost)][0]


def _expected_knee(lines: Sequence[CurveLine], live: LiveSweep) -> int | None:
    sweep = live.activity
    if not lines or lines[0].kind != "formula" or sweep.spacing == "names":
        return None
    return expected_knee(lines[0].values, sweep.share, MEASURES[sweep.measure].is_cost)


def _guess(
    live: LiveSweep, predict: Predict | None, guess: tuple[str, float] | None, place: Places, scale: float
) -> OwnGuess | None:
    if predict is None or guess is None:
        return None
    text, value = guess
    if predict.of == "knee":
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
    return "/".join(sorted(_SHORT.get(cause, cause) for cause in causes))


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
    """The unit that all values have; empty where they differ or have none."""
    found = {_split(value)[1] for value in values if _split(value)[0] != "0"}
    return found.pop() if len(found) == 1 else ""


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


def written(value: float, kind: str) -> str:
    """A figure with its unit, in three digits."""
    return units.write(float(f"{value:.3g}"), kind)
