"""Traffic of an experiment: the groups of flows, their measurement, and changes while they run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import msgspec

from tcptutor.agent import connecting, shaping
from tcptutor.agent.capture import Capture
from tcptutor.agent.channel import Channel
from tcptutor.agent.counters import Processors
from tcptutor.agent.fidelity import FidelityChecks
from tcptutor.agent.flow_group import RUN_AGAIN, Group
from tcptutor.agent.flow_process import FlowProcess
from tcptutor.agent.host_settings import Setup, mtu, set_mtu
from tcptutor.agent.netlink import QueueLength
from tcptutor.agent.network import Interface, Network
from tcptutor.agent.sampler import SampledFlow, Sampler
from tcptutor.agent.short_flows import ShortFlows
from tcptutor.agent.streams import StreamGroup
from tcptutor.agent.tracing import Tracing
from tcptutor.agent.udp import UdpGroup, UdpReports
from tcptutor.base import units
from tcptutor.base.errors import LabError
from tcptutor.run import CapturedAt, Ended
from tcptutor.spec import Change, Experiment
from tcptutor.spec.flow_groups import flow_groups
from tcptutor.wire import plan
from tcptutor.wire.plan import Chain
from tcptutor.wire.protocol import RawSamples

_EARLY = 0.5
"""Time by which iperf3 may end early, s: on a busy machine it begins long before its flows are detected."""
_MIN_SHARE = 0.5
"""Smallest share of the measured time that a run must have if its flows end still earlier."""
_MIN_ROUND_TRIPS = 10
"""Round trips below which iperf3 may fail for lack of time."""


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
        self.groups = groups(network, experiment, first_port, self.process)
        self.short_flows = (
            ShortFlows(network, experiment, self.process) if experiment.has_short_flows else None
        )
        self.problems: list[str] = []
        """A sentence for each change that the kernel does not hold as requested."""
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
        if network.second_bottleneck is not None:
            kinds = [qdisc.kind for qdisc in chains[network.second_bottleneck]]
            self.sampler.watch_second(
                QueueLength(network.second_bottleneck, shaping.handle(kinds.index("tbf")))
            )
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
            if self.short_flows is not None:
                cleanup.callback(self.short_flows.stop)
            cleanup.callback(self.process.stop)

    def start(self) -> bool:
        """Start receivers and the first flows; time begins when these are connected and may send.

        Returns:
            Whether the path was loss-free meanwhile.
        """
        self.processors.restart()
        for group in self.groups:
            group.prepare()
        if self.short_flows is not None:
            self.short_flows.prepare()
        self.process.start()
        for group in self.groups:
            while not group.prepared:
                self.channel.pause(0.005)
        if self.experiment.flows.capture:
            self.capture = Capture(self.network, self.experiment)
        now = [group for group in self.groups if group.start == 0]
        if is_loss_free := connecting.is_loss_free(self.experiment):
            with connecting.without_loss(self._setup, self._chains):
                self._connect(now)
                if self.udp:
                    # The last answer to a handshake may still be in flight.
                    self.channel.pause(max(map(self.experiment.pair_delay, range(self.experiment.pairs))))
        else:
            self._connect(now)
        self.sampler.begin(time.monotonic())
        for group in now:
            group.send()
        if self.short_flows is not None:
            self.short_flows.send()
        return is_loss_free

    def _connect(self, now: list[Group]) -> None:
        delays = connecting.waits(self.experiment, now)
        began = time.monotonic()
        pending = sorted(zip(delays, now, strict=True), key=lambda item: item[0])
        deadline = began + max(delays, default=0.0) + connecting.timeout(self.experiment)
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

        changes = [change for change in self.experiment.path.all_changes if change.name != "streams"]
        actions = [(change.at, change_path(change)) for change in changes]
        actions += [(group.start, begin(group)) for group in self.groups if group.start > 0]
        actions += [
            (group.end, group.close_flows)
            for group in self.groups
            if isinstance(group, StreamGroup) and group.end is not None
        ]
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
        if change.name == "algorithm":
            self._change_algorithm(change.algorithm)
            return
        if change.name == "mtu":
            self._change_mtu(round(change.value))
            return
        self._path = self._path.after(change)
        path, seed = plan.forward(self._path), self.experiment.seed
        chain = plan.chain(path, self.experiment.hosts.mtu, seed, self._has_netem, self.experiment.packet)
        if path.rate_trace and change.name == "rate":
            # Setting netem again would restart its random numbers at each step.
            shaping.change(self.network.bottleneck, chain, ("tbf",))
        else:
            shaping.change(self.network.bottleneck, chain)

    def _change_algorithm(self, name: str) -> None:
        streams = [group for group in self.groups if isinstance(group, StreamGroup)]
        for group in streams:
            group.set_algorithm(name)
        if wrong := sorted({each for group in streams for each in group.algorithms} - {name}):
            self.problems.append(f"algorithm: asked for {name}, the kernel holds {', '.join(wrong)}")

    def _change_mtu(self, size: int) -> None:
        now = self.experiment.at(time.monotonic() - self.sampler.began)
        set_mtu(self.network, size)
        if self._chains.get(self.network.bottleneck):
            chain = plan.chain(
                plan.forward(self._path), size, now.seed, self._has_netem, min(now.packet, size)
            )
            shaping.change(self.network.bottleneck, chain)
        for interface in self.network.interfaces:
            if (actual := mtu(interface)) != size:
                self.problems.append(
                    f"{interface.name}: asked for an MTU of {size}, the kernel holds {actual}"
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
        began = self.sampler.began
        transfers = [
            each for group in self.groups if isinstance(group, StreamGroup) for each in group.transfers(began)
        ]
        if self.short_flows is not None:
            short = self.short_flows.transfers(began)
            checks.check_short_flows(len(short), self.short_flows.due(seconds))
            transfers += short
        transfers.sort(key=lambda transfer: transfer.t)
        return self.sampler.ended(
            checks, seconds, is_complete, planned=True, udp=udp, captured=captured, transfers=transfers
        )


def groups(network: Network, experiment: Experiment, first_port: int, process: FlowProcess) -> list[Group]:
    """Group the flows with equal settings: TCP flows by all their settings, UDP flows by their pair.

    The TCP flows' ends go into `process`, which the caller starts and stops. Source ports begin at `first_port`.
    """
    result: list[Group] = []
    for settings, flows in flow_groups(experiment).items():
        pair = settings.pair
        hosts = network.senders[pair], network.receivers[pair]
        sender, receiver = reversed(hosts) if settings.is_reversed else hosts
        # The flows of a group need not have consecutive numbers, but their ports are consecutive.
        port = first_port + sum(len(group.flows) for group in result)
        result.append(
            StreamGroup(
                network, experiment, len(result), pair, sender, receiver, settings.start, port,
                flows=flows, end=settings.end, process=process,
            )
        )  # fmt: skip
    streams, remedy = experiment.flows.udp_streams, RUN_AGAIN
    longest = max(map(experiment.pair_delay, range(experiment.pairs)))
    if experiment.flows.duration < _MIN_ROUND_TRIPS * longest:
        # iperf3's own messages before and after the data take several round trips.
        trips = units.seconds(_MIN_ROUND_TRIPS * longest)
        remedy = f"take a longer duration, {_MIN_ROUND_TRIPS} round trips ({trips}) or more"
    for pair in range(experiment.pairs if streams else 0):
        sender, receiver = network.senders[pair], network.receivers[pair]
        port = first_port + experiment.total_streams + pair * streams
        result.append(
            UdpGroup(
                network, experiment, len(result), pair, sender, receiver, 0.0, port,
                udp_streams=streams, remedy=remedy,
            )
        )  # fmt: skip
    return result
