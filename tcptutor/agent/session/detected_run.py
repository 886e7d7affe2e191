"""Unplanned run: flows that a user has started, found in the kernel, sampled and reported like an experiment's own."""

from __future__ import annotations

import time
from typing import NamedTuple

import msgspec

from tcptutor.agent.channel import Channel
from tcptutor.agent.counters import HostCounters, Processors
from tcptutor.agent.fidelity import FidelityChecks
from tcptutor.agent.host_settings import sysctl
from tcptutor.agent.netlink import Address, QueueLength, SockDiag, tcp_request
from tcptutor.agent.network import Host, Network
from tcptutor.agent.sampler import SampledFlow, Sampler
from tcptutor.agent.session.datagrams import Datagrams
from tcptutor.agent.session.state import KernelState, changes
from tcptutor.run import Environment, UdpResult
from tcptutor.spec import Change, Experiment
from tcptutor.spec.frame_sizes import ETHERNET_HEADER, UDP_HEADERS
from tcptutor.wire import tcp_info
from tcptutor.wire.protocol import RunDetected
from tcptutor.wire.tcp_info import AT

_SIMULTANEOUS = 0.1
"""Time within which flows count as simultaneous, s."""
_IDLE = 3.0
"""Time without an acknowledged byte that ends a run with open connections, s, unless data is in flight."""
_GREETING = 16384
"""Largest amount of data that greetings can explain, bytes."""
_MIN_BYTES = 16384
"""Acknowledged bytes that make a flow; fewer are greetings, such as iperf3's control connection."""
_IPERF3_LENGTH = 131_072
"""Bytes per write of iperf3 by default."""
_MIN_TIMEOUTS = 2
"""Consecutive timeouts that show that no data arrives any more; a single loss causes a single timeout."""


