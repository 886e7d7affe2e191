"""The flows of a run while it lasts, with their samples, changes of the path and captured packets."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import msgspec

from tcptutor.agent import connecting, shaping, traffic
from tcptutor.agent.capture import Capture
from tcptutor.agent.channel import Channel
from tcptutor.agent.flow_process import FlowProcess
from tcptutor.agent.group import Group
from tcptutor.agent.hosts import Setup
from tcptutor.agent.load import Load
from tcptutor.agent.netlink import QueueLength
from tcptutor.agent.network import Interface, Network
from tcptutor.agent.sampler import SampledFlow, Sampler
from tcptutor.agent.tracing import Tracing
from tcptutor.agent.udp import UdpReports
from tcptutor.agent.udp_flows import UdpGroup
from tcptutor.base.errors import LabError
from tcptutor.run import CapturedAt
from tcptutor.spec import Change, Experiment
from tcptutor.wire import plan
from tcptutor.wire.plan import Chain
from tcptutor.wire.protocol import RawSamples

_EARLY = 0.5
"""How much before our time iperf3 may end, s: its own began before we saw its flows, on a busy machine long before."""
_ENOUGH = 0.5
"""The share of the measured time that a run must have where they ended still earlier."""
_CONNECT_TIMEOUT = 15.0
"""Longest wait for the connections, s of the lab's clock; a lossy path may need several SYNs."""
_LONGEST_TIMEOUT = 120.0
"""Longest wait on a path that loses most of them, s: the kernel itself gives one up after some two minutes."""


