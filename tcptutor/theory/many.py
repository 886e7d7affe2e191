"""Many flows: what they get together from a lossy path and of a shared bottleneck, and how equal their rates are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from tcptutor.theory.aimd import decrease_factor
from tcptutor.theory.domain import at_least, positive, require
from tcptutor.theory.reno import MATHIS_PERIODIC, mathis


class Stream(NamedTuple):
    """One of many flows. A plain tuple (mss, rtt, loss) does as well."""

    mss: float
    """Payload bytes of a full segment."""
    rtt: float
    """Seconds."""
    loss: float
    """Loss events per segment."""


def aggregate(
    streams: Iterable[tuple[float, float, float]], *, c: float = MATHIS_PERIODIC, link: float | None = None
) -> float:
    """Throughput of parallel streams, bit/s: 8 * c * sum(mss_i / (rtt_i * sqrt(loss_i))), at most `link`.

    streams: (mss in bytes, rtt in seconds, loss events per segment) of each, at least one, each in the domain
    of `mathis`. c: the constant of `mathis`; Hacker sets it aside, so c=1 gives his table. link: goodput of the shared
    link, bit/s, above 0; None for no cap. K like streams get K times one until the link stops them. Source:
    Hacker, Athey: The End-to-End Performance Effects of Parallel TCP Sockets, 2001, eq. 3 (4 and 5
    have one RTT and one MSS for all). Raises ParameterError outside the domain.
    """
    each = [mathis(mss, rtt, loss, c) for mss, rtt, loss in streams]
    require(bool(each), "streams", "none", "at least one", "without a stream there is no throughput")
    total = math.fsum(each)
    if link is None:
        return total
    positive("link", link, "the goodput of the shared link in bit/s")
    return min(total, link)


def shared_utilisation(flows: float, beta: float) -> float:
    """Share of a bottleneck without a buffer that `flows` AIMD flows use, a ratio below 1.

    1 - 1 / (1 + flows * (1+beta) / (1-beta)). flows: 1 or above; one flow loses at a time. beta: what is left
    of a window after a loss, 0 to below 1. One Reno flow gets 3/4, four 12/13. It is exact when it is always
    the flow with the largest window that loses. Source: Altman, Barman, Tuffin, Vojnovic: Parallel TCP Sockets:
    Simple Model, Throughput and Validation, INFOCOM 2006. Raises ParameterError outside the domain.
    """
    at_least("flows", flows, 1, "flows that share the link")
    decrease_factor(beta)
    return 1 - 1 / (1 + flows * (1 + beta) / (1 - beta))


def rtt_shares(
    rtts: Iterable[float], sizes: Iterable[float] | None = None, power: float = 1
) -> tuple[float, ...]:
    """What each Reno flow gets of a bottleneck that they share, ratios that add up to 1: as mss / rtt^power.

    rtts: round-trip times with the queue, seconds, at least one, each above 0. sizes: payload bytes of each
    one's segments, as many, each above 0; None when they do not differ. power: 1 to 2. It is 1 when all see the
    same loss rate (Mathis 1997, eq. 3), and 2 when all lose at the same moments, since the window then grows
    as 1/rtt and the rate is the window over the rtt. Source: Lakshman and Madhow: The Performance of TCP/IP
    for Networks with High Bandwidth-Delay Products and Random Loss, ToN 5(3), 1997, section 4 (between the
    two). Raises ParameterError outside the domain.
    """
    times = list(rtts)
    require(bool(times), "rtts", "none", "at least one", "without a flow nothing is shared")
    for rtt in times:
        positive("rtts", rtt, "a round trip takes time, in seconds")
    lengths = [1.0] * len(times) if sizes is None else list(sizes)
    reason = "one segment size for each flow"
    require(len(lengths) == len(times), "sizes", len(lengths), f"{len(times)} of them", reason)
    for size in lengths:
        positive("sizes", size, "payload bytes of a full segment")
    require(1 <= power <= 2, "power", power, "1 to 2", "1 at equal loss rates, 2 when all lose together")
    # By the shortest and largest, so that no power leaves the range of a float.
    shortest, largest = min(times), max(lengths)
    weights = [
        length / largest * (shortest / rtt) ** power for rtt, length in zip(times, lengths, strict=True)
    ]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def jain_index(rates: Iterable[float]) -> float:
    """Jain's fairness index, a ratio from 1/n (one has all) to 1 (all equal): (sum x)^2 / (n * sum x^2).

    rates: at least one, each 0 or above, not all 0; any unit. Equals 1 / (1 + CoV^2). Source: Jain, Chiu,
    Hawe: A Quantitative Measure of Fairness, DEC-TR-301, 1984, eq. 1. Raises ParameterError outside the
    domain.
    """
    shares = _over_the_largest("rates", rates)
    return min(1.0, math.fsum(shares) ** 2 / (len(shares) * math.fsum(share * share for share in shares)))


def coefficient_of_variation(samples: Iterable[float]) -> float:
    """Standard deviation over mean, a ratio: 0 for equal samples. The population's, so divided by n.

    samples: at least one, each 0 or above, not all 0; any unit. Source: the definition, as Jain, Chiu, Hawe
    1984 relate it to their index. Raises ParameterError outside the domain.
    """
    shares = _over_the_largest("samples", samples)
    mean = math.fsum(shares) / len(shares)
    return math.sqrt(math.fsum((share - mean) ** 2 for share in shares) / len(shares)) / mean


def _over_the_largest(name: str, given: Iterable[float]) -> list[float]:
    """Each of `given` over the largest: squares of very small or large rates then stay finite."""
    values = list(given)
    require(bool(values), name, "none", "at least one", "nothing to compare")
    for value in values:
        require(math.isfinite(value) and value >= 0, name, value, "0 or above", "a rate cannot be negative")
    largest = max(values)
    require(largest > 0, name, "all 0", "at least one above 0", "shares of nothing are not defined")
    return [value / largest for value in values]
