"""Mean, standard deviation and the 95% confidence interval of a mean from a few independent runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache

import msgspec

LEVEL = 0.95


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of a quantity over some runs, in its own unit."""

    n: int
    mean: float
    stdev: float | None
    """Sample standard deviation; None for a single run."""
    low: float | None
    """Lower end of the interval that covers the true mean with probability LEVEL; None for a single run.

    Assumes independent, normally distributed runs.
    """
    high: float | None
    """Upper end of the interval; None for a single run."""

    @property
    def half_width(self) -> float | None:
        return None if self.high is None else self.high - self.mean


def summarize(values: Sequence[float]) -> Summary:
    mean = statistics.fmean(values)
    if len(values) == 1:
        return Summary(n=1, mean=mean, stdev=None, low=None, high=None)
    stdev = statistics.stdev(values)
    half = t_quantile(len(values) - 1) * stdev / math.sqrt(len(values))
    return Summary(n=len(values), mean=mean, stdev=stdev, low=mean - half, high=mean + half)


@lru_cache(maxsize=256)
def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return the two-sided quantile of Student's t distribution: |t| stays below it with probability `level`.

    For integer degrees of freedom the distribution is a finite sum (Abramowitz and Stegun, 26.7.3 and
    26.7.4), inverted here
    by bisection.
    """
    if freedom < 1 or not 0 < level < 1:
        raise ValueError("at least 1 degree of freedom, and a level between 0 and 1")
    low, high = 0.0, math.pi / 2
    while (middle := (low + high) / 2) not in (low, high):
        if _within(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """Return A(t|ν), the probability of |t| or less, for t = √ν tan(angle)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for step in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (step - 1) / step
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
