"""Round ends of axes, and the unit in which a number is short."""

from __future__ import annotations

import math


def rounded_up(value: float) -> float:
    """The smallest round number that is not below `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    steps = (mantissa * power for mantissa in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10))
    return next(step for step in steps if step >= value * (1 - 1e-9))


def rounded_down(value: float) -> float:
    """Return the greatest of 1, 2 and 5 times a power of ten that is not above `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(mantissa * power for mantissa in (1, 2, 5) if mantissa * power <= value * (1 + 1e-9))


def rate_unit(bps: float) -> tuple[float, str]:
    steps = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
    return next(((scale, unit) for scale, unit in steps if bps >= scale * 0.999), (1.0, "bit/s"))


def size_unit(size: float) -> tuple[float, str]:
    return (1e6, "MB") if size >= 10e6 else (1e3, "kB")
