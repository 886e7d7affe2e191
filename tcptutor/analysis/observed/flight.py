"""Segments of a flow under way at any instant, and what the sender did at each packet, from a run with acks=on.

The trace has the sender's view only: its state at each arriving packet (tcp:tcp_probe) and each retransmission
(tcp:tcp_retransmit_skb). A segment's way is computed from the two instants that the sender knows, departure and ACK:
what is longer than the RTT of the empty path was spent in the queue, and half of the rest in each direction. The trace
has no SACK blocks: a duplicate ACK is taken to report the oldest segment that was not yet accounted for, and a segment
behind a hole to have arrived within the RTT of its time.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from tcptutor.run import AckSample, Retransmission, Run

Place = Literal["queue", "link", "back"]
"""In front of the bottleneck, on the way to the receiver, or, as an ACK, on the way back."""

EventKind = Literal["ack", "duplicate", "loss", "retransmission", "probe", "timeout"]

_LEAST_TIMEOUT = 0.2
"""Linux's shortest retransmission timeout, seconds; earlier retransmissions without an ACK are probes (RFC 8985)."""
_RECENT = 0.02
"""Round trips for which a dropped segment counts as being dropped."""


class Journey(NamedTuple):
    """A segment, or several that left together, from departure to the sender's knowledge of its end."""

    first: int
    """Offset of its first byte in the flow."""
    last: int
    sent: float
    """Seconds."""
    ended: float
    """Instant at which an ACK reported it, seconds; infinite if none did."""
    is_lost: bool
    """Whether it was sent again later."""
    is_retransmission: bool


class InFlight(NamedTuple):
    """A segment at an instant."""

    journey: Journey
    place: Place
    progress: float
    """Share of the way in its place, 0 to 1."""


class SenderEvent(NamedTuple):
    """A packet that arrived, or a retransmission."""

    t: float
    kind: EventKind
    """loss is the first retransmission of a recovery, retransmission a later one."""
    acked: int
    """Bytes that it acknowledged."""
    sent: int
    """Bytes that the sender sent in response, or again."""
    cwnd: tuple[int, int]
    """cwnd before and after, segments."""
    ssthresh: int
    """Before it, segments."""
    silence: float
    """Seconds since the last arriving packet."""
    duplicates: int
    """Duplicate ACKs since the last that acknowledged something."""
    first: int
    """Offset of the first byte acknowledged or sent again."""


class FlightState(NamedTuple):
    """A flow at an instant."""

    t: float
    segments: tuple[InFlight, ...]
    """Segments in flight by time of departure; a segment that the rest of the trace never mentions is left out."""
    lost: int
    """Segments lost so far, as found by their retransmission."""
    is_dropping: bool
    """Whether a segment that was lost has just left."""
    event: SenderEvent | None
    """The last event."""
    cwnd: int


class Flight:
    """Journeys and events of a flow."""

    def __init__(self, flow: int, mss: int, base_rtt: float, rows: Sequence[AckSample], run: Run) -> None:
        self.flow, self.mss, self.base_rtt = flow, mss, base_rtt
        self.algorithm = run.experiment.algorithm(flow)
        self.sack = run.experiment.hosts.sysctls.get("tcp_sack", "1") != "0"
        again = [each for each in run.retransmissions if each.flow == flow]
        self.events = tuple(sorted(_events(rows, again), key=lambda event: event.t))
        self.journeys = tuple(_journeys(rows, again, mss))
        self._rows = rows
        self._times = [event.t for event in self.events]
        self._row_times = [row.t for row in rows]
        self._departures = [journey.sent for journey in self.journeys]
        self._longest = max(
            (each.ended - each.sent for each in self.journeys if each.ended < math.inf), default=base_rtt
        )
        self._losses = [journey.sent for journey in self.journeys if journey.is_lost]

    def at(self, t: float) -> FlightState:
        """Return the state at `t`, seconds."""
        first = bisect_left(self._departures, t - self._longest)
        recent = self.journeys[first : bisect_right(self._departures, t)]
        segments = [self._place(each, t) for each in recent if self._is_known(each) and each.ended > t]
        row = self._rows[max(0, bisect_right(self._row_times, t) - 1)]
        number, lost = bisect_right(self._times, t), bisect_right(self._losses, t)
        return FlightState(
            t=t,
            segments=tuple(segments),
            lost=lost,
            is_dropping=lost > 0 and t - self._losses[lost - 1] <= _RECENT * self.base_rtt,
            event=self.events[number - 1] if number else None,
            cwnd=self.events[number - 1].cwnd[1] if number else row.cwnd,
        )

    def neighbor(self, t: float, direction: int, kinds: Sequence[EventKind] = ()) -> SenderEvent | None:
        """Return the next event after `t`, or the last before it if `direction` is -1; of `kinds` if given."""
        at = bisect_right(self._times, t) if direction > 0 else bisect_left(self._times, t) - 1
        while 0 <= at < len(self.events):
            if not kinds or self.events[at].kind in kinds:
                return self.events[at]
            at += direction
        return None

    def _is_known(self, journey: Journey) -> bool:
        """Return False for a lost segment, and for one on which the trace is silent until its end."""
        if journey.ended == math.inf:
            return not journey.is_lost and journey.sent + 2 * self._longest > self._row_times[-1]
        return not journey.is_lost

    def _place(self, journey: Journey, t: float) -> InFlight:
        age = t - journey.sent
        waits = max(0.0, journey.ended - journey.sent - self.base_rtt) if journey.ended < math.inf else 0.0
        if age < waits:
            return InFlight(journey, "queue", age / waits)
        half = self.base_rtt / 2 or math.inf
        way = age - waits
        if way < half:
            return InFlight(journey, "link", way / half)
        return InFlight(journey, "back", min(1.0, way / half - 1))


