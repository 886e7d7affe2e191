"""Sums and means of figures of which some may be unknown: None is not zero."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

Figure = TypeVar("Figure", int, float)


def sum_or_none(figures: Iterable[Figure | None]) -> Figure | None:
    """Return the sum, or None where any figure is unknown. An empty sum is 0."""
    found = list(figures)
    known = [each for each in found if each is not None]
    return sum(known) if len(known) == len(found) else None


def mean_of_known(figures: Iterable[float | None]) -> float | None:
    """Return the mean of the known figures, or None without any."""
    known = [each for each in figures if each is not None]
    return math.fsum(known) / len(known) if known else None
