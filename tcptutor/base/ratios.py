"""Ratios of a prediction and a measurement, in words."""

from __future__ import annotations


def above_or_below(ratio: float) -> str:
    """Return "6 % above" for 1.06, "20 % below" for 0.8, "the same" within half a percent."""
    rounded = round((ratio - 1) * 100)
    if rounded == 0:
        return "the same"
    return f"{abs(rounded)} % {'above' if rounded > 0 else 'below'}"


def too_high_or_low(ratio: float) -> str:
    """Return "33 % too high" for 1.33, "4 × too low" for 0.25, "right" within half a percent."""
    rounded = round((ratio - 1) * 100)
    if rounded == 0:
        return "right"
    if 0 < ratio < 0.4 or ratio > 2.5:
        return f"{max(ratio, 1 / ratio):.2g} × too {'high' if ratio > 1 else 'low'}"
    return f"{abs(rounded)} % too {'high' if rounded > 0 else 'low'}"


def off_by(factor: float) -> str:
    """Return "12 % off" for 1.12, "off by a factor of 2.4" from 1.5 on."""
    return f"{(factor - 1) * 100:.0f} % off" if factor < 1.5 else f"off by a factor of {factor:.2g}"
