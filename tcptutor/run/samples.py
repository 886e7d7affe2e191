"""Measurements during a run, a row per instant: TCP state, the bottleneck's queue, single ACKs.

Times are seconds of the lab's clock since the traffic began. Window reductions are found in a flow's sequence of
samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import accumulate, pairwise
from typing import NamedTuple

import msgspec

SSTHRESH_INFINITE = 0x7FFFFFFF
"""The kernel's ssthresh before the first loss."""

CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")
"""Names of `Sample.ca_state`, the kernel's congestion-avoidance states."""

_CWR, _RECOVERY, _LOSS = (CA_STATES.index(name) for name in ("cwr", "recovery", "loss"))
_SEQUENCE_NUMBERS = 1 << 32


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """TCP state of a flow at an instant, as the sender's kernel reports it (struct tcp_info)."""

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
    """Smallest RTT so far, s; 0 before the first measurement."""
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
    """The receiver's advertised window, bytes; 0 if the kernel does not report it (before 6.2)."""
    ca_state: int
    app_limited: bool
    busy: float
    """Time with data to send since the flow began, s."""
    rwnd_limited: float
    """Part of `busy` in which the receiver's window was the limit, s."""
    sndbuf_limited: float
    """Part of `busy` in which the send buffer was the limit, s."""
    reord_seen: int
    dsack_dups: int
    rto: float
    """Retransmission timeout, s."""
    # Imports of other programs' results lack the following fields.
    bytes_retrans: int = 0
    """Payload retransmitted since the flow began, bytes."""
    delivered: int = 0
    """Segments reported as received since the flow began."""
    delivered_ce: int = 0
    """Segments of `delivered` with an ECN mark."""
    total_rto: int = 0
    """Retransmission timeouts since the flow began; 0 if the kernel does not report it (before 6.7)."""
    unacked: int = 0
    """Segments in flight: sent and not yet acknowledged."""
    lost: int = 0
    """Segments of `unacked` that the sender considers lost."""
    notsent: int = 0
    """Bytes in the send buffer that were never sent."""
    bytes_received: int = 0
    """Payload received in order by the receiver's kernel since the flow began, bytes."""


class QueueSample(msgspec.Struct, frozen=True, array_like=True):
    """The bottleneck's queue at an instant: tbf and its child."""

    t: float
    bytes: int
    """Queued bytes."""
    packets: int
    """Queued packets."""
    drops: int
    """Packets dropped since the run's start."""
    sent: int
    """Bytes of frames sent since the run's start."""


class TransferRecord(msgspec.Struct, frozen=True, array_like=True):
    """A short flow, or a request on a flow with its answer."""

    t: float
    """Start, seconds since the traffic began: the call to connect, or the request."""
    source: int
    """Pair of a short flow, or number of the TCP flow of a request."""
    bytes: int
    """Payload."""
    seconds: float | None
    """Time until all of it had arrived; None if it had not at the end of the run."""
    is_request: bool = False


class SenderSample(msgspec.Struct, frozen=True, array_like=True):
    """Queue discipline of a sending host's own interface at an instant, where fq holds back packets.

    Interfaces without a queue (`noqueue`) are not sampled.
    """

    host: int
    """Number of the host: 1 is h1."""
    t: float
    bytes: int
    """Queued bytes."""
    packets: int
    """Queued packets; TCP passes several segments as a packet, which is split on departure."""
    drops: int
    """Packets dropped since the run's start."""


class UdpSample(msgspec.Struct, frozen=True, array_like=True):
    """A UDP flow at an instant, as its receiver counts it."""

    flow: int
    """Index among the UDP flows, from 0."""
    t: float
    received: int
    """Payload that has arrived since the flow began, bytes."""
    datagrams: int
    """Datagrams sent since the flow began, as far as their numbers show."""
    lost: int
    """Datagrams that did not arrive."""
    jitter: float | None
    """Smoothed interarrival jitter, s (RFC 1889, section 6.3.1); None if unknown."""


class AckSample(msgspec.Struct, frozen=True, array_like=True):
    """A flow at an arriving packet, from the kernel's tracepoint tcp:tcp_probe."""

    flow: int
    t: float
    cwnd: int
    ssthresh: int
    rtt: float
    """Smoothed round-trip time, s."""
    acked: int = -1
    """End of the acknowledged bytes before this packet is processed, as an offset in the flow."""
    sent: int = -1
    """End of the bytes sent so far, as an offset in the flow."""
    window: int = -1
    """The receiver's window from `acked` on, bytes."""


class Retransmission(msgspec.Struct, frozen=True, array_like=True):
    """A retransmitted segment, from the kernel's tracepoint tcp:tcp_retransmit_skb."""

    flow: int
    t: float
    first: int
    """Offset of the segment's first byte in the flow."""
    last: int
    """Offset of its end."""


