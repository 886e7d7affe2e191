"""A run that nobody planned: flows that somebody started, sampled and summed up like an experiment's own."""

from __future__ import annotations

import time

import msgspec

from tcptutor.errors import LabError
from tcptutor.lab.channel import Channel
from tcptutor.lab.fidelity import Watch
from tcptutor.lab.load import Load
from tcptutor.lab.network import Network
from tcptutor.lab.protocol import Finished, Found, Samples, Seen
from tcptutor.lab.queuelength import QueueLength
from tcptutor.lab.results import flow_results
from tcptutor.lab.sampler import Flow, Sampler
from tcptutor.lab.session.finder import Start
from tcptutor.lab.session.settings import Counted, Settings, changes
from tcptutor.lab.shaping import Held
from tcptutor.lab.timing import Timing
from tcptutor.run import Environment, QueueSample, Sample, SampleTable
from tcptutor.spec import LENGTH, Change, Experiment

_BATCH = 0.2
"""Lab time that one Samples event covers, s."""
_TOGETHER = 0.1
"""Flows found within this time began together, s."""
_IDLE = 3.0
"""Without an acknowledged byte for so long, a run is over even if its connections stay open, s."""


class Observed:
    """One run, from its first flow to the end of its last. Owns its sockets; `finish` closes them."""

    def __init__(
        self,
        network: Network,
        settings: Settings,
        channel: Channel,
        starts: list[Start],
        environment: Environment,
        sample_hz: float,
    ) -> None:
        self._network, self._settings, self._channel = network, settings, channel
        self._environment = environment
        self._timing = Timing(1 / sample_hz)
        self._began = self.due = time.monotonic()
        """`due`: when the next sample is."""
        self._sampler = Sampler([])
        self._starts: list[tuple[float, Start]] = []
        self._pair = self._pair_of(starts[0])
        self._at_first = self._path = settings.path(self._pair)
        self._changes: list[Change] = []
        # Nothing was sent since it was last read, so what was counted then is what had been counted before this run.
        self._before = settings.held
        self._queue_length = self._queue_now()
        self._load = Load()
        self._samples, self._queue = SampleTable(), list[QueueSample]()
        self._rows: list[Sample] = []
        self._lengths: list[QueueSample] = []
        self._sent = self._progress = 0.0
        self._acked: dict[int, int] = {}
        self._add(starts)
        channel.send(Found(self._experiment(0.0)))

    def _pair_of(self, start: Start) -> int:
        names = {host.name for host in self._network.senders}
        sends = start.sender if start.sender.name in names else start.receiver
        return next((pair for pair, host in enumerate(self._network.senders) if host == sends), 0)

    def _add(self, starts: list[Start]) -> None:
        at = time.monotonic() - self._began
        for start in starts:
            flow = Flow(len(self._starts), self._pair_of(start), start.address)
            self._sampler.add(flow, start.sender, start.receiver)
            self._starts.append((round(at, 2), start))
        self._progress = at

    def add(self, starts: list[Start]) -> None:
        """Further flows of the same run."""
        self._add(starts)
        self._channel.send(Seen(self._experiment(time.monotonic() - self._began)))

    def _look_at_settings(self) -> None:
        """Has somebody changed the path meanwhile?"""
        if not self._settings.changed(self._queue_length.port if self._queue_length is not None else -1):
            return
        at, now = time.monotonic() - self._began, self._settings.path(self._pair)
        self._changes += changes(self._path, now, at)
        self._path = now
        if self._queue_length is not None:
            self._queue_length.close()
        self._queue_length = self._queue_now()
        self._channel.send(Seen(self._experiment(at)))

    def _experiment(self, seconds: float, sysctls: dict[str, str] | None = None) -> Experiment:
        """What this run turned out to be an experiment of."""
        path = msgspec.structs.replace(self._at_first, changes=tuple(self._changes))
        senders = {host.name for host in self._network.senders}
        first = self._starts[0][1]
        seen = self._settings.experiment(path, first.sender, sysctls)
        names = tuple(start.algorithm for _, start in self._starts)
        alike = len(set(names)) == 1
        hosts = msgspec.structs.replace(seen.hosts, algorithm=names[0], algorithms=() if alike else names)
        times = tuple(at for at, _ in self._starts)
        ways = tuple("forward" if start.sender.name in senders else "reverse" for _, start in self._starts)
        flows = msgspec.structs.replace(
            seen.flows,
            streams=len(self._starts),
            duration=round(max(seconds, self._timing.period), 2),
            warmup=0.0,
            starts=times if max(times) > _TOGETHER else (),
            directions=ways if "reverse" in ways else (),
            # What somebody's own program writes is not known; most take iperf3 as it is.
            length=LENGTH if seen.hosts.send_buffer is not None else seen.flows.length,
        )
        return msgspec.structs.replace(seen, hosts=hosts, flows=flows, pairs=1)

    def sample(self) -> bool:
        """Take one sample of everything; whether the run goes on."""
        now = time.monotonic()
        t = now - self._began
        self._timing.woke(now - self.due)
        self._timing.took(t)
        self.due = max(self.due + self._timing.period, now)
        rows = self._sampler.take(t)
        self._rows += rows
        self._sample_queue(t)
        for row in rows:
            if row.bytes_acked > self._acked.get(row.flow, 0):
                self._acked[row.flow], self._progress = row.bytes_acked, t
        over = not rows or t - self._progress > _IDLE
        if t - self._sent >= _BATCH or over:
            self._samples.extend(self._rows)
            self._queue += self._lengths
            self._channel.send(Samples(round(t, 6), tuple(self._rows), tuple(self._lengths)))
            self._rows, self._lengths, self._sent = [], [], t
            self._look_at_settings()
        return not over

    def _sample_queue(self, t: float) -> None:
        if self._queue_length is None:
            return
        try:
            length = self._queue_length.now()
        except LabError:  # somebody has taken it away; what is there instead is read soon
            self._queue_length.close()
            self._queue_length = None
            return
        self._lengths.append(
            QueueSample(round(t, 6), length.bytes, length.packets, length.drops, length.sent)
        )

    def finish(self, complete: bool) -> None:
        """Sum it up and send the end of it; `complete` is false when the flows still went on."""
        self.close()
        first = self._starts[0][1]
        self._settings.look()
        seconds = min(self._timing.last, self._progress + self._timing.period)
        experiment = self._experiment(seconds, self._settings.changed_sysctls((first.sender, first.receiver)))
        self._channel.send(Seen(experiment))
        measured = SampleTable()
        measured.extend([row for row in self._samples if row.t <= seconds])
        flows = flow_results(self._sampler.flows, measured, experiment)
        watch = Watch(experiment)
        watch.clock(self._environment.hz)
        watch.offloads(self._network)
        watch.processors(self._load.busy(), alone=self._environment.backend == "guest")
        watch.drops(_by_name(self._before), _by_name(self._settings.held), self._network.bottleneck.name)
        if complete:
            watch.enough_losses(flows)
        watch.super_packets(flows)
        watch.rate(self._queue)
        watch.sampling(self._timing)
        self._channel.send(Finished(tuple(flows), watch.verdict(), round(seconds, 6), complete))

    def close(self) -> None:
        """Let go of the sockets; safe to call twice."""
        self._sampler.close()
        if self._queue_length is not None:
            self._queue_length.close()

    def _queue_now(self) -> QueueLength | None:
        """The queue of the bottleneck, wherever somebody has put it; None without a rate."""
        bottleneck = self._network.bottleneck
        for held in self._settings.held[bottleneck]:
            if held.qdisc.kind == "tbf":
                return QueueLength(bottleneck, held.handle)
        return None


def _by_name(counted: Counted) -> dict[str, tuple[Held, ...]]:
    return {interface.name: chain for interface, chain in counted.items()}
