"""Quantities with units, read and written: "100 Mbit/s", "20 ms", "0.1 %", "64 KiB", "2 BDP".

Inside the program a quantity is a plain float in its base unit: bit/s, seconds, a probability, bytes.
Decimal prefixes are powers of 1000 for rates, times and "kB"; "KiB" and its kin are powers of 1024.
"""

from __future__ import annotations

import math
import re
from typing import Literal

from tcptutor.errors import UnitError

Kind = Literal["rate", "time", "ratio", "size", "window", "count", "number", "name", "changes"]

_RATES = {
    f"{prefix}{unit}": scale
    for unit in ("bit/s", "bps", "bit")  # ours, and the spellings of tc, iperf3 and the manuals
    for prefix, scale in (("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9))
}
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0}
_RATIOS = {"%": 1e-2, "‰": 1e-3}
_SIZES = {
    "b": 1.0, "byte": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9,
    "kib": 1024.0, "mib": 1024.0**2, "gib": 1024.0**3,
}  # fmt: skip
UNITS: dict[str, dict[str, float]] = {"rate": _RATES, "time": _TIMES, "ratio": _RATIOS, "size": _SIZES}
EXAMPLES = {"rate": "100 Mbit/s", "time": "20 ms", "ratio": "0.1 %", "size": "64 KiB", "window": "2 BDP"}

_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s].*?)?\s*")


def split(text: str) -> tuple[float, str]:
    """The number and the unit (lower case, "" when there is none) of `text`. Raises UnitError."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise UnitError(f"{text!r} is not a number with a unit: write it like {EXAMPLES['rate']!r}")
    number = float(match[1])
    if not math.isfinite(number):
        raise UnitError(f"{text!r} is too large")
    return number, (match[2] or "").replace(" ", "").lower()


def parse(text: str, kind: str) -> float:
    """`text` in the base unit of `kind` (rate: bit/s, time: s, ratio: 1, size: bytes, count and number: 1).

    A bare zero needs no unit. Raises UnitError for anything else without the right unit.
    """
    number, unit = split(text)
    if kind == "count":
        if unit or number != int(number):
            raise UnitError(f"{text!r} is not a whole number: write it like '4'")
        return number
    if kind == "number":
        if unit:
            raise UnitError(f"{text!r} has a unit: write a number like '2.5'")
        return number
    if number == 0 and not unit:
        return 0.0
    scale = UNITS[kind].get(unit)
    if scale is None:
        what = f"has the unit {unit!r}" if unit else "has no unit"
        raise UnitError(f"{text!r} {what}, a {kind} is written like {EXAMPLES[kind]!r}")
    return number * scale


def parse_size(text: str, bdp_bytes: float | None = None) -> float:
    """A size in bytes, "64 KiB", or as a multiple of the bandwidth-delay product, "2 BDP".

    Raises UnitError for "BDP" when `bdp_bytes` is None (the path has no rate or no delay).
    """
    number, unit = split(text)
    if unit != "bdp":
        return parse(text, "size")
    if bdp_bytes is None:
        raise UnitError(f"{text!r}: this path has no rate or no delay, so no BDP: give bytes, like '64 KiB'")
    return number * bdp_bytes


def _scaled(value: float, steps: tuple[tuple[float, str], ...], digits: int) -> str:
    for scale, unit in steps:
        # The smallest unit also takes what is below it, and 999.96 kbit/s to three digits is 1 Mbit/s.
        if abs(value) >= scale * (1 - 0.5 * 10**-digits) or scale == steps[-1][0]:
            return (
                f"{value / scale:.{digits}g} {unit}"
                if abs(value / scale) < 10**digits
                else f"{value / scale:.0f} {unit}"
            )
    raise AssertionError("steps is not empty")  # pragma: no cover


def rate(bps: float, digits: int = 3) -> str:
    """Bit/s written like "75.9 Mbit/s"."""
    return _scaled(bps, ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")), digits)


def seconds(value: float, digits: int = 3) -> str:
    """Seconds written like "20 ms"."""
    return _scaled(value, ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")), digits)


def size(value: float, digits: int = 3) -> str:
    """Bytes written like "64 KiB"."""
    return _scaled(value, ((1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"), (1.0, "bytes")), digits)


def _exact_size(value: float) -> str:
    """Bytes in the unit in which they are a short number: "64 KiB", "15 MB", "75001 bytes"."""
    decimal = _scaled(value, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")), 6)
    exact = (text for text in (size(value, 6), decimal) if parse(text, "size") == value)
    return next(exact, f"{value:.15g} bytes")


def percent(value: float, digits: int = 3) -> str:
    """A probability written like "0.1 %"."""
    return f"{value * 100:.{digits}g} %"


def signed_percent(value: float) -> str:
    """A relative difference written like "+6 %" or "−8 %"."""
    rounded = round(value * 100)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else "±"
    return f"{sign}{abs(rounded)} %"


def write(value: float, kind: str) -> str:
    """`value` in the base unit of `kind`, written so that `parse` reads it back."""
    match kind:
        case "rate":
            return rate(value, 6)
        case "time":
            return seconds(value, 6)
        case "ratio":
            return percent(value, 6)
        case "size" | "window":
            return _exact_size(value)
        case "number":
            return f"{value:.6g}"
        case _:
            return f"{value:.0f}"