class RunningTraffic:
    """The running traffic and its samples. Owns its flows; `stop` ends them."""

    def __init__(
        self,
        network: Network,
        experiment: Experiment,
        setup: Setup,
        wanted: dict[Interface, Chain],
        first_port: int,
        channel: Channel,
        sample_hz: float,
    ) -> None:
        self.network, self.channel = network, channel
        self._setup, self._wanted = setup, wanted
        self.experiment = experiment
        """With every change that has happened."""
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
        kinds = [qdisc.kind for qdisc in wanted.get(network.bottleneck, ())]
        self._has_netem = "netem" in kinds
        if "tbf" in kinds:
            self.sampler.watch(QueueLength(network.bottleneck, shaping.handle(kinds.index("tbf"))))
        self.sampler.watch_senders(dict.fromkeys(group.sender for group in self.groups))
        self.capture: Capture | None = None
        """From the start on, where packets are to be kept."""
        self._path = experiment.path
        self.load = Load()
        """Of the measured time once the warm-up is over, of all before."""
        self.missing = 0.0
        """How much before its time all of it had ended, s."""

    def stop(self) -> None:
        with ExitStack() as cleanup:
            if self.capture is not None:
                cleanup.callback(self.capture.close)
            cleanup.callback(self.sampler.close)
            for group in self.groups:
                cleanup.callback(group.stop)
            cleanup.callback(self.process.stop)

    def start(self) -> None:
        """Receivers, then the flows that begin at once: time begins when they are connected, and may send."""
        for group in self.groups:
            group.prepare()
        self.process.start()
        for group in self.groups:
            while not group.prepared:
                self.channel.pause(0.005)
        if self.experiment.flows.capture:
            self.capture = Capture(self.network, self.experiment)
        now = [group for group in self.groups if group.start == 0]
        if connecting.spared(self.experiment):
            with connecting.without_loss(self._setup, self._wanted):
                self._connect(now)
                if self.udp:
                    # The last answer to a handshake may be on its way.
                    self.channel.pause(max(map(self.experiment.pair_delay, range(self.experiment.pairs))))
        else:
            self._connect(now)
        self.sampler.begin(time.monotonic())
        for group in now:
            group.send()

    def _connect(self, now: list[Group]) -> None:
        """Connect the groups `now`, and wait until their flows are there. Raises LabError."""
        waits = traffic.waits(self.experiment, now)
        began = time.monotonic()
        todo = sorted(zip(waits, now, strict=True), key=lambda one: one[0])
        deadline = began + max(waits, default=0.0) + self._timeout + traffic.connect_seconds(self.experiment)
        while True:
            while todo and began + todo[0][0] <= time.monotonic():
                todo.pop(0)[1].connect()
            if all(group.connected for group in now):
                return
            self._check(now)
            if time.monotonic() > deadline:
                raise LabError("the flows do not connect: the path loses too much, take a smaller loss")
            self.channel.pause(self.sampler.timing.period / 5)

    @property
    def failures(self) -> list[str]:
        """Why some of the flows ended before their time, a line each."""
        return [group.failure for group in self.groups if group.failure]

    @property
    def _timeout(self) -> float:
        """How long the connections may take beside the path's own time, s: each attempt takes twice the one before."""
        path = self.experiment.path
        arrives = (1 - path.loss) * (1 - path.reverse_loss)
        return min(_LONGEST_TIMEOUT, _CONNECT_TIMEOUT / arrives**2)

    def _check(self, groups: list[Group], allowed: bool = False) -> None:
        """Raises LabError, with the reason, when flows have ended that should not have; `allowed`: only when failed."""
        for group in groups:
            if group.failure:
                raise LabError(group.failure)
            if group.ended and not allowed:
                raise LabError(f"the flows of {group.sender.name} ended before their time: {group.remedy}")

    def _actions(self) -> list[tuple[float, Callable[[], None]]]:
        """What happens while the traffic runs: (when, what), in order of time."""

        def change(one: Change) -> Callable[[], None]:
            return lambda: self._change(one)

        def begin(group: Group) -> Callable[[], None]:
            def start() -> None:
                group.connect()
                group.send()

            return start

        actions = [(one.at, change(one)) for one in self.experiment.path.changes]
        actions += [(group.start, begin(group)) for group in self.groups if group.start > 0]
        actions.append((self.experiment.flows.warmup, self.load.begin))
        return sorted(actions, key=lambda action: action[0])

    def _take_change(self, change: Change) -> None:
        """One that nobody here knew of."""
        path = self.experiment.path
        path = msgspec.structs.replace(path, changes=(*path.changes, change))
        self.experiment = msgspec.structs.replace(self.experiment, path=path)
        self._change(change)

    def _change(self, change: Change) -> None:
        if change.name == "link":
            shaping.set_link(self.network.bottleneck, up=bool(change.value))
            return
        self._path = self._path.after(change)
        way, seed = plan.forward(self._path), self.experiment.seed
        shaping.change(
            self.network.bottleneck,
            plan.chain(way, self.experiment.hosts.mtu, seed, self._has_netem, self.experiment.packet),
        )

    def sample(self) -> float:
        """Take and send samples for the length of the experiment; the time they cover, s."""
        total = self.experiment.seconds
        actions = self._actions()
        while True:
            # Before the sample: it is to have the last of what a flow sent.
            ended = all(group.ended for group in self.groups)
            t, _ = self.sampler.take()
            while actions and actions[0][0] <= t:
                actions.pop(0)[1]()
            while self.channel.deferred.due <= t:
                self._take_change(self.channel.deferred.take())
            over = t >= total or ended
            self.sampler.send(t, at_once=over)
            if over:
                if t < total:
                    self._ended_early(total - t)
                return t
            self.channel.pause(max(0.0, self.sampler.due - time.monotonic()))

    def _ended_early(self, missing: float) -> None:
        """All flows are over, `missing` seconds before the run is. Raises LabError where little was measured."""
        fixed = self.experiment.flows.bytes is not None
        few = missing > self.experiment.flows.duration * (1 - _ENOUGH)
        if few:
            self._check(self.groups, allowed=fixed or missing <= _EARLY)
        if not fixed and missing > _EARLY:
            self.missing = missing

    def finish(self, seconds: float) -> None:
        """Wait for iperf3 to write what it counted of UDP; it may take a moment longer than the samples.

        Raises LabError with iperf3's error.
        """
        deadline = time.monotonic() + 5 + 20 * self.experiment.path.delay
        for group in self._udp_groups:
            while not (group.ended and group.served) and time.monotonic() < deadline:
                self.channel.pause(0.02)
            if group.failure:
                raise LabError(group.failure)
        if rows := [row for one in self.udp for row in one.end(seconds)]:
            self.channel.send(
                RawSamples(round(seconds, 6), b"", udp=tuple(sorted(rows, key=lambda row: row.t)))
            )

    def captured(self) -> list[CapturedAt]:
        """Send the packets that were kept; how many, for each interface."""
        if self.capture is None:
            return []
        kept, packets = self.capture.end(self.sampler.began)
        for piece in packets:
            self.channel.send(piece)
        return kept
