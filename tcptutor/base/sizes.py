"""Sizes on screens: in bytes, kB, MB and GB alone, so that a screen has one system of units."""

from __future__ import annotations

from tcptutor.base import units


def decimal(value: float, digits: int = 3) -> str:
    """Format bytes like "500 kB": 64 KiB is "65.5 kB"."""
    factor, unit = units.axis_unit(float(f"{value:.{digits}g}"), "size")
    return f"{units.number(value / factor, digits)} {unit}"


def rounded(value: float, kind: str, digits: int = 3) -> str:
    """Format a quantity of any kind for a screen, like `units.rounded`."""
    return decimal(value, digits) if kind == "size" else units.rounded(value, kind, digits)
