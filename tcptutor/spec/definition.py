"""The definition of an experiment: its parts, and what follows from them for pairs, flows and links."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tcptutor.spec.flow_lives import FlowLife, StreamChange, flow_lives
from tcptutor.spec.frame_sizes import ETHERNET_HEADER, HEADERS, LENGTH, TIMESTAMP_OPTION, UDP_HEADERS, bdp
from tcptutor.spec.parts import OF_HOSTS, Flows, Hosts, Path
from tcptutor.spec.topology import CROSSINGS, LINKS_OF, Topology

_T = TypeVar("_T")

_WRITES = 4
"""Writes that fit into a send buffer of a given size."""


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """The complete input of a lab run; the same values and seed give the same experiment."""

    name: str
    """Full name in the course, module/experiment."""
    title: str = ""
    path: Path = Path()
    hosts: Hosts = Hosts()
    flows: Flows = Flows()
    pairs: int = 1
    """Host pairs (h1 to h2, h3 to h4 ...) that send at the same time, 1 to 4."""
    seed: int = 1
    """Seed of all random numbers of the path."""
    sources: tuple[str, ...] = ()
    """Corresponding published results, as `document` or `document: result`."""
    scale: str = "bench"
    """bench, or paper for the values printed in the source."""
    framing: int = ETHERNET_HEADER
    """Bytes that the bottleneck counts per frame in addition to its IP packet, for the lab's shaper or a real wire."""

    @property
    def seconds(self) -> float:
        """Return the lab time of the traffic, warm-up included, s."""
        return self.flows.warmup + self.flows.duration

    @property
    def bdp(self) -> float | None:
        """Return the bandwidth-delay product of the path, bytes; None without a rate or a delay."""
        return bdp(self.path.rate, self.path.delay)

    @property
    def headers(self) -> int:
        """Return the bytes of IPv4 and TCP headers of a data segment."""
        no_timestamps = self.hosts.sysctls.get("tcp_timestamps") == "0"
        return HEADERS if no_timestamps else HEADERS + TIMESTAMP_OPTION

    @property
    def segment(self) -> int:
        """Return the payload of a full segment, bytes: the MTU less headers, or `mss` less TCP's options."""
        largest = self.hosts.mtu - HEADERS
        if self.hosts.mss is not None:
            largest = min(largest, self.hosts.mss)
        return max(1, largest - (self.headers - HEADERS))

    @property
    def packet(self) -> int:
        """Return the smallest size of the IP packets that carry data, bytes."""
        size = self.segment + self.headers
        length = self.flows.length
        if length is not None:
            size = min(size, length + (self.headers if not self.flows.udp_streams else UDP_HEADERS))
        # Acknowledgments of data in the other direction consist of headers only.
        return self.headers if "reverse" in self.flows.directions else size

    @property
    def write(self) -> int | None:
        """Return the bytes per write of the application to a TCP flow; None leaves `LENGTH`.

        The kernel checks the send buffer when it starts a new piece of its queue, not when it extends the
        last one. Nagle's algorithm holds back the end of a write that is not a full segment, and the next
        write extends it: a small buffer could then hold ten times its size. Writes of full segments leave no
        remainder.
        """
        if self.flows.length is not None or self.hosts.send_buffer is None:
            return self.flows.length
        return max(1, min(LENGTH, self.hosts.send_buffer // _WRITES) // self.segment) * self.segment

    @property
    def qdiscs(self) -> tuple[str, ...]:
        """Return the queue disciplines that the kernel must support."""
        path, changed = self.path, {change.name for change in self.path.changes}
        netem_loss = path.loss if path.loss_by == "netem" else 0.0
        forward = (path.delay, path.jitter, netem_loss, path.duplicate, path.reorder, *path.pair_delays)
        needed = {
            "netem": any(forward)
            or path.reverse_delay
            or path.reverse_loss
            or changed & {"delay", "jitter", "loss"},
            "tbf": path.rate is not None or path.reverse_rate is not None,
            "fq": self.hosts.maxrate is not None or path.qdisc == "fq",
            path.qdisc: path.qdisc != "fifo",
        }
        return tuple(kind for kind, is_needed in needed.items() if is_needed)

    @property
    def congestion_controls(self) -> tuple[str, ...]:
        later = (change.algorithm for change in self.path.changes if change.name == "algorithm")
        return tuple(dict.fromkeys((*(self.hosts.algorithms or (self.hosts.algorithm,)), *later)))

    @property
    def total_streams(self) -> int:
        """Return the number of TCP flows of the whole run, those that end before it included."""
        return len(self.lives) or self.pairs * self.flows.streams

    @property
    def lives(self) -> tuple[FlowLife, ...]:
        """Return the life of each TCP flow; empty if the number of streams does not change."""
        changes = tuple(
            StreamChange(change.at, change.pair - 1 if change.pair else None, round(change.value))
            for change in self.path.changes
            if change.name == "streams"
        )
        return flow_lives(self.pairs, self.flows.streams, self.flows.starts, changes) if changes else ()

    def pair_of(self, flow: int) -> int:
        """Return the pair of TCP flow number `flow`, from 0."""
        return self.lives[flow].pair if self.lives else flow // max(1, self.flows.streams)

    @property
    def captured_interfaces(self) -> tuple[str, ...]:
        """Return the interfaces to capture at, each once; empty without `capture`."""
        if not self.flows.capture:
            return ()
        hosts = (name for name in self.topology.interfaces if name.startswith("h"))
        return tuple(dict.fromkeys(self.flows.capture_at or hosts))

    @property
    def topology(self) -> Topology:
        """Return the network that the experiment needs."""
        if self.path.second_rate is None:
            return Topology(self.pairs)
        crosses = self.path.crosses or CROSSINGS[:1]
        return Topology(self.pairs, tuple(crosses[pair % len(crosses)] for pair in range(self.pairs)))

    def links_of(self, pair: int) -> tuple[int, ...]:
        """Return the bottlenecks that host pair number `pair` crosses: 0 for the first, 1 for the second."""
        if self.path.second_rate is None:
            return (0,)
        return LINKS_OF[self.topology.crossings[pair]]

    @property
    def parameters(self) -> dict[str, float | int | str | bool | list[object] | None]:
        """Return the values by parameter name, in base units (bit/s, s, probability, bytes), sysctls last."""
        values: dict[str, float | int | str | bool | list[object] | None] = {"pairs": self.pairs}
        for part in (self.path, self.hosts, self.flows):
            for name in part.__struct_fields__:
                value = getattr(part, name)
                if name != "sysctls":
                    values[name] = msgspec.to_builtins(value)
        return {**values, **self.hosts.sysctls}

    def each(self, values: tuple[_T, ...], flow: int) -> _T:
        """Return the entry of a per-pair list for TCP flow number `flow` (0 to total_streams - 1)."""
        return values[self.place(flow) % len(values)]

    def place(self, flow: int) -> int:
        """Return the index of TCP flow number `flow` in per-pair lists: its pair, or itself with a single pair."""
        return flow if self.pairs == 1 else self.pair_of(flow)

    def algorithm(self, flow: int) -> str:
        """Return the congestion control of TCP flow number `flow`."""
        return self.each(self.hosts.algorithms, flow) if self.hosts.algorithms else self.hosts.algorithm

    def pair_algorithm(self, pair: int) -> str:
        """Return the congestion control of the first TCP flow of host pair number `pair`."""
        names = self.hosts.algorithms
        return names[pair % len(names)] if names else self.hosts.algorithm

    def message(self, flow: int) -> int | None:
        """Return the bytes of each message of TCP flow number `flow`; None if it sends all the time."""
        return self.each(self.flows.messages, flow) if self.flows.messages else None

    def on_time(self, flow: int) -> float | None:
        """Return the seconds for which TCP flow number `flow` writes before each pause; None without pauses."""
        return self.each(self.flows.on_times, flow) if self.flows.on_times else None

    def request(self, flow: int) -> int | None:
        """Return the bytes of each answer on TCP flow number `flow`; None without requests."""
        return self.each(self.flows.requests, flow) if self.flows.requests else None

    def pauses(self, flow: int) -> bool:
        """Return whether the application of TCP flow number `flow` does not write all the time."""
        return (self.message(flow), self.on_time(flow), self.request(flow)) != (None, None, None)

    @property
    def has_short_flows(self) -> bool:
        return bool(self.flows.short_arrivals or self.flows.short_load)

    def at(self, moment: float) -> Experiment:
        """Return this experiment with the changes of all hosts up to `moment`, s."""
        now = self
        for change in self.path.changes:
            if change.name in OF_HOSTS and change.at <= moment + 1e-9:
                hosts = now.hosts
                if change.name == "mtu":
                    hosts = msgspec.structs.replace(hosts, mtu=round(change.value))
                else:
                    hosts = msgspec.structs.replace(hosts, algorithm=change.algorithm, algorithms=())
                now = msgspec.structs.replace(now, hosts=hosts)
        return now

    def start(self, flow: int) -> float:
        """Return the start of TCP flow number `flow`, seconds since the traffic began."""
        if self.lives:
            return self.lives[flow].start
        return self.each(self.flows.starts, flow) if self.flows.starts else 0.0

    def end(self, flow: int) -> float | None:
        """Return when the sender closes TCP flow number `flow`, s; None if it lasts to the end of the run."""
        return self.lives[flow].end if self.lives else None

    def is_open(self, flow: int, moment: float) -> bool:
        """Return whether TCP flow number `flow` has started by `moment`, s, and is not closed."""
        end = self.end(flow)
        return self.start(flow) <= max(moment, 0.0) + 1e-9 and (end is None or moment < end - 1e-9)

    def streams_at(self, moment: float) -> int:
        """Return the number of TCP flows that are open at `moment`, s."""
        return sum(self.is_open(flow, moment) for flow in range(self.total_streams))

    def reversed(self, flow: int) -> bool:
        """Return True if TCP flow number `flow` sends from the second host of its pair to the first."""
        return bool(self.flows.directions) and self.each(self.flows.directions, flow) == "reverse"

    def delay(self, flow: int) -> float:
        """Return the base RTT of TCP flow number `flow`, s."""
        return self.pair_delay(self.pair_of(flow))

    @property
    def link_count(self) -> int:
        """Return the number of bottlenecks in a row."""
        return 1 if self.path.second_rate is None else 2

    def at_link(self, link: int) -> Experiment:
        """Return this experiment with the path that bottleneck number `link` is."""
        return self if link == 0 else msgspec.structs.replace(self, path=self.path.second)

    def crosses(self, flow: int, link: int) -> bool:
        """Return whether TCP flow number `flow` crosses bottleneck number `link`."""
        return link in self.links_of(self.pair_of(flow))

    def pair_delay(self, pair: int) -> float:
        """Return the base RTT of host pair number `pair`, s."""
        path = self.path
        own = path.pair_delays[pair % len(path.pair_delays)] if path.pair_delays else 0.0
        added = (path.delay, path.second_delay)
        return sum(added[link] for link in self.links_of(pair)) + path.reverse_delay + own