def hystart_exits(
    ssthresh: Sequence[int], ca_state: Sequence[int], retransmits: Sequence[int], delivered_ce: Sequence[int]
) -> tuple[int, ...]:
    """Return the samples at which ssthresh fell from infinity without a loss or a mark."""
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
    """Return the payload that a flow's receiver had at each sample, bytes, including bytes behind a gap.

    While segments are missing, later segments arrive and cannot be acknowledged; the acknowledgment after a
    recovery covers bytes that arrived long before. The kernel counts full segments of them, as reported by
    the receiver.
    """
    if not any(ca_state):  # nothing is ever missing
        known = list(bytes_acked)
        return known if known == sorted(known) else list(accumulate(known, max))
    arrived: list[int] = []
    latest = whole = counted = 0
    for acked, count, size, state in zip(bytes_acked, delivered, mss, ca_state, strict=True):
        if state == 0 or not arrived:  # nothing is missing
            whole, counted = acked, count
        elif (behind := whole + (count - counted) * size) > latest:
            latest = behind
        if acked > latest:  # noqa: PLR1730  # max takes three times as long
            latest = acked
        arrived.append(latest)
    return arrived


class FlowBytes:
    """Converts TCP's 32-bit sequence numbers (RFC 9293, section 3.4) of a direction to byte offsets."""

    def __init__(self, first: int) -> None:  # the sequence number of byte 0
        self._latest, self._bytes = first, 0

    def at(self, number: int, onward: bool = True) -> int:
        """Return the byte offset of a number within 2 GB of the latest; `onward` moves the latest ahead."""
        ahead = (number - self._latest + _SEQUENCE_NUMBERS // 2) % _SEQUENCE_NUMBERS - _SEQUENCE_NUMBERS // 2
        if onward and ahead > 0:
            self._latest, self._bytes = number, self._bytes + ahead
            return self._bytes
        return self._bytes + ahead


class Cut(Enum):
    """Cause of a window reduction."""

    LOSS = "loss"
    """A loss event, with any number of lost segments."""
    MARK = "mark"
    """An ECN mark without loss."""


class CutFinder:
    """Follows the samples of a flow and reports its window reductions.

    A loss event is an entry into recovery or loss, or a new event inside of it: ssthresh changes again during
    retransmissions, or a timeout follows after new acknowledgments. A recovery that fits between two samples
    shows in its retransmissions. A reduction by a mark is an entry into CWR by a mark, or another change of
    ssthresh inside of it. A change of ssthresh alone is neither: HyStart, BBR, Vegas and YeAH set it without
    a loss, Westwood when a recovery ends. CWR without a mark is neither: CDG enters it for a longer delay,
    and any flow when its own host's queue is full. Two reductions of a kind between two samples count as one.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int, int, int, int] | None = None
        self._marked = False  # True while in CWR because of a mark
        self._timed_out = -1  # bytes acknowledged at the last timeout

    def start(
        self, ca_state: int, ssthresh: int, retransmits: int, delivered_ce: int, total_rto: int
    ) -> None:
        """Set the sample before the next one, which need not be the last that `at` got."""
        self._before = ca_state, ssthresh, retransmits, delivered_ce, total_rto

    def at(
        self,
        ca_state: int,
        ssthresh: int,
        retransmits: int,
        delivered_ce: int,
        total_rto: int,
        bytes_acked: int,
    ) -> Cut | None:
        """Return the reduction that began since the previous sample; None if none did."""
        if self._before is None:
            self._before = ca_state, ssthresh, retransmits, delivered_ce, total_rto
            return None
        state, limit, sent, marks, timeouts = self._before
        self._before = ca_state, ssthresh, retransmits, delivered_ce, total_rto
        resent, marked = retransmits > sent, delivered_ce > marks
        if ca_state < _CWR > state and not resent and not marked:
            return None
        cut, timeout = ssthresh != limit, total_rto > timeouts
        lost = by_mark = False
        if ca_state >= _LOSS:
            lost = state < _LOSS or (timeout and bytes_acked > self._timed_out)
        elif ca_state >= _RECOVERY:
            lost = state < _RECOVERY or (cut and resent)
        elif ca_state >= _CWR:
            by_mark = marked and (state != _CWR or cut)
        elif state < _RECOVERY:
            lost = resent
            by_mark = not lost and not self._marked and cut and marked
        if timeout or (ca_state >= _LOSS > state):
            self._timed_out = bytes_acked
        self._marked = ca_state == _CWR and (by_mark or self._marked)
        return Cut.LOSS if lost else Cut.MARK if by_mark else None


class Cuts(NamedTuple):
    """Indexes of the samples of a flow at which a loss event or a reduction by a mark had begun."""

    losses: tuple[int, ...]
    marks: tuple[int, ...]


def cuts_at(
    ca_state: Sequence[int],
    ssthresh: Sequence[int],
    retransmits: Sequence[int],
    delivered_ce: Sequence[int],
    total_rto: Sequence[int],
    bytes_acked: Sequence[int],
) -> Cuts:
    """Return where a flow lost segments, and where only marks reduced its window, see CutFinder."""
    finder, losses, marks = CutFinder(), [], []
    rows = zip(ca_state, ssthresh, retransmits, delivered_ce, total_rto, strict=True)
    for at, (before, now) in enumerate(pairwise(rows), start=1):
        if before == now:  # no reduction: most samples of a flow, and `CutFinder.at` takes longer
            continue
        finder.start(*before)
        cut = finder.at(*now, bytes_acked[at])
        if cut is Cut.LOSS:
            losses.append(at)
        elif cut is Cut.MARK:
            marks.append(at)
    return Cuts(tuple(losses), tuple(marks))
