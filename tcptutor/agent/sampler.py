"""Sampler of a run, for every flow's TCP state and the queues on its path, at a steady rate.

It serves planned experiments and manually started runs alike.
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
from tcptutor.run import (
    CapturedAt,
    Ended,
    QueueSample,
    SenderSample,
    TimerCounts,
    TransferRecord,
    UdpResult,
    UdpSample,
)
from tcptutor.run.plausible import LATE, Doubts
from tcptutor.wire import tcp_info
from tcptutor.wire.protocol import RawSamples

_BATCH = 0.2
"""Lab time per RawSamples event, s."""
_SENDERS_HZ = 20.0
"""Highest rate for the senders' own queues, of which only the mean matters."""


class SampledFlow(NamedTuple):
    """Data connection: its number in the run, its pair and its addresses."""

    number: int
    pair: int
    address: Address


class Timing:
    """Punctuality of the samples since the traffic began."""

    def __init__(self, period: float) -> None:
        self.period = period
        """Time between two samples, s."""
        self.longest_gap = 0.0
        """Longest time without a sample, s."""
        self.last = 0.0
        """Time of the last sample, s after the traffic began."""
        self._samples = self._wakeups = self._late = 0
        self._lateness = 0.0

    def record_wakeup(self, late: float) -> None:
        self._wakeups += 1
        self._late += late > LATE
        self._lateness += late

    def record_sample(self, t: float) -> None:
        self.longest_gap = max(self.longest_gap, t - self.last)
        self.last = t
        self._samples += 1

    @property
    def late(self) -> float:
        """Share of late timers, 0 to 1."""
        return self._late / self._wakeups if self._wakeups else 0.0

    @property
    def mean_late(self) -> float:
        """Mean lateness of the timers, s."""
        return self._lateness / self._wakeups if self._wakeups else 0.0

    @property
    def missing(self) -> float:
        """Share of samples missing up to the last one, 0 to 1.

        Lateness does not show it: work that takes longer than a period skips samples, and the next may be punctual.
        """
        if not self._samples:
            return 0.0
        due = int(self.last / self.period) + 1
        return max(0.0, 1 - self._samples / due)

    @property
    def counts(self) -> TimerCounts:
        return TimerCounts(self.period, self.longest_gap, self.late, self.missing, self.mean_late)


class _QueueCounter:
    """Length and counters of a queue, continuing `earlier` counts; `close` it. Raises LabError if the queue is gone."""

    def __init__(self, queue: QueueLength, earlier: Length | None = None) -> None:
        self.close = queue.close
        self._read = queue.read
        self._drops, self._sent = (earlier.drops, earlier.sent) if earlier is not None else (0, 0)
        self._before = self._read()

    @property
    def totals(self) -> Length:
        """Counters at the last `read`, with an empty queue."""
        return Length(0, 0, self._drops, self._sent)

    def read(self) -> Length:
        """Read length and counters. Raises LabError if the queue is gone."""
        now, before = self._read(), self._before
        if now.sent < before.sent or now.drops < before.drops:
            before = Length(0, 0, 0, 0)  # another discipline, whose counters began at 0
        self._drops += now.drops - before.drops
        self._sent += now.sent - before.sent
        self._before = now
        return now._replace(drops=self._drops, sent=self._sent)


def _queue_sample(t: float, length: Length) -> QueueSample:
    return QueueSample(round(t, 6), length.bytes, length.packets, length.drops, length.sent)


class SampledPair:
    """Flows between two hosts in the same direction, sampled with a request per host."""

    def __init__(self, sender: SockDiag, receiver: SockDiag) -> None:
        self._sender, self._receiver = sender, receiver
        self._numbers: list[int] = []
        self._sender_requests: list[bytes] = []
        self._receiver_requests: list[bytes] = []

    def add(self, flow: SampledFlow) -> None:
        self._numbers.append(flow.number)
        self._sender_requests.append(tcp_request(flow.address))
        self._receiver_requests.append(tcp_request(flow.address.other_end))

    def sample(self, t: float) -> list[tuple[int, bytes]]:
        """Return number and state, in the format of `wire.tcp_info`, of each flow that exists at `t`."""
        answers = zip(
            self._numbers,
            self._sender.infos(self._sender_requests),
            self._receiver.bytes_received(self._receiver_requests),
            strict=True,
        )
        return [
            (number, tcp_info.row(number, t, received, info)) for number, info, received in answers if info
        ]


class UdpSource(Protocol):
    """Counter of UDP flows: of iperf3's own (`agent.udp`), or of datagrams captured in a session."""

    def poll(self, t: float) -> None:
        """Update the counters, at every sample, `t` seconds after the traffic began."""
        ...

    def take(self, t: float) -> list[UdpSample]:
        """Return the samples since the last call."""
        ...


