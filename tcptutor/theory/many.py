"""Many flows: what they get together from a lossy path, and from a shared bottleneck."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from tcptutor.theory.aimd import decrease_factor
from tcptutor.theory.domain import positive, require
from tcptutor.theory.loss import MATHIS_PERIODIC, mathis


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
    of `mathis`. c: its constant; Hacker sets it aside, so c=1 gives his table. link: goodput of the shared
    link, bit/s, above 0; None for no cap. K like streams get K times one until the link stops them. Source:
    Hacker, Athey: The End-to-End Performance Effects of Parallel TCP Sockets, 2001, eq. 3 (4 and 5 are the
    same with one RTT and one MSS). Raises ParameterError outside the domain.
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
    of a window after a loss, 0 to below 1. One Reno flow gets 3/4, four 12/13. Source: Altman, Barman,
    Tuffin, Vojnovic: Parallel TCP Sockets: Simple Model, Throughput and Validation, INFOCOM 2006.
    Raises ParameterError outside the domain.
    """
    require(math.isfinite(flows) and flows >= 1, "flows", flows, "1 or above", "flows that share the link")
    decrease_factor(beta)
    return 1 - 1 / (1 + flows * (1 + beta) / (1 - beta))
