"""Many flows: total throughput on a lossy path and on a shared bottleneck, and fairness."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from tcptutor.theory.domain import at_least, positive, require
from tcptutor.theory.loss_laws import MATHIS_PERIODIC, decrease_factor, mathis


class Stream(NamedTuple):
    """A flow among many. A plain tuple (mss, rtt, loss) works as well."""

    mss: float
    """Payload bytes of a full segment."""
    rtt: float
    """Seconds."""
    loss: float
    """Loss events per segment."""


def aggregate(
    streams: Iterable[tuple[float, float, float]], *, c: float = MATHIS_PERIODIC, link: float | None = None
) -> float:
    """Return the throughput of parallel streams, bit/s: 8 * c * sum(mss_i / (rtt_i * sqrt(loss_i))), at most `link`.

    K equal streams get K times the throughput of a single stream until the link limits them. Source: Hacker,
    Athey: The End-to-End Performance Effects of Parallel TCP Sockets, 2001, eq. 3 (4 and 5 have equal RTT and
    MSS). Raises ParameterError outside the domain.

    Args:
        streams: MSS in bytes, RTT in seconds and loss events per segment of each stream, in the domain of
            `mathis`.
        c: The constant of `mathis`; Hacker omits it, so c=1 gives his table.
        link: Goodput of the shared link, bit/s, above 0; None for no limit.
    """
    each = [mathis(mss, rtt, loss, c) for mss, rtt, loss in streams]
    require(bool(each), "streams", "none", "at least one", "without a stream there is no throughput")
    total = math.fsum(each)
    if link is None:
        return total
    positive("link", link, "the goodput of the shared link in bit/s")
    return min(total, link)


def shared_utilisation(flows: float, beta: float) -> float:
    """Return the utilization of an unbuffered bottleneck by AIMD flows: 1 - 1 / (1 + flows * (1+beta) / (1-beta)).

    A single Reno flow uses 3/4, four use 12/13. Exact when the flow with the largest window always loses.
    Source: Altman, Barman, Tuffin, Vojnovic: Parallel TCP Sockets: Simple Model, Throughput and Validation,
    INFOCOM 2006. Raises ParameterError outside the domain.

    Args:
        flows: 1 or above; a single flow loses at a time.
        beta: Fraction of a window left by a loss, 0 to below 1.
    """
    at_least("flows", flows, 1, "flows that share the link")
    decrease_factor(beta)
    return 1 - 1 / (1 + flows * (1 + beta) / (1 - beta))


def rtt_shares(
    rtts: Iterable[float], sizes: Iterable[float] | None = None, power: float = 1
) -> tuple[float, ...]:
    """Return each Reno flow's fraction of a shared bottleneck, proportional to mss / rtt^power; their sum is 1.

    Source: Lakshman and Madhow: The Performance of TCP/IP for Networks with High Bandwidth-Delay Products and
    Random Loss, ToN 5(3), 1997, section 4 (powers between 1 and 2). Raises ParameterError outside the domain.

    Args:
        rtts: Round-trip times with the queue, seconds, at least one, each above 0.
        sizes: Payload bytes of each flow's segments, each above 0; None if equal.
        power: 1 if all flows see the same loss rate (Mathis 1997, eq. 3), 2 if all lose at the same moments:
            the window then grows as 1/rtt, and the rate is the window over the rtt.
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
    # Normalized by the shortest and largest, so that no power overflows a float.
    shortest, largest = min(times), max(lengths)
    weights = [
        length / largest * (shortest / rtt) ** power for rtt, length in zip(times, lengths, strict=True)
    ]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def jain_index(rates: Iterable[float]) -> float:
    """Return Jain's fairness index, from 1/n (a single flow gets all) to 1 (equal): (sum x)^2 / (n * sum x^2).

    Equals 1 / (1 + CoV^2). Source: Jain, Chiu, Hawe: A Quantitative Measure of Fairness, DEC-TR-301, 1984,
    eq. 1. Raises ParameterError outside the domain.

    Args:
        rates: At least one, each 0 or above, not all 0; any unit.
    """
    shares = _normalized("rates", rates)
    return min(1.0, math.fsum(shares) ** 2 / (len(shares) * math.fsum(share * share for share in shares)))


def coefficient_of_variation(samples: Iterable[float]) -> float:
    """Return the population's standard deviation over the mean; 0 for equal samples.

    Source: the definition, as Jain, Chiu, Hawe 1984 relate it to their index. Raises ParameterError outside
    the domain.

    Args:
        samples: At least one, each 0 or above, not all 0; any unit.
    """
    shares = _normalized("samples", samples)
    mean = math.fsum(shares) / len(shares)
    return math.sqrt(math.fsum((share - mean) ** 2 for share in shares) / len(shares)) / mean


def _normalized(name: str, numbers: Iterable[float]) -> list[float]:
    """Divide by the largest value, so that squares of very small or large rates stay finite."""
    values = list(numbers)
    require(bool(values), name, "none", "at least one", "nothing to compare")
    for value in values:
        require(math.isfinite(value) and value >= 0, name, value, "0 or above", "a rate cannot be negative")
    largest = max(values)
    require(largest > 0, name, "all 0", "at least one above 0", "shares of nothing are not defined")
    return [value / largest for value in values]
