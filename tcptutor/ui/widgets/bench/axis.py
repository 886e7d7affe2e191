"""The time axis that the chart and the lines under it share: what stands above something happened with it."""

from __future__ import annotations

GUTTER = 12
"""Columns left of it, for the chart's scale and the lines' names; the last one is the axis itself, or a blank."""


def columns(width: int) -> int:
    """Of the axis, in a panel of `width` columns."""
    return max(0, width - GUTTER)


def label(text: str) -> str:
    """A line's name in the gutter."""
    return text[: GUTTER - 1].ljust(GUTTER)
