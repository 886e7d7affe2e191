"""Traffic of a run while it lasts, with its samples, path changes and captured packets."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import msgspec

from tcptutor.agent import shaping, traffic
from tcptutor.agent.capture import Capture
from tcptutor.agent.channel import Channel
from tcptutor.agent.counters import Processors
from tcptutor.agent.fidelity import FidelityChecks
from tcptutor.agent.flow_group import Group
from tcptutor.agent.host_settings import Setup
from tcptutor.agent.netlink import QueueLength
from tcptutor.agent.network import Interface, Network
from tcptutor.agent.sampler import SampledFlow, Sampler
from tcptutor.agent.streams import FlowProcess
from tcptutor.agent.tracing import Tracing
from tcptutor.agent.udp import UdpGroup, UdpReports
from tcptutor.base.errors import LabError
from tcptutor.run import CapturedAt, Ended
from tcptutor.spec import Change, Experiment
from tcptutor.wire import plan
from tcptutor.wire.plan import Chain
from tcptutor.wire.protocol import RawSamples

_EARLY = 0.5
"""Time by which iperf3 may end early, s: on a busy machine it begins long before its flows are detected."""
_MIN_SHARE = 0.5
"""Smallest share of the measured time that a run must have if its flows end still earlier."""
_CONNECT_TIMEOUT = 15.0
"""Timeout for the connections, s of the lab's clock; a lossy path may need several SYNs."""
_MAX_CONNECT_TIMEOUT = 120.0
"""Timeout on a path that loses most SYNs, s: the kernel gives up after about two minutes."""


