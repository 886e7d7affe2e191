"""Round trips of a flow around an instant, as far as its samples resolve them."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import msgspec

from tcptutor.analysis.observed.flow import ARRIVED, Trace

MAX_ROUND_TRIPS = 400
"""Round trips counted in each direction."""


class RoundTrip(msgspec.Struct, frozen=True, kw_only=True):
    """Round trip of a flow, as long as the smoothed RTT of the latest sample at its start."""

    number: int
    """0 for the round trip that begins at the reference instant, negative before it."""
    start: float
    end: float
    samples: int
    """Samples after its start and up to its end; 0 if the round trip has no data of its own."""
    cwnd_segments: int
    """cwnd at its start."""
    acked_segments: float | None
    """Segments that arrived between the latest samples at its start and end; None if these are the same sample."""
    retransmits: int | None
    """Retransmissions between the same samples; None if these are the same."""


def round_trips(trace: Trace, zero: float, start: float, end: float) -> tuple[RoundTrip, ...]:
    """Return the round trips that overlap `start` to `end`, numbered from `zero`; empty if no RTT is known."""
    times, rtts = trace.column("t"), trace.column("rtt")

    def rtt_at(t: float) -> float:
        at = max(0, bisect_right(times, t) - 1)
        return float(rtts[at])

    edges = [zero]
    while (
        edges[-1] < min(end, times[-1]) and len(edges) <= MAX_ROUND_TRIPS and (rtt := rtt_at(edges[-1])) > 0
    ):
        edges.append(edges[-1] + rtt)
    before = 0
    # Backwards, use the RTT sampled at the end: it describes the round trip that has just ended.
    while edges[0] > max(start, times[0]) and before < MAX_ROUND_TRIPS and (rtt := rtt_at(edges[0])) > 0:
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
        retransmits=max(0, resent[last] - resent[first]) if known else None,
    )
