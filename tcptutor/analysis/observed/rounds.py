"""The round trips of a flow around an instant, as far as its samples tell them apart."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import msgspec

from tcptutor.analysis.observed.flow import ARRIVED, Trace

MOST = 400
"""Round trips that are counted to either side."""


class RoundTrip(msgspec.Struct, frozen=True, kw_only=True):
    """One of them: it takes the smoothed RTT of the sample at or before its beginning."""

    number: int
    """0 begins at the instant that is counted from; those before it are negative."""
    start: float
    end: float
    samples: int
    """Of the flow's state, after its beginning and until its end; with 0 nothing is known of it alone."""
    cwnd_segments: int
    """As it begins, by the latest sample."""
    acked_segments: float | None
    """What arrived from the latest sample at its beginning to that at its end; None where these are one."""
    resent: int | None
    """Segments sent again between these two samples; None where they are one."""


def round_trips(trace: Trace, zero: float, start: float, end: float) -> tuple[RoundTrip, ...]:
    """Those that touch the time from `start` to `end`, counted from `zero`; empty where no RTT is known."""
    times, rtts = trace.column("t"), trace.column("rtt")

    def took(t: float) -> float:
        at = max(0, bisect_right(times, t) - 1)
        return float(rtts[at])

    edges = [zero]
    while edges[-1] < min(end, times[-1]) and len(edges) <= MOST and (rtt := took(edges[-1])) > 0:
        edges.append(edges[-1] + rtt)
    before = 0
    # Backwards by the RTT of that time: what a sample says of the round trip which has just ended.
    while edges[0] > max(start, times[0]) and before < MOST and (rtt := took(edges[0])) > 0:
        edges.insert(0, edges[0] - rtt)
        before += 1
    return tuple(
        _round_trip(trace, number - before, since, until)
        for number, (since, until) in enumerate(pairwise(edges))
        if until > start and since < end
    )


def _round_trip(trace: Trace, number: int, start: float, end: float) -> RoundTrip:
    times = trace.column("t")
    first, last = (max(0, bisect_right(times, t) - 1) for t in (start, end))
    arrived, resent, mss = (trace.column(name) for name in (ARRIVED, "retransmits", "mss"))
    known = last > first
    return RoundTrip(
        number=number,
        start=start,
        end=end,
        samples=last - first,
        cwnd_segments=trace.column("cwnd")[first],
        acked_segments=max(0, arrived[last] - arrived[first]) / max(1, mss[last]) if known else None,
        resent=max(0, resent[last] - resent[first]) if known else None,
    )
