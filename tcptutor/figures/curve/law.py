"""Law that a curve can show: its axes, results and parameters, and the function that traces it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tcptutor import theory
from tcptutor.base import units
from tcptutor.base.errors import UnitError, UsageError, unknown
from tcptutor.spec.frame_sizes import HEADERS, TIMESTAMP_OPTION

Points = tuple[tuple[float, float], ...]
Values = Mapping[str, Any]

TIME, ROUND_TRIPS = "time", "round_trips"
"""Horizontal axes along which a curve is drawn as time passes."""

MSS = 1448.0
"""Default segment size, bytes."""

REQUIRED = object()
"""Default of a parameter that a figure has to give."""


@dataclass(frozen=True)
class Traced:
    """Points of a law, with straight lines between them."""

    points: Points
    events: tuple[float, ...] = ()
    """Places at which something happens, such as losses."""


@dataclass(frozen=True)
class Law:
    """Law over its horizontal axes."""

    over: Mapping[str, str]
    """Kinds of quantity by name of the horizontal axis."""
    gives: Mapping[str, str]
    """Kinds of quantity by result; the first is the default."""
    parameters: Mapping[str, tuple[str, Any]]
    """Kind and default of each parameter; REQUIRED marks a parameter without a default."""
    trace: Callable[[str, str, Values, Sequence[float]], Traced]
    """Function of the horizontal axis, the result, the parameters, and places from the left."""

    def values(self, given: Mapping[str, str], over: str) -> Values:
        """Return the parameters in base units.

        Raises:
            UsageError: A parameter is unknown, missing or wrong.
        """
        known = [name for name in self.parameters if name != over]
        for name in given:
            if name not in known:
                raise UsageError(unknown("parameter", name, known))
        lacking = [name for name in known if self.parameters[name][1] is REQUIRED and name not in given]
        if lacking:
            raise UsageError(f"needs {' and '.join(lacking)}: add {'them' if lacking[1:] else 'it'} to set")
        values: dict[str, Any] = {}
        for name in known:
            kind, default = self.parameters[name]
            if name not in given:
                values[name] = default
                continue
            try:
                values[name] = _parse(given[name], kind, values)
            except UnitError as error:
                raise UsageError(f"{name}: {error}") from None
        return values


def goodput(rate: float, mss: float) -> float:
    """Return the payload rate of a link, bit/s."""
    return theory.link_limited(rate, mss + HEADERS + TIMESTAMP_OPTION)


def _parse(text: str, kind: str, before: Values) -> Any:
    if kind == "name":
        return text
    if kind == "queue":
        return units.parse_size(text, theory.bdp(before["rate"], before["rtt"]))
    return units.parse(text, kind, "bytes" if kind == "size" else "")