class Sampler:
    """Takes the samples of a run and sends them in batches. Owns its sockets and the trace; `close` it.

    `queue_may_go` tolerates that a user deletes the bottleneck's queue during the run.
    """

    def __init__(self, channel: Channel, sample_hz: float, queue_may_go: bool = False) -> None:
        self._channel, self._queue_may_go = channel, queue_may_go
        self.timing = Timing(1 / sample_hz)
        self.flows: list[SampledFlow] = []
        """Flows sorted by number."""
        self.trace: Tracing | None = None
        self.udp: list[UdpSource] = []
        self.began = self.due = time.monotonic()
        """Start of the traffic and time of the next sample, in the lab's clock."""
        self._diags: dict[str, SockDiag] = {}
        self._pairs: dict[tuple[str, str], SampledPair] = {}
        """Flows by the names of sender and receiver."""
        self._bottleneck: _QueueCounter | None = None
        self._earlier: Length | None = None
        """Counters of earlier queues at the bottleneck."""
        self._second: _QueueCounter | None = None
        """Queue of a second bottleneck."""
        self._senders: dict[int, _QueueCounter] = {}
        self._sender_interval = max(1, round(sample_hz / _SENDERS_HZ))
        """Samples of the flows per sample of the senders' queues."""
        self._rows: list[bytes] = []
        self._lengths: list[QueueSample] = []
        self._second_lengths: list[QueueSample] = []
        self._sender_lengths: list[SenderSample] = []
        self._sent = 0.0
        self._tick = -1

    def add(self, flow: SampledFlow, sender: Host, receiver: Host) -> None:
        """Add a flow to the samples."""
        self.flows.append(flow)
        self.flows.sort()
        ends = sender.name, receiver.name
        if ends not in self._pairs:
            self._pairs[ends] = SampledPair(self._diag(sender), self._diag(receiver))
        self._pairs[ends].add(flow)

    def watch(self, queue: QueueLength | None) -> None:
        """Sample `queue` as the bottleneck's from now on; None for no queue."""
        if self._bottleneck is not None:
            if queue is not None:
                with contextlib.suppress(
                    LabError
                ):  # the queue is gone, and the last sample has its final counters
                    self._bottleneck.read()
            self._earlier = self._bottleneck.totals
            self._bottleneck.close()
            self._bottleneck = None
        if queue is not None:
            try:
                self._bottleneck = _QueueCounter(queue, self._earlier)
            except LabError:
                queue.close()
                if not self._queue_may_go:
                    raise

    def watch_second(self, queue: QueueLength) -> None:
        """Sample `queue` as the second bottleneck's."""
        self._second = _QueueCounter(queue)

    def watch_senders(self, hosts: Iterable[Host]) -> None:
        """Sample the interface queues of these hosts as well, if they have a queue now."""
        for host in hosts:
            number = int(host.name[1:])
            if number not in self._senders:
                queue = QueueLength(host.interface)
                if queue.read().has_queue:
                    self._senders[number] = _QueueCounter(queue)
                else:
                    queue.close()

    def _diag(self, host: Host) -> SockDiag:
        if host.name not in self._diags:
            self._diags[host.name] = SockDiag(host)
        return self._diags[host.name]

    def close(self) -> None:
        """Release sockets and trace; safe to call twice."""
        for diag in self._diags.values():
            diag.close()
        self.watch(None)
        if self._second is not None:
            self._second.close()
        while self._senders:
            self._senders.popitem()[1].close()
        if self.trace is not None:
            self.trace.close()

    def begin(self, at: float) -> None:
        """Set the start of the traffic, in the lab's clock."""
        self.began = self.due = at

    def _sample_flows(self, t: float) -> list[bytes]:
        states = [state for pair in self._pairs.values() for state in pair.sample(t)]
        states.sort()
        return [row for _, row in states]

    def take(self, waited: bool = True) -> tuple[float, list[bytes]]:
        """Take a sample of everything.

        Args:
            waited: Whether the agent slept until the sample was due. Otherwise its own work made it late, and not the
                machine's timers.

        Returns:
            The time, s since the traffic began, and a row for each existing flow.

        Raises:
            LabError: The bottleneck's queue is gone.
        """
        now = time.monotonic()
        t = now - self.began
        if self._tick >= 0 and waited:
            self.timing.record_wakeup(now - self.due)
        self.timing.record_sample(t)
        # A fixed grid: one late sample does not delay the next ones.
        self._tick = max(self._tick + 1, int(t / self.timing.period) + 1)
        self.due = self.began + self._tick * self.timing.period
        states = self._sample_flows(round(t, 6))
        self._rows += states
        if self._bottleneck is not None:
            try:
                length = self._bottleneck.read()
            except LabError:
                if not self._queue_may_go:
                    raise
                self.watch(None)
            else:
                self._lengths.append(_queue_sample(t, length))
        if self._second is not None:
            self._second_lengths.append(_queue_sample(t, self._second.read()))
        if self._tick % self._sender_interval == 1 % self._sender_interval:
            self._sample_senders(round(t, 6))
        for source in self.udp:
            source.poll(t)
        return t, states

    def _sample_senders(self, t: float) -> None:
        for host, queue in self._senders.items():
            length = queue.read()
            if length.has_queue:
                self._sender_lengths.append(SenderSample(host, t, length.bytes, length.packets, length.drops))

    def send(self, t: float, at_once: bool) -> None:
        """Send the samples up to `t` if they fill a batch, or `at_once`."""
        if t - self._sent < _BATCH and not at_once:
            return
        acks, retransmissions = self.trace.take(self.began) if self.trace is not None else ([], [])
        udp = [row for source in self.udp for row in source.take(t)]
        self._channel.send(
            RawSamples(
                round(t, 6),
                b"".join(self._rows),
                tuple(self._lengths),
                tuple(acks),
                tuple(self._sender_lengths),
                tuple(sorted(udp, key=lambda row: row.t)),
                tuple(retransmissions),
                tuple(self._second_lengths),
            )
        )
        self._rows, self._lengths, self._second_lengths, self._sender_lengths, self._sent = [], [], [], [], t

    def ended(
        self,
        doubts: Doubts,
        seconds: float,
        complete: bool,
        planned: bool,
        udp: Sequence[UdpResult] = (),
        captured: Sequence[CapturedAt] = (),
        transfers: Sequence[TransferRecord] = (),
    ) -> Ended:
        """Return the final report of the run, which took `seconds` of the lab's time."""
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
            tuple(transfers),
        )
