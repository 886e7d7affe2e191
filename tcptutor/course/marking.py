"""Marking of a number: distance from the right value, and common slips."""

from __future__ import annotations

import math

_ROUNDING = 1e-9
"""Relative slack so that a value exactly at the tolerance counts in spite of binary rounding."""


def is_close(value: float, right: float, relative: float = 0.0, absolute: float = 0.0) -> bool:
    """Return True if `value` is within `absolute`, or within the relative tolerance, of `right`."""
    allowed = max(abs(right) * (relative + _ROUNDING), absolute + abs(right) * _ROUNDING)
    return math.isclose(value, right, rel_tol=0, abs_tol=allowed)


def slip(value: float, right: float, kind: str) -> str:
    """Return a sentence about an error by a factor of 8 or a power of ten, or an empty string."""
    if not value or not right or kind == "count":
        return ""
    factor = max(value / right, right / value)
    if not 1 < factor < 1e12:
        return ""
    if math.isclose(factor, 8, rel_tol=0.02) and kind in ("rate", "size"):
        return "That is off by a factor of 8: bits or bytes? "
    power = round(math.log10(factor))
    if power >= 1 and math.isclose(factor, 10**power, rel_tol=0.02):
        return f"That is off by a factor of {10**power}: look at the decimal point and the prefix. "
    return ""