class DetectedRun:
    """Run from its first flow to the end of its last. Owns its sockets; `finish` closes them.

    It has to begin with a TCP flow in `starts` or a UDP flow in `datagrams`.
    """

    def __init__(
        self,
        network: Network,
        state: KernelState,
        channel: Channel,
        starts: list[FlowStart],
        datagrams: Datagrams,
        environment: Environment,
        sample_hz: float,
    ) -> None:
        self._network, self._state, self._channel = network, state, channel
        self._environment = environment
        self._sampler = Sampler(channel, sample_hz, queue_may_go=True)
        self._starts: list[tuple[float, FlowStart]] = []
        self._datagrams = datagrams
        self._sampler.udp.append(datagrams)
        self._pair = (
            self._pair_of(starts[0].sender, starts[0].receiver) if starts else datagrams.flows[0].pair
        )
        self._first_path = self._path = state.path(self._pair)
        datagrams.set_path(self._path)
        self._changes: list[Change] = []
        state.count()
        self._before = state.qdiscs
        self._sampler.watch(self._queue_now())
        self._processors, self._counters = Processors(), HostCounters(network.hosts)
        self._progress = self._unacked_at = 0.0
        self._unread = dict.fromkeys(self._path.unread)
        self._unshaped = dict.fromkeys(state.unshaped(self._pair))
        self._acked: dict[int, int] = {}
        self._add(starts, at=0.0)
        channel.send(RunDetected(self._experiment(0.0)))

    @property
    def due(self) -> float:
        """Time of the next sample, in the lab's clock."""
        return self._sampler.due

    def _pair_of(self, sender: Host, receiver: Host) -> int:
        names = {host.name for host in self._network.senders}
        sends = sender if sender.name in names else receiver
        return next((pair for pair, host in enumerate(self._network.senders) if host == sends), 0)

    def _add(self, starts: list[FlowStart], at: float) -> None:
        for start in starts:
            flow = SampledFlow(len(self._starts), self._pair_of(start.sender, start.receiver), start.address)
            self._sampler.add(flow, start.sender, start.receiver)
            self._starts.append((round(at, 2), start))
        self._watch_senders()
        self._progress = at

    def _watch_senders(self) -> None:
        senders = [start.sender for _, start in self._starts] + [
            flow.sender for flow in self._datagrams.flows
        ]
        self._sampler.watch_senders(dict.fromkeys(senders))

    def add(self, starts: list[FlowStart]) -> None:
        self._add(starts, time.monotonic() - self._sampler.began)
        self.report_state()

    def record_changes(self) -> None:
        """Record the changes that the kernel's state shows."""
        at, now = time.monotonic() - self._sampler.began, self._state.path(self._pair)
        if now != self._path:
            self._changes += changes(self._path, now, at)
            self._path = now
            self._datagrams.set_path(now)
        self._unread |= dict.fromkeys(now.unread)
        self._unshaped |= dict.fromkeys(self._state.unshaped(self._pair))
        self._sampler.watch(self._queue_now())
        self._watch_senders()
        self.report_state()

    def report_state(self) -> None:
        """Send the kernel's state with the experiment that the run corresponds to."""
        experiment = self._experiment(time.monotonic() - self._sampler.began)
        self._channel.send(self._state.report(experiment, self._pair))

    def _experiment(self, seconds: float) -> Experiment:
        """Return the experiment that the run corresponds to, `seconds` after its start."""
        path = msgspec.structs.replace(
            self._first_path, changes=tuple(self._changes), unread=tuple(self._unread)
        )
        senders = {host.name for host in self._network.senders}
        first = self._starts[0][1] if self._starts else self._datagrams.flows[0]
        current = self._state.experiment(path, first.sender, first.receiver)
        names = tuple(start.algorithm for _, start in self._starts)
        same_algorithm = len(set(names)) <= 1
        algorithm = names[0] if names else current.hosts.algorithm
        hosts = msgspec.structs.replace(
            current.hosts, algorithm=algorithm, algorithms=() if same_algorithm else names
        )
        times = tuple(at for at, _ in self._starts)
        directions = tuple(
            "forward" if start.sender.name in senders else "reverse" for _, start in self._starts
        )
        flows = msgspec.structs.replace(
            current.flows,
            streams=len(self._starts),
            duration=round(max(seconds, self._sampler.timing.period), 2),
            warmup=0.0,
            starts=times if max(times, default=0.0) > _SIMULTANEOUS else (),
            directions=directions if "reverse" in directions else (),
            # The sizes of a program's writes are unknown; most users take iperf3 with its defaults.
            length=self._length(current),
            udp_streams=self._datagrams.streams,
            udp_rate=self._datagrams.rate() or current.flows.udp_rate,
        )
        return msgspec.structs.replace(current, hosts=hosts, flows=flows, pairs=1)

    def _length(self, current: Experiment) -> int | None:
        if not self._starts:
            return self._datagrams.size or current.flows.length
        return _IPERF3_LENGTH if current.hosts.send_buffer is not None else current.flows.length

    def sample(self, waited: bool) -> bool:
        """Take a sample of everything and return whether the run continues; `waited` as in `Sampler.take`."""
        t, states = self._sampler.take(waited)
        for flow, acked in map(tcp_info.bytes_acked, states):
            if acked > self._acked.get(flow, 0):
                self._acked[flow], self._progress = acked, t
        idle = t - max(self._progress, self._datagrams.progress) > _IDLE
        if any(map(tcp_info.has_unacked, states)):
            self._unacked_at, idle = t, False
        is_over = (not states and not self._datagrams.active) or idle
        if is_over and self._datagrams.flows:
            # Datagrams in transit belong to the run.
            is_over = t - self._datagrams.progress > self._datagrams.in_transit
        self._sampler.send(t, at_once=is_over)
        return not is_over

    def finish(self, complete: bool) -> None:
        """Send the final report of the run; `complete` is false if its flows were still active."""
        self.close()
        self._state.read_all()
        timing = self._sampler.timing
        progress = max(self._progress, self._unacked_at, self._datagrams.progress)
        seconds = min(timing.last, progress + timing.period)
        experiment = self._experiment(seconds)
        self._channel.send(self._state.report(experiment, self._pair))
        checks = FidelityChecks(experiment)
        checks.check_clock(self._environment.hz)
        checks.check_offloads(self._network)
        checks.check_kernel(self._counters.increases())
        checks.check_processors(self._processors.shares(), alone=self._environment.backend == "guest")
        checks.check_drops(self._before, self._state.qdiscs, self._network.bottleneck)
        udp = list(self._datagrams.results())
        checks.check_unread()
        checks.check_unshaped(tuple(self._unshaped))
        if reason := self._why_nothing_arrived(checks.frame, udp):
            checks.invalid.append(reason)
        self._datagrams.reset()
        self._channel.send(self._sampler.ended(checks, seconds, complete, planned=False, udp=udp))

    def _why_nothing_arrived(self, frame: int, udp: list[UdpResult]) -> str:
        """Return a probable reason why no data arrived; empty if some did."""
        if max(self._acked.values(), default=0) > _GREETING or any(result.received_bps for result in udp):
            return ""
        shaper, burst = self._state.shaper(self._pair), self._state.burst(self._pair)
        if self._datagrams.flows and not self._starts:
            frame = self._datagrams.size + UDP_HEADERS + ETHERNET_HEADER
        if shaper is not None and burst is not None and burst < frame:
            name = shaper[0].name
            return (
                f"tbf's burst of {burst} bytes on {name} is smaller than a frame of {frame}: nothing passes"
            )
        if not self._starts:
            sent = sum(result.datagrams or 0 for result in udp)
            return f"none of {sent} datagrams arrived: something on the path drops them"
        return (
            f"the connection opened and no segment in a frame of {frame} bytes arrived: something drops those"
        )

    def close(self) -> None:
        self._sampler.close()

    def _queue_now(self) -> QueueLength | None:
        """Return the queue of the discipline that sets the path's rate, on either switch; None without a rate."""
        interface, handle = self._state.shaper(self._pair) or (None, 0)
        if interface is None or not handle or interface.pid is not None:
            return None
        kinds = {qdisc.kind for qdisc in self._state.qdiscs[interface] if qdisc.handle == handle}
        # netem's count includes the packets that it delays.
        return None if "netem" in kinds else QueueLength(interface, handle)


