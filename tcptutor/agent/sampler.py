"""Samples of a run: every flow's TCP state and the queues on its way, taken at a steady rate beside the traffic.

The same for a run that an experiment describes and for one that somebody starts by hand.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from tcptutor.agent.channel import Channel
from tcptutor.agent.netlink import Address, Length, QueueLength, SockDiag, tcp_request
from tcptutor.agent.network import Host
from tcptutor.agent.tracing import Tracing
from tcptutor.base.errors import LabError
from tcptutor.run import CapturedAt, QueueSample, SenderSample, UdpResult, UdpSample
from tcptutor.run.ended import Ended, TimerCounts
from tcptutor.run.plausible import LATE, Doubts
from tcptutor.wire import rows
from tcptutor.wire.protocol import RawSamples

_BATCH = 0.2
"""Lab time that one Samples event covers, s."""
_SENDERS_HZ = 20.0
"""How often the senders' own queues are asked for, at most: what waits there is a mean, no course of events."""


class SampledFlow(NamedTuple):
    """A data connection: its number in the run, its pair, and its addresses."""

    number: int
    pair: int
    address: Address


class Timing:
    """How well the samples keep to their times, from the traffic's start on; told in order of time."""

    def __init__(self, period: float) -> None:
        self.period = period
        """Between two samples, s."""
        self.longest_gap = 0.0
        """The longest time without a sample, s."""
        self.last = 0.0
        """When the last sample was taken, s after the traffic began."""
        self._taken = self._woken = self._late = 0
        self._lateness = 0.0

    def woke(self, late: float) -> None:
        """A timer went off, `late` seconds after its time."""
        self._woken += 1
        self._late += late > LATE
        self._lateness += late

    def took(self, t: float) -> None:
        """A sample was taken, `t` seconds after the traffic began."""
        self.longest_gap = max(self.longest_gap, t - self.last)
        self.last = t
        self._taken += 1

    @property
    def late(self) -> float:
        """The share of the timers that were late, 0 to 1."""
        return self._late / self._woken if self._woken else 0.0

    @property
    def mean_late(self) -> float:
        """The mean lateness of the timers, s."""
        return self._lateness / self._woken if self._woken else 0.0

    @property
    def missing(self) -> float:
        """The share of the samples that should have been taken until the last one and were not, 0 to 1.

        Late timers do not tell of these: work that takes longer than a period leaves samples out, and the next one may
        be in time.
        """
        if not self._taken:
            return 0.0
        due = int(self.last / self.period) + 1
        return max(0.0, 1 - self._taken / due)

    @property
    def counts(self) -> TimerCounts:
        return TimerCounts(self.period, self.longest_gap, self.late, self.missing, self.mean_late)


class _Queue:
    """A queue that is watched from now on: its length, and what has happened in it since. `close` it."""

    def __init__(self, asked: QueueLength, earlier: Length | None = None) -> None:
        """`earlier`: what had been counted in the queue before it, in the same place. Raises LabError."""
        self.close = asked.close
        self._ask = asked.now
        self._drops, self._sent = (earlier.drops, earlier.sent) if earlier is not None else (0, 0)
        self._before = self._ask()

    @property
    def counted(self) -> Length:
        """What had happened when it was last asked for; nothing waits."""
        return Length(0, 0, self._drops, self._sent)

    def now(self) -> Length:
        """Raises LabError when it is gone."""
        now, before = self._ask(), self._before
        if now.sent < before.sent or now.drops < before.drops:
            before = Length(0, 0, 0, 0)  # another discipline, which counts from its own beginning
        self._drops += now.drops - before.drops
        self._sent += now.sent - before.sent
        self._before = now
        return now._replace(drops=self._drops, sent=self._sent)


class SampledPair:
    """The flows from one host to another, which are asked for together."""

    def __init__(self, sender: SockDiag, receiver: SockDiag) -> None:
        self._sender, self._receiver = sender, receiver
        self._numbers: list[int] = []
        self._there: list[bytes] = []
        self._back: list[bytes] = []

    def add(self, flow: SampledFlow) -> None:
        self._numbers.append(flow.number)
        self._there.append(tcp_request(flow.address))
        self._back.append(tcp_request(flow.address.other_end))

    def ask(self, t: float) -> list[tuple[int, bytes]]:
        """The number of each flow that is there, and its state as `wire.rows` has it."""
        answers = zip(
            self._numbers,
            self._sender.infos(self._there),
            self._receiver.bytes_received(self._back),
            strict=True,
        )
        return [(number, rows.row(number, t, received, info)) for number, info, received in answers if info]


class UdpSource(Protocol):
    """What counts UDP flows."""

    def look(self, t: float) -> None:
        """Called with every sample, `t` seconds after the traffic began."""
        ...

    def take(self, t: float) -> list[UdpSample]:
        """What has come since the last call."""
        ...


