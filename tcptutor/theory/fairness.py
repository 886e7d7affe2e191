"""How equal rates are, and how steady."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tcptutor.theory.domain import require


def jain_index(rates: Iterable[float]) -> float:
    """Jain's fairness index, a ratio from 1/n (one has all) to 1 (all equal): (sum x)^2 / (n * sum x^2).

    rates: at least one, each 0 or above, not all 0; any unit. Equals 1 / (1 + CoV^2). Source: Jain, Chiu,
    Hawe: A Quantitative Measure of Fairness, DEC-TR-301, 1984, eq. 1. Raises ParameterError outside the
    domain.
    """
    values = _values("rates", rates)
    largest = max(values)
    # By the largest, so that squares of very small or large rates stay finite.
    shares = [value / largest for value in values]
    return min(1.0, math.fsum(shares) ** 2 / (len(shares) * math.fsum(share * share for share in shares)))


def coefficient_of_variation(samples: Iterable[float]) -> float:
    """Standard deviation over mean, a ratio: 0 for equal samples. The population's, so divided by n.

    samples: at least one, each 0 or above, not all 0; any unit. Source: the definition, as Jain, Chiu, Hawe
    1984 relate it to their index. Raises ParameterError outside the domain.
    """
    values = _values("samples", samples)
    largest = max(values)
    shares = [value / largest for value in values]
    mean = math.fsum(shares) / len(shares)
    return math.sqrt(math.fsum((share - mean) ** 2 for share in shares) / len(shares)) / mean


def _values(name: str, given: Iterable[float]) -> list[float]:
    values = list(given)
    require(bool(values), name, "none", "at least one", "nothing to compare")
    for value in values:
        require(math.isfinite(value) and value >= 0, name, value, "0 or above", "a rate cannot be negative")
    require(max(values) > 0, name, "all 0", "at least one above 0", "shares of nothing are not defined")
    return values