def flight(run: Run, flow: int) -> Flight | None:
    """Return the flight of a flow; None if its ACKs were not traced."""
    rows = [row for row in run.acks if row.flow == flow and row.acked >= 0]
    if len(rows) < 2:
        return None
    mss = next((result.mss for result in run.flows if result.flow == flow), run.experiment.segment)
    return Flight(flow, mss, _base_rtt(run, flow), rows, run)


def _base_rtt(run: Run, flow: int) -> float:
    """Return the shortest RTT that the flow saw, seconds."""
    seen = [sample.min_rtt for sample in run.samples if sample.flow == flow and sample.min_rtt > 0]
    return min(seen, default=run.experiment.path.delay)


def _events(rows: Sequence[AckSample], again: Sequence[Retransmission]) -> Iterator[SenderEvent]:
    """Yield the arriving packets, each with what it changed, and the retransmissions."""
    duplicates = 0
    repeated = [each.t for each in again]
    for before, after in pairwise(rows):
        acked = max(0, after.acked - before.acked)
        duplicates = 0 if acked else duplicates + 1
        # The trace has cwnd at packets: after a retransmission in between, the next cwnd is the result of that.
        is_own = bisect_left(repeated, before.t) == bisect_left(repeated, after.t)
        yield SenderEvent(
            t=before.t,
            kind="ack" if acked else "duplicate",
            acked=acked,
            sent=max(0, after.sent - before.sent),
            cwnd=(before.cwnd, after.cwnd if is_own else before.cwnd),
            ssthresh=before.ssthresh,
            silence=0.0,
            duplicates=duplicates,
            first=before.acked,
        )
    times = [row.t for row in rows]
    recover = -1
    for each in again:
        at = bisect_right(times, each.t)
        last, following = rows[max(0, at - 1)], rows[min(at, len(rows) - 1)]
        silence = each.t - last.t
        kind: EventKind = "retransmission"
        if silence >= _LEAST_TIMEOUT and following.cwnd <= 1:
            kind = "timeout"
        elif silence >= last.rtt:
            kind = "probe"
        elif each.first >= recover:
            kind = "loss"
        if kind in ("loss", "timeout"):
            recover = last.sent
        yield SenderEvent(
            t=each.t,
            kind=kind,
            acked=0,
            sent=each.last - each.first,
            cwnd=(last.cwnd, following.cwnd),
            ssthresh=following.ssthresh,
            silence=silence,
            duplicates=at - bisect_left(rows, last.acked, key=lambda row: row.acked),
            first=each.first,
        )


def _journeys(rows: Sequence[AckSample], repeats: Sequence[Retransmission], mss: int) -> list[Journey]:
    """Return the journeys of all segments in order of departure."""
    again = [part for each in repeats for part in _segments(each, mss)]
    ends = [(before.t, after.acked) for before, after in pairwise(rows)]
    return sorted([*_first_journeys(rows, again, mss), *_repeated(again, ends)], key=lambda each: each.sent)


def _segments(each: Retransmission, mss: int) -> Iterator[Retransmission]:
    """Yield the segments of a retransmission: offloads let several leave as one."""
    for start in range(each.first, each.last, mss):
        yield Retransmission(each.flow, each.t, start, min(start + mss, each.last))


def _first_journeys(rows: Sequence[AckSample], again: Sequence[Retransmission], mss: int) -> list[Journey]:
    repeated = {each.first for each in again}
    ended: list[Journey] = []
    waiting: deque[Journey] = deque()  # not acknowledged, in order of bytes

    def send(t: float, first: int, last: int) -> None:
        for start in range(first, last, mss):
            waiting.append(Journey(start, min(start + mss, last), t, math.inf, start in repeated, False))

    send(rows[0].t - rows[0].rtt, rows[0].acked, rows[0].sent)
    reported = 0  # of `waiting`, from the left: lost ones, and those that duplicate ACKs reported
    for before, after in pairwise(rows):
        hole_is_filled = False
        while waiting and waiting[0].last <= after.acked:
            journey = waiting.popleft()
            hole_is_filled |= journey.is_lost
            if journey.ended == math.inf:
                arrived = min(before.t, journey.sent + before.rtt) if hole_is_filled else before.t
                journey = journey._replace(ended=arrived)
            ended.append(journey)
            reported = max(0, reported - 1)
        if after.acked == before.acked:
            while reported < len(waiting) and waiting[reported].is_lost:
                reported += 1
            if reported < len(waiting) and reported > 0:
                waiting[reported] = waiting[reported]._replace(ended=before.t)
                reported += 1
        if after.sent > before.sent:
            send(max(before.t, after.t - after.rtt), before.sent, after.sent)
    return [*ended, *waiting]


def _repeated(again: Sequence[Retransmission], ends: Sequence[tuple[float, int]]) -> Iterator[Journey]:
    last_of = {each.first: each.t for each in again}
    times = [t for t, _ in ends]
    for each in again:
        at = bisect_left(times, each.t)
        ended = next((t for t, acked in ends[at:] if acked >= each.last), math.inf)
        yield Journey(each.first, each.last, each.t, ended, last_of[each.first] > each.t, True)
