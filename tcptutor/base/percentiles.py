"""Percentiles of weighted samples, and the number of samples that supports a percentile."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, repeat
from operator import itemgetter

from tcptutor.base.confidence import LEVEL

_ROUNDING = 1e-9
"""Share of the weight by which sums of weights may be off."""


@dataclass(frozen=True)
class Distribution:
    """Distribution of a quantity: its values in increasing order, each with the share of the weight up to it."""

    values: tuple[float, ...]
    """Different values; infinity stands for everything above the values that were observed."""
    shares: tuple[float, ...]
    """Share of the weight at or below each value, 0 to 1."""
    samples: int
    """Number of samples behind the values."""

    @classmethod
    def of(cls, samples: Iterable[float], weights: Iterable[float] | None = None) -> Distribution | None:
        """Return the distribution of `samples`; None without any weight.

        Args:
            samples: Values in any order.
            weights: Weight of each sample, such as the seconds that it stands for; by default all are equal.
        """
        pairs = sorted(zip(samples, repeat(1.0) if weights is None else weights, strict=weights is not None))
        merged = [
            (value, math.fsum(weight for _, weight in same))
            for value, same in groupby(pairs, key=itemgetter(0))
        ]
        total = math.fsum(weight for _, weight in merged)
        if total <= 0:
            return None
        sums = accumulate(weight for _, weight in merged)
        return cls(tuple(value for value, _ in merged), tuple(each / total for each in sums), len(pairs))

    @classmethod
    def of_censored(cls, times: Iterable[tuple[float, bool]]) -> Distribution | None:
        """Return the distribution of durations, some of which were observed only in part; None without any.

        Unfinished transfers cannot be left out, since most of them are slow, and they are not slower than all others,
        since many began late. This is the estimate of Kaplan and Meier, "Nonparametric Estimation from Incomplete
        Observations", Journal of the American Statistical Association 53(282), 1958. Its samples are the complete ones.

        Args:
            times: Duration observed so far, and whether it is complete.
        """
        pairs = sorted(times)
        values, shares = list[float](), list[float]()
        left, longer = len(pairs), 1.0
        for value, same in groupby(pairs, key=itemgetter(0)):
            complete = [is_complete for _, is_complete in same]
            if ended := sum(complete):
                longer *= 1 - ended / left
                values.append(value)
                shares.append(1 - longer)
            left -= len(complete)
        if longer > _ROUNDING:
            values.append(math.inf)
        shares = [*shares[: len(values) - 1], 1.0]
        return (
            cls(tuple(values), tuple(shares), sum(is_complete for _, is_complete in pairs)) if pairs else None
        )

    def quantile(self, share: float) -> float:
        """Return the least value with at least `share` of the weight at or below it.

        This is definition 1 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American
        Statistician 50(4), 1996: always a sample, never a value between two.
        """
        return self.values[min(bisect_left(self.shares, share - _ROUNDING), len(self.values) - 1)]

    def supported_quantile(self, share: float) -> float | None:
        """Return the quantile; None if the samples are too few for it, or it is infinite."""
        found = self.quantile(share)
        return found if is_supported(share, self.samples) and math.isfinite(found) else None


def is_supported(share: float, samples: int) -> bool:
    """Return whether `samples` values suffice for the quantile at `share`.

    They do if the true quantile lies between the least and the largest of them with probability LEVEL or more:
    6 values for the median, 59 for the 95th and 299 for the 99th percentile. Source: Wilks, "Determination of Sample
    Sizes for Setting Tolerance Limits", Annals of Mathematical Statistics 12(1), 1941.
    """
    return samples > 0 and 1 - share**samples - (1 - share) ** samples >= LEVEL


def time_weights(times: Sequence[float]) -> list[float]:
    """Return the seconds that each of some instants stands for: half of the time to either neighbor.

    A single instant has weight 1.
    """
    if len(times) < 2:
        return [1.0] * len(times)
    before = [times[0], *times[:-1]]
    after = [*times[1:], times[-1]]
    return [(later - earlier) / 2 for earlier, later in zip(before, after, strict=True)]
