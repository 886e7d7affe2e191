"""Scales of a curve's axes: shares of the axis, and ticks in a unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tcptutor.base import sizes, units
from tcptutor.base.chart import ratio_ticks, round_numbers
from tcptutor.figures.axes import rounded_down, rounded_up

_UNITS = {"segments": "segments", "bdp": "BDP"}
"""Units of kinds that `base.units` does not know."""


class Scale(NamedTuple):
    """Range of an axis, in base units of its kind."""

    low: float
    high: float
    kind: str
    is_log: bool = False

    def share(self, value: float) -> float:
        """Return the place of `value` on the axis: 0 at `low`, 1 at `high`, and beyond outside."""
        if not self.is_log:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return -1.0
        return math.log(value / self.low) / math.log(self.high / self.low)

    def places(self, number: int) -> list[float]:
        """Return `number` values from `low` to `high` in equal steps of the axis."""
        shares = [at / (number - 1) for at in range(number)]
        if self.is_log:
            return [self.low * (self.high / self.low) ** share for share in shares]
        return [self.low + (self.high - self.low) * share for share in shares]

    @property
    def unit(self) -> tuple[float, str]:
        """Factor and name of the unit of its ticks."""
        return (1.0, _UNITS[self.kind]) if self.kind in _UNITS else units.axis_unit(self.high, self.kind)

    def ticks(self, number: int) -> list[tuple[float, str]]:
        """Return values and names of at most about `number` ticks, without the unit."""
        factor, _ = self.unit
        low, high = self.low / factor, self.high / factor
        values = ratio_ticks(low, high, number) if self.is_log else round_numbers(low, high, number)
        if self.kind == "count":
            values = [value for value in values if value == round(value)]
        return [(value * factor, f"{value:g}") for value in values]


def parsed(text: str, kind: str) -> float:
    """Return a quantity of a page in base units.

    Raises:
        UnitError: The text is no quantity of that kind.
    """
    if kind == "bdp":
        return units.parse_size(text, 1.0)
    if kind == "segments":
        return units.parse(text.removesuffix("segments"), "number")
    return units.parse(text, kind)


def written(value: float, kind: str) -> str:
    """Return a quantity for a reader, with its unit."""
    match kind:
        case "bdp":
            return f"{units.number(value)} BDP"
        case "segments":
            return f"{value:.0f} segment{'' if round(value) == 1 else 's'}"
        case _:
            return sizes.rounded(value, kind)


def scale_of(
    values: Sequence[float], kind: str, low: float | None, high: float | None, is_log: bool
) -> Scale:
    """Return a scale for `values`, with rounded ends where none is given."""
    positive = [value for value in values if value > 0] or [1.0]
    top = high if high is not None else rounded_up(1.04 * max(positive))
    bottom = low if low is not None else (rounded_down(min(positive)) if is_log else 0.0)
    return Scale(bottom, top, kind, is_log)