class Sampler:
    """Takes the samples of one run and sends them in batches.

    Owns the sockets that it asks with, and the trace; `close` it.
    """

    def __init__(self, channel: Channel, sample_hz: float, queue_may_go: bool = False) -> None:
        """`queue_may_go`: whether somebody may take the queue away, which then ends nothing."""
        self._channel, self._queue_may_go = channel, queue_may_go
        self.timing = Timing(1 / sample_hz)
        self.flows: list[SampledFlow] = []
        """In order of their numbers."""
        self.trace: Tracing | None = None
        self.udp: list[UdpSource] = []
        self.began = self.due = time.monotonic()
        """When the traffic began, and when the next sample is to be taken; in the lab's clock."""
        self._diags: dict[str, SockDiag] = {}
        self._pairs: dict[tuple[str, str], SampledPair] = {}
        """By the names of sender and receiver."""
        self._bottleneck: _Queue | None = None
        self._counted: Length | None = None
        """What was counted at the bottleneck before its queue that is watched now."""
        self._senders: dict[int, _Queue] = {}
        self._every = max(1, round(sample_hz / _SENDERS_HZ))
        """Samples of the flows to one of the senders' queues."""
        self._rows: list[bytes] = []
        self._lengths: list[QueueSample] = []
        self._sender_lengths: list[SenderSample] = []
        self._sent = 0.0
        self._tick = -1

    def add(self, flow: SampledFlow, sender: Host, receiver: Host) -> None:
        """Ask for this one as well."""
        self.flows.append(flow)
        self.flows.sort()
        ends = sender.name, receiver.name
        if ends not in self._pairs:
            self._pairs[ends] = SampledPair(self._diag(sender), self._diag(receiver))
        self._pairs[ends].add(flow)

    def watch(self, queue: QueueLength | None) -> None:
        """Ask for this queue of the bottleneck from now on, and for no other."""
        if self._bottleneck is not None:
            if queue is not None:
                with contextlib.suppress(LabError):  # it is gone: the last sample has all that is known of it
                    self._bottleneck.now()
            self._counted = self._bottleneck.counted
            self._bottleneck.close()
            self._bottleneck = None
        if queue is not None:
            try:
                self._bottleneck = _Queue(queue, self._counted)
            except LabError:
                queue.close()
                if not self._queue_may_go:
                    raise

    def watch_senders(self, hosts: Iterable[Host]) -> None:
        """Ask for the queues of these hosts' own interfaces as well, of those that have one now."""
        for host in hosts:
            number = int(host.name[1:])
            if number not in self._senders:
                asked = QueueLength(host.interface)
                if asked.now().waits:
                    self._senders[number] = _Queue(asked)
                else:
                    asked.close()

    def _diag(self, host: Host) -> SockDiag:
        if host.name not in self._diags:
            self._diags[host.name] = SockDiag(host)
        return self._diags[host.name]

    def close(self) -> None:
        """Let go of the sockets; safe to call twice."""
        for diag in self._diags.values():
            diag.close()
        self.watch(None)
        while self._senders:
            self._senders.popitem()[1].close()
        if self.trace is not None:
            self.trace.close()

    def begin(self, at: float) -> None:
        """The traffic began then, in the lab's clock."""
        self.began = self.due = at

    def _ask(self, t: float) -> list[bytes]:
        """The state of every flow that is there, in order of their numbers, as `wire.rows` has it."""
        found = [row for pair in self._pairs.values() for row in pair.ask(t)]
        found.sort()
        return [row for _, row in found]

    def take(self, waited: bool = True) -> tuple[float, list[bytes]]:
        """One sample of everything: its time, s since the traffic began, and a row of each flow that is there.

        waited: until it was due. Else its lateness is of our own work, and says nothing of the machine's timers.
        Raises LabError when the queue is gone.
        """
        now = time.monotonic()
        t = now - self.began
        if self._tick >= 0 and waited:
            self.timing.woke(now - self.due)
        self.timing.took(t)
        # A steady grid: a late sample does not make those after it late.
        self._tick = max(self._tick + 1, int(t / self.timing.period) + 1)
        self.due = self.began + self._tick * self.timing.period
        taken = self._ask(round(t, 6))
        self._rows += taken
        if self._bottleneck is not None:
            try:
                length = self._bottleneck.now()
            except LabError:
                if not self._queue_may_go:
                    raise
                self.watch(None)
            else:
                self._lengths.append(
                    QueueSample(round(t, 6), length.bytes, length.packets, length.drops, length.sent)
                )
        if self._tick % self._every == 1 % self._every:
            self._take_senders(round(t, 6))
        for source in self.udp:
            source.look(t)
        return t, taken

    def _take_senders(self, t: float) -> None:
        for host, queue in self._senders.items():
            length = queue.now()
            if length.waits:
                self._sender_lengths.append(SenderSample(host, t, length.bytes, length.packets, length.drops))

    def send(self, t: float, at_once: bool) -> None:
        """Send what was taken up to `t` when it is a batch, or `at_once`."""
        if t - self._sent < _BATCH and not at_once:
            return
        acks, resent = self.trace.take(self.began) if self.trace is not None else ([], [])
        udp = [row for source in self.udp for row in source.take(t)]
        self._channel.send(
            RawSamples(
                round(t, 6),
                b"".join(self._rows),
                tuple(self._lengths),
                tuple(acks),
                tuple(self._sender_lengths),
                tuple(sorted(udp, key=lambda row: row.t)),
                tuple(resent),
            )
        )
        self._rows, self._lengths, self._sender_lengths, self._sent = [], [], [], t

    def ended(
        self,
        doubts: Doubts,
        seconds: float,
        complete: bool,
        planned: bool,
        udp: Sequence[UdpResult] = (),
        captured: Sequence[CapturedAt] = (),
    ) -> Ended:
        """What is to be told of the whole run, which took `seconds` of the lab's time."""
        return Ended(
            doubts.experiment,
            tuple((flow.number, flow.pair) for flow in self.flows),
            round(seconds, 6),
            complete,
            planned,
            self.timing.counts,
            doubts.checks,
            tuple(doubts.suspect),
            tuple(doubts.invalid),
            self.trace.lost if self.trace is not None else None,
            tuple(udp),
            tuple(captured),
        )