class FlowStart(NamedTuple):
    """New flow."""

    address: Address
    """Addresses from the sending end's view."""
    sender: Host
    receiver: Host
    algorithm: str


class Finder:
    """Finder with a sock_diag socket on each host; `close` it."""

    def __init__(self, network: Network) -> None:
        self._hosts = {host.address: host for host in network.hosts}
        self._diags = {address: SockDiag(host) for address, host in self._hosts.items()}
        self._known: set[frozenset[tuple[str, int]]] = set()

    def close(self) -> None:
        for diag in self._diags.values():
            diag.close()

    def poll(self) -> list[FlowStart]:
        """Return the flows that have begun since the last call."""
        new_flows, alive = [], set()
        for diag in self._diags.values():
            for connection in diag.connections():
                address = connection.address
                ends = frozenset({address[:2], address[2:]})
                alive.add(ends)
                if ends in self._known or address.destination not in self._hosts:
                    continue
                # The dump lacks IPv6 sockets that serve IPv4, so the other end is requested by its address.
                other_acked = self._acked(address.other_end)
                is_stuck = False
                if max(connection.bytes_acked, other_acked) < _MIN_BYTES:
                    is_stuck = self._is_stuck(address)
                    if not is_stuck:
                        continue
                self._known.add(ends)
                sends = is_stuck or connection.bytes_acked >= other_acked
                sending = address if sends else address.other_end
                sender, receiver = self._hosts[sending.source], self._hosts[sending.destination]
                algorithm = connection.algorithm if sends else self._algorithm(sending)
                new_flows.append(FlowStart(sending, sender, receiver, algorithm))
        # The ports may be reused by another connection.
        self._known &= alive
        return new_flows

    def _algorithm(self, address: Address) -> str:
        """Return the congestion control of that end; for an IPv6 socket, its host's default."""
        connections = self._diags[address.source].connections()
        default = sysctl(self._hosts[address.source], "net.ipv4.tcp_congestion_control")
        return next((each.algorithm for each in connections if each.address == address), default)

    def _is_stuck(self, address: Address) -> bool:
        """Return whether that end has a flow's worth of data to send, but its first segments keep timing out."""
        info = self._diags[address.source].info(tcp_request(address))
        return (
            info is not None
            and info[AT["retransmits_now"]] >= _MIN_TIMEOUTS
            and info[AT["notsent_bytes"]] + info[AT["unacked"]] * info[AT["snd_mss"]] >= _MIN_BYTES
        )

    def _acked(self, address: Address) -> int:
        info = self._diags[address.source].info(tcp_request(address))
        return info[AT["bytes_acked"]] if info is not None else 0
