"""Conditions on figures of a run, which claims state and observations ask about."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from tcptutor.base import sizes, units
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.base.errors import UnitError, UsageError
from tcptutor.course.activity import Setting
from tcptutor.course.claim import ARITHMETIC, CAUSE, PUBLISHED, Denominator, RunCondition, Subject
from tcptutor.course.formulas import KNOWN
from tcptutor.course.measurements import MEASURED, MeasuredRun, RunPart, cause
from tcptutor.course.measures import MeasuredCurve, MeasureName
from tcptutor.course.quantities import quantities
from tcptutor.run import Run

ROUNDED = 0.006
"""Relative difference allowed for intermediate rounding."""

_DIGITS = re.compile(r"\d[\d,]*(?:\.(\d+))?")


class Stated(NamedTuple):
    """Value in the base unit of `kind`, and its absolute tolerance."""

    value: float
    slack: float
    kind: str


def stated(condition: RunCondition) -> Stated:
    """Parse the stated value.

    Raises:
        UnitError: The value cannot be read.
    """
    text = condition.stated_value.replace("*", "").strip()
    kind = _kind(condition, text)
    value = units.parse(text, kind)
    if not condition.tolerance:
        return Stated(value, max(ROUNDED * abs(value), _last_digit(text, value)), kind)
    if "%" in condition.tolerance:
        return Stated(value, abs(value) * units.parse(condition.tolerance, "ratio"), kind)
    return Stated(value, units.parse(condition.tolerance, kind), kind)


def _kind(condition: RunCondition, text: str) -> str:
    """Return the kind of the quantity; shares and plain numbers are interchangeable."""
    if condition.ratio_to is not None:
        return "number"
    if condition.quantity == CAUSE:
        return "name"
    if condition.quantity in (ARITHMETIC, PUBLISHED):
        found = quantities(text)
        return found[0].kind if found else "number"
    kind = (KNOWN.get(condition.quantity) or MEASURED[condition.quantity]).kind
    if kind in ("number", "ratio"):
        return "ratio" if "%" in text else "number"
    return kind


def _last_digit(text: str, value: float) -> float:
    """Return half a unit of the last written digit, in base units."""
    written = _DIGITS.search(text)
    if written is None or not value:
        return 0.0
    number = float(written[0].replace(",", ""))
    if not number:
        raise UnitError(f"{text!r} is not a number with a unit")
    return 0.5 * 10.0 ** -len(written[1] or "") * abs(value) / number


_HAIR = 1e-9
"""Relative slack for binary rounding at a decimal bound."""


def agrees(condition: RunCondition, value: float) -> bool:
    """Return True if `value`, in the base unit, is as the condition states.

    Raises:
        UnitError: The stated value cannot be read.
    """
    wanted = stated(condition)
    match condition.relation:
        case "above":
            return value > wanted.value
        case "below":
            return value < wanted.value
    return abs(value - wanted.value) <= wanted.slack * (1 + _HAIR)


_SWEPT: dict[Subject, MeasureName] = {
    "throughput": "throughput",
    "rtt": "rtt",
    "loss-rate": "loss-rate",
    "jain": "jain",
    "cov": "cov",
    "share": "share1",
    "udp-loss": "udp-loss",
}
"""Measure of a sweep by the quantity of a condition."""


class Figures:
    """Figures of a student's run, or of the points of a sweep, for conditions on them."""

    def __init__(self, run: Run | None, curve: MeasuredCurve | None) -> None:
        self._whole = MeasuredRun(run) if run is not None else None
        self._curve = curve

    def holds(self, condition: RunCondition) -> bool:
        """Return True if the condition holds; False also for a figure that the run lacks."""
        try:
            if condition.quantity == CAUSE:
                return cause(self._part(condition, condition.flow)) == condition.value
            value = self._of(condition)
            if condition.ratio_to is not None:
                base = self._per(condition, condition.ratio_to)
                value = value / base if base else math.inf
            return agrees(condition, value)
        except UsageError:
            return False

    def phrases(self, conditions: Iterable[RunCondition]) -> list[str]:
        """Return the figures of the conditions in words, each once: "3 retransmissions", "a mean RTT of 50 ms"."""
        return list(dict.fromkeys(phrase for condition in conditions for phrase in self._phrases(condition)))

    def _phrases(self, condition: RunCondition) -> Iterator[str]:
        try:
            if condition.quantity == CAUSE:
                found: Any = cause(self._part(condition, condition.flow))
                yield f"limited by {CAUSE_NAMES[found]}"
                return
            yield _phrase(condition, self._of(condition))
            other = condition.ratio_to
            if other is not None and condition.subjects[-1] in MEASURED:
                compared = replace(condition, quantity=condition.subjects[-1], flow=other.flow, set=other.set)
                yield _phrase(compared, self._of(compared))
        except UsageError as error:
            yield str(error).removesuffix(" in this run")

    def _of(self, condition: RunCondition) -> float:
        return self._figure(condition, condition.quantity, condition.flow, condition.set)

    def _per(self, condition: RunCondition, other: Denominator) -> float:
        return self._figure(condition, condition.subjects[-1], other.flow, other.set)

    def _figure(
        self, condition: RunCondition, subject: Subject, flow: int | None, settings: Mapping[str, Setting]
    ) -> float:
        if self._whole is None:
            return self._point(subject, settings)
        if subject in KNOWN:
            return KNOWN[subject].compute(self._whole.run.experiment)
        return float(MEASURED[subject].compute(self._part(condition, flow)))

    def _part(self, condition: RunCondition, flow: int | None) -> RunPart:
        if self._whole is None:
            raise UsageError("a sweep has no single run")
        start, end = (
            units.parse(text, "time") if text else None for text in (condition.start, condition.end)
        )
        return RunPart(self._whole, flow, start, end)

    def _point(self, subject: Subject, settings: Mapping[str, Setting]) -> float:
        """Return the mean of the sweep's runs at a value of its axis."""
        curve, value = self._curve, str(next(iter(settings.values()), ""))
        if curve is None or _SWEPT.get(subject) != curve.measure:
            raise UsageError(f"the sweep does not measure {subject}")
        if value not in curve.values:
            raise UsageError(f"no reliable run at {value}")
        return curve.means[curve.values.index(value)]


def _phrase(condition: RunCondition, value: float) -> str:
    figure = MEASURED[condition.quantity]
    is_count = figure.kind == "number" and value == round(value)
    written = f"{value:.0f}" if is_count else sizes.rounded(value, figure.kind)
    words = figure.phrase.format("no" if is_count and not value else written)
    if written == "1":
        words = words.removesuffix("s")
    flow = f" for flow {condition.flow}" if condition.flow else ""
    period = f" from {condition.start}" if condition.start else ""
    period += f" until {condition.end}" if condition.end else ""
    point = "".join(f" at {name.replace('_', ' ')} {text}" for name, text in condition.set.items())
    return f"{words}{flow}{period}{point}"
