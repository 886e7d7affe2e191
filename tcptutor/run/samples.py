"""What is measured while a run goes on, one row an instant: the flows' TCP state, the bottleneck's queue, single ACKs.

Times are seconds of the lab's clock since the traffic began.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

SSTHRESH_INFINITE = 0x7FFFFFFF
"""What the kernel reports as ssthresh before the first loss."""

CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")
"""Names of `Sample.ca_state`, the kernel's congestion-avoidance states."""

_CWR = CA_STATES.index("cwr")


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One flow's TCP state at one instant, as the sender's kernel reports it (struct tcp_info)."""

    flow: int
    t: float
    cwnd: int
    """Congestion window, segments."""
    ssthresh: int
    """Slow-start threshold, segments; SSTHRESH_INFINITE before the first loss."""
    mss: int
    """Payload bytes of a full segment."""
    rtt: float
    """Smoothed round-trip time, s."""
    rttvar: float
    """Mean deviation of the RTT, s."""
    min_rtt: float
    """Smallest RTT seen, s; 0 before the first measurement."""
    bytes_acked: int
    """Payload acknowledged since the flow began, bytes."""
    segs_out: int
    """Data segments sent since the flow began, retransmissions included."""
    retransmits: int
    """Segments retransmitted since the flow began."""
    delivery_rate: float
    """The kernel's latest estimate, bit/s."""
    pacing_rate: float
    """bit/s."""
    snd_wnd: int
    """The receiver's advertised window, bytes; 0 where the kernel does not tell (before 6.2)."""
    ca_state: int
    app_limited: bool
    busy: float
    """Time with data to send since the flow began, s."""
    rwnd_limited: float
    """The part of `busy` in which the receiver's window was the limit, s."""
    sndbuf_limited: float
    """The part of `busy` in which the send buffer was the limit, s."""
    reord_seen: int
    dsack_dups: int
    rto: float
    """Retransmission timeout, s."""
    # From here on since format 2; a file of format 1 has none of them.
    bytes_retrans: int = 0
    """Payload retransmitted since the flow began, bytes."""
    delivered: int = 0
    """Segments that the receiver has told of, since the flow began."""
    delivered_ce: int = 0
    """Those of `delivered` with an ECN mark."""
    total_rto: int = 0
    """Retransmission timeouts since the flow began; 0 where the kernel does not tell (before 6.7)."""
    unacked: int = 0
    """Segments sent and not yet acknowledged."""
    lost: int = 0
    """Those of `unacked` that are taken for lost."""
    notsent: int = 0
    """Bytes that wait in the send buffer for the first time."""
    bytes_received: int = 0
    """Payload that the receiver's kernel has taken in order since the flow began, bytes."""


class QueueSample(msgspec.Struct, frozen=True, array_like=True):
    """The bottleneck's queue at one instant (tbf and what is below it)."""

    t: float
    bytes: int
    """Waiting."""
    packets: int
    """Waiting."""
    drops: int
    """Packets dropped since the run's start."""
    sent: int
    """Bytes of frames sent since the run's start."""


class SenderSample(msgspec.Struct, frozen=True, array_like=True):
    """The queue discipline of one sending host's own interface at one instant: what fq holds back waits here.

    None is taken of an interface where packets do not wait (`noqueue`).
    """

    host: int
    """The number in the host's name: 1 is h1."""
    t: float
    bytes: int
    """Waiting."""
    packets: int
    """Waiting; TCP hands over several segments as one packet, and they leave as several."""
    drops: int
    """Packets dropped since the run's start."""


class UdpSample(msgspec.Struct, frozen=True, array_like=True):
    """One UDP flow up to one instant, as its receiver counts it."""

    flow: int
    """Among the UDP flows, from 0."""
    t: float
    received: int
    """Payload that has arrived since the flow began, bytes."""
    datagrams: int
    """Sent since the flow began, as far as the receiver can tell from their numbers."""
    lost: int
    """Those of `datagrams` that did not arrive."""
    jitter: float | None
    """Smoothed variation of the time between sending and arrival (RFC 1889, section 6.3.1), s; None where nothing tells
    of it."""


class AckSample(msgspec.Struct, frozen=True, array_like=True):
    """One flow at one arriving packet, from the kernel's tracepoint tcp:tcp_probe."""

    flow: int
    t: float
    cwnd: int
    ssthresh: int
    rtt: float
    """Smoothed round-trip time, s."""
    # A file from before these were traced has -1 in each row.
    acked: int = -1
    """Where the flow's acknowledged bytes end before this packet counts, from its first byte on."""
    sent: int = -1
    """Where the bytes end that the flow has sent by then."""
    window: int = -1
    """The receiver's window from `acked` on by then, bytes."""


class ResentSample(msgspec.Struct, frozen=True, array_like=True):
    """One segment that a flow sent again, from the kernel's tracepoint tcp:tcp_retransmit_skb."""

    flow: int
    t: float
    first: int
    """Where the segment begins among the flow's bytes."""
    last: int
    """Where it ends."""


def hystart_exits(
    ssthresh: Sequence[int], ca_state: Sequence[int], retransmits: Sequence[int], delivered_ce: Sequence[int]
) -> tuple[int, ...]:
    """The samples of one flow at which ssthresh had fallen from infinity though nothing was lost or marked."""
    return tuple(
        at
        for at, (before, now) in enumerate(pairwise(ssthresh), start=1)
        if before >= SSTHRESH_INFINITE > now
        and max(ca_state[at - 1], ca_state[at]) < _CWR
        and retransmits[at] == retransmits[at - 1]
        and delivered_ce[at] == delivered_ce[at - 1]
    )


def arrived_bytes(
    bytes_acked: Sequence[int], delivered: Sequence[int], mss: Sequence[int], ca_state: Sequence[int]
) -> list[int]:
    """Payload of one flow that its receiver had at each sample, with what it held behind a gap, bytes.

    While segments are missing, those after them arrive and cannot be acknowledged: an acknowledgement after a recovery
    tells of bytes that came long before. The kernel counts whole segments of them, as the receiver reports them.
    """
    found: list[int] = []
    latest = whole = told = 0
    for acked, count, size, state in zip(bytes_acked, delivered, mss, ca_state, strict=True):
        if state == 0 or not found:  # nothing is missing
            whole, told = acked, count
        latest = max(latest, acked, whole + (count - told) * size)
        found.append(latest)
    return found
