"""The parts of an experiment as frozen, serializable data in base units: bit/s, seconds, probabilities, bytes."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tcptutor.base import units
from tcptutor.spec.flow_lives import FlowLife, StreamChange, flow_lives
from tcptutor.spec.topology import CROSSINGS, Crossing, Topology

ETHERNET_HEADER = 14
"""Bytes that tbf and netem count per frame in addition to the IP packet."""

HEADERS, TIMESTAMP_OPTION = 40, 12
"""Bytes of the IPv4 and TCP headers, and of the timestamp option: an MTU of 1500 leaves segments of 1448."""

UDP_HEADERS = 28
"""Bytes of the IPv4 and UDP headers."""

ALL_HEADERS = 94
"""Bytes of an Ethernet frame that contain all headers of TCP over IPv4 with the maximum of options."""

WIRE_FRAMING = 38
"""Bytes of real Ethernet in addition to the IP packet: header, FCS, preamble and gap."""

_T = TypeVar("_T")

LENGTH = 131_072
"""Bytes per write of the application to a TCP connection by default, as in iperf3."""

_WRITES = 4
"""Writes that fit into a send buffer of a given size."""


ALGORITHMS = (
    "reno", "cubic", "bbr", "htcp", "highspeed", "bic", "dctcp", "vegas", "westwood", "illinois", "scalable", "hybla",
    "veno", "yeah", "lp", "nv", "cdg",
)  # fmt: skip
"""Congestion controls of Linux; each kernel is built with a subset. `Change` stores their places: append new ones."""

OF_HOSTS = ("algorithm", "mtu")
"""Names of changes that apply to all hosts."""

OF_ENDS = (*OF_HOSTS, "streams")
"""Names of changes that are not properties of the path."""

REQUEST = 200
"""Bytes with which a client asks for data."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """A new value of a path property, of all hosts, or of the flows, during the run."""

    at: float
    """Seconds since the traffic began, warm-up included."""
    name: str
    """rate, delay, jitter, loss, queue, link (1 up, 0 down), mtu, algorithm (its place in ALGORITHMS), or streams."""
    value: float
    pair: int = 0
    """Pair whose streams change, from 1; 0 for all pairs, and for all other names."""

    @property
    def algorithm(self) -> str:
        """Return the congestion control that a change of the algorithm sets."""
        return ALGORITHMS[int(self.value)]


class Path(msgspec.Struct, frozen=True, kw_only=True):
    """The path from sender to receiver, emulated on the first switch's interface to the second switch.

    The reverse path, which carries the acknowledgments, is emulated on the second switch's interface to the
    first.
    """

    rate: float | None = None
    """Bottleneck, bit/s of Ethernet frames (tbf); None leaves the link unshaped."""
    delay: float = 0.0
    """Delay added to the data direction, seconds: all of the RTT that the lab adds (netem)."""
    jitter: float = 0.0
    """Spread of the delay, seconds: maximum deviation if uniform, otherwise the standard deviation."""
    jitter_shape: str = "uniform"
    """Distribution of the delay: uniform, normal, pareto or paretonormal."""
    loss: float = 0.0
    """Probability that a data segment is dropped; the mean over time for losses in bursts."""
    loss_burst: float = 1.0
    """Mean number of segments lost in a row (Gilbert model); 1 means independent losses."""
    loss_correlation: float = 0.0
    """Correlation of successive random numbers, 0 to 1 (netem's correlation).

    The kernel blends two random numbers, which is rarely extreme: small losses get much rarer than `loss`.
    """
    loss_by: str = "netem"
    """Where segments are dropped: netem (on the path) or firewall (a rule on the receiver's input)."""
    duplicate: float = 0.0
    """Probability that a data segment arrives twice."""
    reorder: float = 0.0
    """Probability that a data segment skips the delay and overtakes others."""
    queue: int = 150_000
    """The bottleneck's buffer, bytes (tbf's limit)."""
    queue_packets: int | None = None
    """Packets that fit, for a discipline set up by hand that counts packets; `queue` is then as many full frames."""
    burst: int | None = None
    """Bytes that can leave at once (tbf's bucket); None lets the lab choose."""
    qdisc: str = "fifo"
    """Queue discipline of the bottleneck: fifo, codel, fq_codel, fq, cake or red."""
    ecn: bool = False
    """Whether hosts negotiate ECN and the queue discipline marks instead of dropping."""
    ce_threshold: float | None = None
    """Queueing delay from which codel and fq_codel mark every packet, s; None leaves marking to their control law."""
    reverse_rate: float | None = None
    """Bottleneck of the reverse path, bit/s of Ethernet frames; None leaves it unshaped."""
    reverse_delay: float = 0.0
    """Delay added to the reverse path, seconds."""
    reverse_loss: float = 0.0
    """Probability that a packet of the reverse path is dropped."""
    reverse_queue: int = 150_000
    """Buffer of the reverse path's bottleneck, bytes."""
    pair_delays: tuple[float, ...] = ()
    """Delay of each pair's own access link, added to `delay`; empty for none."""
    unread: tuple[str, ...] = ()
    """Disciplines set up by hand that we cannot interpret, e.g. "sfq on s1-eth2"; the path's capacity is then
    unknown."""
    second_rate: float | None = None
    """Rate of a second bottleneck, on a link from the second switch to a third, bit/s of Ethernet frames; None for a
    single bottleneck."""
    second_delay: float = 0.0
    """Delay added to the data direction on the second link, seconds."""
    second_queue: int = 150_000
    """Buffer of the second bottleneck, bytes."""
    crosses: tuple[Crossing, ...] = ()
    """Links that each pair crosses, with a second bottleneck; empty: both for all pairs."""
    changes: tuple[Change, ...] = ()
    """Planned changes in order of time."""
    rate_trace: tuple[tuple[float, float], ...] = ()
    """Bottleneck over time as pairs of seconds and bit/s of frames, from 0 s on; `rate` is the first of them."""

    @property
    def all_changes(self) -> tuple[Change, ...]:
        """Return the planned changes and the later steps of the rate trace, in order of time."""
        if not self.rate_trace:
            return self.changes
        steps = (Change(at, "rate", rate) for at, rate in self.rate_trace[1:])
        return tuple(sorted((*steps, *self.changes), key=lambda change: change.at))

    @property
    def second(self) -> Path:
        """Return the second link as a path of its own."""
        return Path(rate=self.second_rate, delay=self.second_delay, queue=self.second_queue)

    def crossed(self, links: tuple[int, ...]) -> Path:
        """Return what a flow over these bottlenecks meets, as a path of its own: of two, the slower and its queue."""
        if self.second_rate is None or links == (0,):
            return self
        second = self.second
        if links == (1,) or (self.rate or 0.0) <= self.second_rate:
            return second if links == (1,) else self
        return msgspec.structs.replace(self, rate=second.rate, queue=second.queue)

    @property
    def queue_text(self) -> str:
        """Return the bottleneck's buffer in the unit it was set in: "50 packets", or bytes."""
        return units.size(self.queue) if self.queue_packets is None else f"{self.queue_packets} packets"

    def after(self, change: Change) -> Path:
        """Return this path after `change`; the link's state is not a part of it."""
        if change.name == "link" or change.name in OF_ENDS:
            return self
        value = round(change.value) if change.name == "queue" else change.value
        return msgspec.structs.replace(self, **{change.name: value})


class Hosts(msgspec.Struct, frozen=True, kw_only=True):
    """Configuration of the end hosts."""

    algorithm: str = "cubic"
    """Congestion control of the senders, by the kernel's name."""
    algorithms: tuple[str, ...] = ()
    """An entry per pair (per flow, with a single pair), used in turn; empty: `algorithm` for all."""
    window: int | None = None
    """The receiver's window, maximum advertised payload in bytes; None leaves the kernel's autotuning."""
    send_buffer: int | None = None
    """The sender's buffer, bytes as the kernel counts them (tcp_wmem); None leaves the kernel's autotuning."""
    mtu: int = 1500
    """Largest IP packet of all interfaces, bytes."""
    mss: int | None = None
    """Upper bound of the segment's payload, bytes (TCP_MAXSEG); None leaves it to the MTU."""
    offloads: bool = False
    """Whether segmentation offloads (TSO, GSO, GRO) are on: a loss then takes a full super-packet."""
    maxrate: float | None = None
    """Upper bound that the sender's fq sets on each flow, bit/s of Ethernet frames; None leaves fq out."""
    initial_window: int | None = None
    """Segments of the first window of a connection (initcwnd of the route); None leaves the kernel's 10."""
    sysctls: dict[str, str] = {}
    """Other `net.ipv4.tcp_*` settings of all hosts, by name from `tcp_` on."""


class Flows(msgspec.Struct, frozen=True, kw_only=True):
    """Traffic of each host pair: parallel TCP streams that write like iperf3, and UDP flows of iperf3 itself."""

    streams: int = 1
    """TCP flows of each pair."""
    duration: float = 20.0
    """Measured time, seconds, after the warm-up."""
    warmup: float = 2.0
    """Seconds at the start that are shown but left out of all means."""
    starts: tuple[float, ...] = ()
    """Start of each pair (each flow, with a single pair), seconds since the traffic began; empty: all at once."""
    directions: tuple[str, ...] = ()
    """forward or reverse for each pair (each flow, with a single pair); empty: all forward."""
    pacing: float | None = None
    """Upper bound that the application sets on each flow, bit/s of payload (SO_MAX_PACING_RATE)."""
    buffer: int | None = None
    """Socket buffers set by the application at both ends, bytes (as iperf3 -w); None leaves autotuning."""
    length: int | None = None
    """Bytes per write and read of the application (as iperf3 -l); None leaves it to `Experiment.write`."""
    bytes: int | None = None
    """Payload after which each flow ends; None sends until the time is over."""
    messages: tuple[int | None, ...] = ()
    """Bytes that the application sends every `interval`, for each pair (each flow, with a single pair); None, like
    no entry, sends all the time."""
    interval: float = 1.0
    """Seconds from one message to the next; a message that takes longer delays the next."""
    on_times: tuple[float | None, ...] = ()
    """Seconds for which the application writes before each pause, for each pair (each flow, with a single pair); None,
    like no entry, writes all the time."""
    off_time: float = 1.0
    """Seconds of a pause."""
    requests: tuple[int | None, ...] = ()
    """Bytes that the receiving application asks for, again and again, for each pair (each flow, with a single pair);
    None, like no entry, receives without asking."""
    think_time: float = 0.1
    """Seconds from the end of an answer to the next request."""
    short_arrivals: float = 0.0
    """Short flows that begin per second, at random over all pairs; 0 for none."""
    short_load: float | None = None
    """Short flows by the share of the bottleneck that their data takes, in place of `short_arrivals`."""
    short_size: int = 30_000
    """Mean payload of a short flow, bytes."""
    short_sizes: str = "fixed"
    """Distribution of their payload: fixed, exponential or pareto."""
    nodelay: bool = False
    """Whether small writes leave at once instead of waiting for an acknowledgment (TCP_NODELAY)."""
    acks: bool = False
    """Whether to also trace each flow's window at every ACK (the kernel's tcp:tcp_probe)."""
    capture: bool = False
    """Whether to capture packets at `Experiment.captured_interfaces`."""
    capture_at: tuple[str, ...] = ()
    """Interfaces to capture at, such as h1-eth0; empty for all hosts."""
    snaplen: int = ALL_HEADERS
    """Maximum bytes captured of each packet, from its Ethernet header on."""
    capture_size: int = 32 << 20
    """Memory of the lab for captured packets of all interfaces, bytes."""
    udp_streams: int = 0
    """UDP flows of each pair, in addition to the TCP flows."""
    udp_rate: float = 1_048_576.0
    """Sending rate of each UDP flow, bit/s of payload (iperf's default)."""


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
        crossings = self.topology.crossings
        return {"both": (0, 1), "first": (0,), "second": (1,)}[crossings[pair]] if crossings else (0,)

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
        return len(self.topology.links)

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


def bdp(rate: float | None, delay: float) -> float | None:
    """Return the bandwidth-delay product, bytes; None without a rate or a delay."""
    return rate * delay / 8 if rate and delay else None


def trace_burst(rate: float, frame: int) -> int:
    """Return the bucket of a bottleneck that follows a trace, bytes: small, because the kernel refills it at each step.

    The arguments are those of `default_burst`.
    """
    return max(round(rate / 8 / 1000), 2 * frame)


def default_burst(rate: float, frame: int) -> int:
    """Return the default bucket of a bottleneck, bytes, for a `rate` in bit/s and a full `frame` in bytes.

    A millisecond of the rate, so that a late timer costs no throughput, and at least ten frames. A bucket is
    full at the start, and its content comes on top of the rate: ten frames only if they are at most 20 ms of
    it, and never less than one frame.
    """
    return max(round(rate / 8 / 1000), min(10 * frame, round(rate / 8 * 0.02)), frame)
