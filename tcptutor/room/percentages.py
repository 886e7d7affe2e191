"""Whole percentages that add up to 100."""

from __future__ import annotations

import math
from collections.abc import Sequence


def whole_percentages(parts: Sequence[float]) -> tuple[int, ...]:
    """Return each part of the sum in percent, rounded by largest remainders; zeros if all parts are zero."""
    whole = math.fsum(parts)
    if not whole:
        return (0,) * len(parts)
    exact = [100 * part / whole for part in parts]
    percentages = [math.floor(each) for each in exact]
    by_remainder = sorted(range(len(parts)), key=lambda at: percentages[at] - exact[at])
    for at in by_remainder[: 100 - sum(percentages)]:
        percentages[at] += 1
    return tuple(percentages)