class RunningTraffic:
    """Flows of a run and their sampling. Owns the flows; `close` ends them."""

    def __init__(
        self,
        network: Network,
        experiment: Experiment,
        setup: Setup,
        chains: dict[Interface, Chain],
        first_port: int,
        channel: Channel,
        sample_hz: float,
    ) -> None:
        self.network, self.channel = network, channel
        self._setup, self._chains = setup, chains
        self.experiment = experiment
        """Experiment with all path changes so far."""
        self.process = FlowProcess()
        self.groups = traffic.groups(network, experiment, first_port, self.process)
        self.sampler = Sampler(channel, sample_hz)
        for group in self.groups:
            for number, address in group.addresses:
                flow = SampledFlow(number, group.pair, address)
                self.sampler.add(flow, group.sender, group.receiver)
        self._udp_groups = [group for group in self.groups if isinstance(group, UdpGroup)]
        self.udp = [UdpReports(group, group.pair * group.udp_streams) for group in self._udp_groups]
        self.sampler.udp += self.udp
        if experiment.flows.acks:
            self.sampler.trace = Tracing({flow.address: flow.number for flow in self.sampler.flows})
        kinds = [qdisc.kind for qdisc in chains.get(network.bottleneck, ())]
        self._has_netem = "netem" in kinds
        if "tbf" in kinds:
            self.sampler.watch(QueueLength(network.bottleneck, shaping.handle(kinds.index("tbf"))))
        self.sampler.watch_senders(dict.fromkeys(group.sender for group in self.groups))
        self.capture: Capture | None = None
        self._path = experiment.path
        self.processors = Processors()
        """Load in the measured time; before that, since the start."""
        self.missing = 0.0
        """Time by which all flows ended early, s."""

    def close(self) -> None:
        with ExitStack() as cleanup:
            if self.capture is not None:
                cleanup.callback(self.capture.close)
            cleanup.callback(self.sampler.close)
            for group in self.groups:
                cleanup.callback(group.stop)
            cleanup.callback(self.process.stop)

    def start(self) -> bool:
        """Start receivers and the first flows; time begins when these are connected and may send.

        Returns:
            Whether the path was loss-free meanwhile.
        """
        self.processors.restart()
        for group in self.groups:
            group.prepare()
        self.process.start()
        for group in self.groups:
            while not group.prepared:
                self.channel.pause(0.005)
        if self.experiment.flows.capture:
            self.capture = Capture(self.network, self.experiment)
        now = [group for group in self.groups if group.start == 0]
        if is_loss_free := traffic.connects_without_loss(self.experiment):
            with traffic.without_loss(self._setup, self._chains):
                self._connect(now)
                if self.udp:
                    # The last answer to a handshake may still be in flight.
                    self.channel.pause(max(map(self.experiment.pair_delay, range(self.experiment.pairs))))
        else:
            self._connect(now)
        self.sampler.begin(time.monotonic())
        for group in now:
            group.send()
        return is_loss_free

    def _connect(self, now: list[Group]) -> None:
        waits = traffic.waits(self.experiment, now)
        began = time.monotonic()
        pending = sorted(zip(waits, now, strict=True), key=lambda item: item[0])
        deadline = began + max(waits, default=0.0) + self._timeout + traffic.connect_seconds(self.experiment)
        while True:
            while pending and began + pending[0][0] <= time.monotonic():
                pending.pop(0)[1].connect()
            if all(group.connected for group in now):
                return
            self._check(now)
            if time.monotonic() > deadline:
                raise LabError("the flows do not connect: the path loses too much, take a smaller loss")
            self.channel.pause(self.sampler.timing.period / 5)

    @property
    def failures(self) -> list[str]:
        return [group.failure for group in self.groups if group.failure]

    @property
    def _timeout(self) -> float:
        """Time for handshakes in addition to the path's delay, s; each retry doubles the timeout."""
        path = self.experiment.path
        answered = (1 - path.loss) * (1 - path.reverse_loss)
        return min(_MAX_CONNECT_TIMEOUT, _CONNECT_TIMEOUT / answered**2)

    def _check(self, groups: list[Group], may_end: bool = False) -> None:
        """Raise LabError with the reason if flows have failed, or have ended unless they `may_end`."""
        for group in groups:
            if group.failure:
                raise LabError(group.failure)
            if group.ended and not may_end:
                raise LabError(f"the flows of {group.sender.name} ended early: {group.remedy}")

    def _actions(self) -> list[tuple[float, Callable[[], None]]]:
        """Return the scheduled actions of the run as (time, action), sorted by time."""

        def change_path(change: Change) -> Callable[[], None]:
            return lambda: self._change_path(change)

        def begin(group: Group) -> Callable[[], None]:
            def start() -> None:
                group.connect()
                group.send()

            return start

        actions = [(change.at, change_path(change)) for change in self.experiment.path.changes]
        actions += [(group.start, begin(group)) for group in self.groups if group.start > 0]
        actions.append((self.experiment.flows.warmup, self.processors.restart))
        return sorted(actions, key=lambda action: action[0])

    def _apply_deferred(self, change: Change) -> None:
        path = self.experiment.path
        path = msgspec.structs.replace(path, changes=(*path.changes, change))
        self.experiment = msgspec.structs.replace(self.experiment, path=path)
        self._change_path(change)

    def _change_path(self, change: Change) -> None:
        if change.name == "link":
            shaping.set_link(self.network.bottleneck, up=bool(change.value))
            return
        self._path = self._path.after(change)
        path, seed = plan.forward(self._path), self.experiment.seed
        shaping.change(
            self.network.bottleneck,
            plan.chain(path, self.experiment.hosts.mtu, seed, self._has_netem, self.experiment.packet),
        )

    def sample(self) -> float:
        """Sample for the length of the experiment, apply its scheduled actions, and return the sampled time, s."""
        total = self.experiment.seconds
        actions = self._actions()
        while True:
            # Checked before the sample, which must include the last data of a flow.
            ended = all(group.ended for group in self.groups)
            t, _ = self.sampler.take()
            while actions and actions[0][0] <= t:
                actions.pop(0)[1]()
            while self.channel.deferred.due <= t:
                self._apply_deferred(self.channel.deferred.take())
            is_over = t >= total or ended
            self.sampler.send(t, at_once=is_over)
            if is_over:
                if t < total:
                    self._ended_early(total - t)
                return t
            self.channel.pause(max(0.0, self.sampler.due - time.monotonic()))

    def _ended_early(self, missing: float) -> None:
        """Record that all flows ended `missing` seconds early. Raises LabError if little was measured."""
        fixed = self.experiment.flows.bytes is not None
        too_short = missing > self.experiment.flows.duration * (1 - _MIN_SHARE)
        if too_short:
            self._check(self.groups, may_end=fixed or missing <= _EARLY)
        if not fixed and missing > _EARLY:
            self.missing = missing

    def finish(self, seconds: float) -> None:
        """Wait for iperf3 to write its UDP counts, which may take a moment longer than the samples.

        Raises LabError with iperf3's error.
        """
        deadline = time.monotonic() + 5 + 20 * self.experiment.path.delay
        for group in self._udp_groups:
            while not (group.ended and group.served) and time.monotonic() < deadline:
                self.channel.pause(0.02)
            if group.failure:
                raise LabError(group.failure)
        if rows := [row for reports in self.udp for row in reports.finish(seconds)]:
            self.channel.send(
                RawSamples(round(seconds, 6), b"", udp=tuple(sorted(rows, key=lambda row: row.t)))
            )

    def sample_last(self) -> float:
        """Send the samples of stopped traffic, and return the time of the last, s."""
        seconds = self.sampler.timing.last
        self.sampler.send(seconds, at_once=True)
        return seconds

    def ended(self, checks: FidelityChecks, seconds: float, is_complete: bool) -> Ended:
        """Send the captured packets, and return the final event of the run."""
        warmup = self.experiment.flows.warmup
        udp = [result for reports in self.udp for result in reports.results(warmup, seconds)]
        captured: list[CapturedAt] = []
        if self.capture is not None:
            captured, blocks = self.capture.end(self.sampler.began)
            for block in blocks:
                self.channel.send(block)
        return self.sampler.ended(checks, seconds, is_complete, planned=True, udp=udp, captured=captured)
