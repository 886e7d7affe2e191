"""The knobs of an experiment: their groups, and the next value at each turn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tcptutor.spec import PARAMETERS, Parameter

SEED, SYSCTL = "seed", "sysctl"
"""Knobs that are not parameters: the random seed, and the entry for sysctls."""

_GROUPS = {
    "path": ("rate", "delay", "jitter", "jitter_shape", "pair_delays", "changes", "rate_trace"),
    "queue": ("queue", "qdisc", "ecn", "ce_threshold", "burst"),
    "loss": ("loss", "loss_burst", "loss_correlation", "loss_by", "reorder", "duplicate"),
    "other links": (
        "reverse_rate", "reverse_delay", "reverse_loss", "reverse_queue", "second_rate", "second_delay",
        "second_queue", "crosses",
    ),
    "hosts": (
        "algorithm", "algorithms", "initial_window", "window", "send_buffer", "mtu", "mss", "offloads", "maxrate",
    ),
    "flows": (
        "pairs", "streams", "starts", "directions", "bytes", "messages", "interval", "on_times", "off_time",
        "requests", "think_time", "nodelay", "pacing", "buffer", "length",
    ),
    "short flows": ("short_arrivals", "short_load", "short_size", "short_sizes"),
    "UDP": ("udp_streams", "udp_rate"),
    "run": ("duration", "warmup", SEED, "acks"),
    "kernel": (SYSCTL,),
}  # fmt: skip
_PLACED = {name for names in _GROUPS.values() for name in names}

GROUPS: Mapping[str, tuple[str, ...]] = {
    **_GROUPS,
    # A parameter missing above is still a knob.
    "run": (*_GROUPS["run"], *(name for name in PARAMETERS if name not in _PLACED)),
}
"""Knobs by group, in display order. Sysctls that are set are added to the last group."""

_FROM_NONE = {
    "rate": 100e6,
    "reverse_rate": 100e6,
    "second_rate": 100e6,
    "burst": 16384,
    "ce_threshold": 0.001,
    "window": 65536,
    "send_buffer": 65536,
    "buffer": 131072,
    "length": 8192,
    "bytes": 1_000_000,
    "mss": 1460,
    "initial_window": 10,
    "short_load": 0.2,
    "pacing": 10e6,
    "maxrate": 10e6,
}
"""First value when a knob is turned away from "none"."""
_STOPS: Mapping[str, Sequence[float]] = {
    "mtu": (576, 1280, 1500, 3000, 4500, 9000),
    "mss": (88, 256, 536, 1000, 1220, 1460, 2960, 4460, 8960),
}
_SMALLEST = {"duration": 1.0, "warmup": 1.0}
"""The step below the smallest is 0, if the bounds allow it."""
_SMALLEST_OF_KIND = {"time": 1e-4, "ratio": 1e-5}
_SERIES = (1, 2, 5)
_CLOSE = 1e-9
"""Relative difference below which two values are equal."""


def can_turn(known: Parameter) -> bool:
    """Return True if the parameter has steps. Lists and changes over time have to be typed."""
    return not known.is_list and known.kind != "changes"


def turn_value(known: Parameter, value: Any, by: int, algorithms: Sequence[str]) -> Any:
    """Return the next (`by` 1) or previous (-1) value in base units; `value` at the end of its range.

    Rates, times and ratios step through 1, 2, 5, 10; sizes double; choices wrap around, as do the `algorithms` of
    the lab's kernel. Above the highest value of an optional limit comes None.
    """
    if not can_turn(known):
        return value
    if known.choices == ("off", "on"):
        return not value
    if names := known.choices or (tuple(algorithms) if known.kind == "name" else ()):
        at = names.index(value) if value in names else -by
        return names[(at + by) % len(names)]
    if value is None:
        return _FROM_NONE.get(known.name, known.low) if by < 0 else None
    if known.optional and by > 0 and value >= known.high:
        return None
    stepped = min(known.high, max(known.low, _step(known, value, by)))
    return round(stepped) if known.kind in ("count", "window", "size") else stepped


def _step(known: Parameter, value: float, by: int) -> float:
    if stops := _STOPS.get(known.name):
        beyond = [stop for stop in stops if (stop - value) * by > 0]
        return (min if by > 0 else max)(beyond, default=value)
    if known.kind == "count":
        return value + by
    if known.kind in ("window", "size"):
        return value * 2.0**by
    smallest = _SMALLEST.get(known.name, _SMALLEST_OF_KIND.get(known.kind, known.low or 1.0))
    if by > 0:
        return max(smallest, _next_larger(value)) if value else smallest
    return known.low if value <= smallest * (1 + _CLOSE) else max(smallest, _next_smaller(value))


def _next_larger(value: float) -> float:
    power = math.floor(math.log10(value)) - 1
    steps = (_exact(mantissa, power + more) for more in range(4) for mantissa in _SERIES)
    return next(step for step in steps if step > value * (1 + _CLOSE))


def _next_smaller(value: float) -> float:
    power = math.floor(math.log10(value)) + 1
    steps = (_exact(mantissa, power - less) for less in range(4) for mantissa in reversed(_SERIES))
    return next(step for step in steps if step < value * (1 - _CLOSE))


def _exact(mantissa: int, power: int) -> float:
    """Avoid the rounding error of `mantissa * 10**power`."""
    return float(f"{mantissa}e{power}")
