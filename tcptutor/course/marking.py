"""Marking a number: whether it is close enough, and which slip it gives away."""

from __future__ import annotations

import math

_ROUNDING = 1e-9
"""A value exactly on the edge of the tolerance counts, whatever binary fractions make of it."""


def is_close(value: float, right: float, relative: float = 0.0, absolute: float = 0.0) -> bool:
    """Whether `value` is within `absolute`, or within the share `relative` of `right`."""
    allowed = max(abs(right) * (relative + _ROUNDING), absolute + abs(right) * _ROUNDING)
    return math.isclose(value, right, rel_tol=0, abs_tol=allowed)


def slip(value: float, right: float, kind: str) -> str:
    """A sentence for the two slips that a quantity off by a round factor gives away, else nothing."""
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
