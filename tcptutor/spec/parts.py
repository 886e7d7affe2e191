"""The parts of an experiment as frozen, serialisable data in base units: bit/s, seconds, probabilities, bytes."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from tcptutor.base import units

_T = TypeVar("_T")

ETHERNET_HEADER = 14
"""Bytes that tbf and netem count for each frame beside the IP packet."""

HEADERS, TIMESTAMP_OPTION = 40, 12
"""Bytes of IPv4 and TCP, and of the timestamp option: an MTU of 1500 leaves segments of 1448."""

LENGTH = 131_072
"""Bytes that the application writes to a TCP connection at once unless it is told otherwise: as iperf3 does."""

ALL_HEADERS = 94
"""Bytes of an Ethernet frame that hold all headers of TCP over IPv4, with as many options as there can be."""

_UDP_HEADERS = 28
"""Bytes of IPv4 and UDP."""
_WRITES = 4
"""Writes that fit into a send buffer of a given size."""


class Change(msgspec.Struct, frozen=True):
    """One property of the path takes another value while the traffic runs."""

    at: float
    """Seconds since the traffic began, warm-up included."""
    name: str
    """rate, delay, jitter, loss, queue, or link (1 up, 0 down)."""
    value: float


class Path(msgspec.Struct, frozen=True, kw_only=True):
    """The way from sender to receiver, emulated on the first switch's interface that faces the second switch.

    The way back, of the acknowledgements, is emulated on the second switch's interface that faces the first.
    """

    rate: float | None = None
    """Bottleneck, bit/s of Ethernet frames (tbf); None leaves the link unshaped."""
    delay: float = 0.0
    """Added to the data direction, seconds: all of the path's RTT that we make (netem)."""
    jitter: float = 0.0
    """Spread of the delay, seconds: to either side when uniform, the standard deviation otherwise."""
    jitter_shape: str = "uniform"
    """Distribution of the delay: uniform, normal, pareto or paretonormal."""
    loss: float = 0.0
    """Probability that a data segment is dropped; the mean over time where losses come in bursts."""
    loss_burst: float = 1.0
    """Mean number of segments lost in a row (a Gilbert model); 1 means that each is lost independently."""
    loss_correlation: float = 0.0
    """How much each random number depends on its predecessor, 0 to 1 (netem's correlation).

    The kernel's blend of two numbers is seldom extreme, so small losses become much rarer than `loss` says.
    """
    loss_by: str = "netem"
    """What drops: netem (on the path) or firewall (a rule on the receiver's input)."""
    duplicate: float = 0.0
    """Probability that a data segment arrives twice."""
    reorder: float = 0.0
    """Probability that a data segment is sent at once, before those that wait out the delay."""
    queue: int = 150_000
    """The bottleneck's buffer, bytes (tbf's limit)."""
    queue_packets: int | None = None
    """How many packets wait there, where somebody's discipline counts these: `queue` is then as many full frames."""
    burst: int | None = None
    """Bytes that may leave at once (tbf's bucket); None lets the lab choose."""
    qdisc: str = "fifo"
    """The discipline of the bottleneck's queue: fifo, codel, fq_codel, fq, cake or red."""
    ecn: bool = False
    """Whether hosts negotiate ECN and the queue discipline marks instead of dropping."""
    reverse_rate: float | None = None
    """Bottleneck of the way back, bit/s of Ethernet frames; None leaves it unshaped."""
    reverse_delay: float = 0.0
    """Added to the way back, seconds."""
    reverse_loss: float = 0.0
    """Probability that a packet of the way back is dropped."""
    reverse_queue: int = 150_000
    """Buffer of the way back's bottleneck, bytes."""
    pair_delays: tuple[float, ...] = ()
    """Delay of each pair's own access link, added to `delay`; empty for none."""
    unread: tuple[str, ...] = ()
    """Disciplines that somebody put there and that nobody here can read, such as "sfq on s1-eth2": then it is not known
    what the path carries."""
    changes: tuple[Change, ...] = ()
    """In order of time."""

    @property
    def queue_text(self) -> str:
        """The bottleneck's buffer as it was set: "50 packets", or in bytes."""
        return units.size(self.queue) if self.queue_packets is None else f"{self.queue_packets} packets"

    def after(self, change: Change) -> Path:
        """This path once `change` has happened; the link's state is not a part of it."""
        if change.name == "link":
            return self
        value = round(change.value) if change.name == "queue" else change.value
        return msgspec.structs.replace(self, **{change.name: value})


class Hosts(msgspec.Struct, frozen=True, kw_only=True):
    """How the end hosts are set up."""

    algorithm: str = "cubic"
    """Congestion control of the senders, by the kernel's name."""
    algorithms: tuple[str, ...] = ()
    """One for each pair (each flow, with one pair), used in turn when there are fewer; empty: all `algorithm`."""
    window: int | None = None
    """The receiver's window, bytes of payload it advertises at most; None leaves the kernel's autotuning."""
    send_buffer: int | None = None
    """The sender's buffer, bytes as the kernel counts them (tcp_wmem); None leaves the kernel's autotuning."""
    mtu: int = 1500
    """Largest IP packet of all interfaces, bytes."""
    mss: int | None = None
    """Upper bound of the segment's payload, bytes (TCP_MAXSEG); None leaves it to the MTU."""
    offloads: bool = False
    """Whether segmentation offloads (TSO, GSO, GRO) are on: one loss then takes a whole super-packet."""
    maxrate: float | None = None
    """Upper bound that the sender's fq sets on each flow, bit/s of Ethernet frames; None leaves fq out."""
    sysctls: dict[str, str] = {}
    """Other `net.ipv4.tcp_*` settings of all hosts, by their name from `tcp_` on."""


class Flows(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic of each host pair: parallel TCP streams that write as iperf3 does, and UDP flows of iperf3's own."""

    streams: int = 1
    """TCP flows of each pair."""
    duration: float = 20.0
    """Measured part, seconds; the warm-up comes before it."""
    warmup: float = 2.0
    """Seconds at the start that are shown and left out of all means."""
    starts: tuple[float, ...] = ()
    """When each pair (each flow, with one pair) begins, seconds since the traffic began; empty: all at once."""
    directions: tuple[str, ...] = ()
    """forward or reverse for each pair (each flow, with one pair); empty: all forward."""
    pacing: float | None = None
    """Upper bound that the application sets on each flow, bit/s of payload (SO_MAX_PACING_RATE)."""
    buffer: int | None = None
    """Socket buffers that the application asks for at both ends, bytes (as iperf3 -w); None leaves autotuning."""
    length: int | None = None
    """Bytes that the application writes and reads at once (as iperf3 -l); None leaves it to `Experiment.write`."""
    bytes: int | None = None
    """Payload that each flow sends and then ends; None sends until the time is over."""
    acks: bool = False
    """Whether to trace each flow's window at every ACK as well (the kernel's tcp:tcp_probe)."""
    capture: bool = False
    """Whether to keep the packets of `Experiment.captured_interfaces`."""
    capture_at: tuple[str, ...] = ()
    """The interfaces whose packets are kept, such as h1-eth0; empty for those of all hosts."""
    snaplen: int = ALL_HEADERS
    """Bytes that are kept of each packet at most, from its Ethernet header on."""
    capture_size: int = 32 << 20
    """Memory of the lab in which packets are kept until the run is over, bytes, of all interfaces together."""
    udp_streams: int = 0
    """UDP flows of each pair beside the TCP flows."""
    udp_rate: float = 1_048_576.0
    """Rate at which each UDP flow sends, bit/s of payload (iperf's default)."""


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """All that the lab needs to know to run it; the same values and seed mean the same experiment."""

    name: str
    """Its full name in the course, module/experiment."""
    title: str = ""
    path: Path = Path()
    hosts: Hosts = Hosts()
    flows: Flows = Flows()
    pairs: int = 1
    """Host pairs (h1 to h2, h3 to h4 ...) that send at the same time, 1 to 4."""
    seed: int = 1
    """Where all random numbers of the path begin."""
    sources: tuple[str, ...] = ()
    """The published results that it corresponds to, as `document` or `document: result`."""
    scale: str = "bench"
    """bench, or paper for the values that the source printed."""
    framing: int = ETHERNET_HEADER
    """Bytes that the bottleneck counts for each frame beside its IP packet: the lab's shaper, or a real wire."""

    @property
    def seconds(self) -> float:
        """Lab time of the traffic, warm-up included."""
        return self.flows.warmup + self.flows.duration

    @property
    def bdp(self) -> float | None:
        """Bandwidth-delay product of the path, bytes; None without a rate or a delay."""
        return bdp(self.path.rate, self.path.delay)

    @property
    def headers(self) -> int:
        """Bytes of IPv4 and TCP headers of a data segment."""
        plain = self.hosts.sysctls.get("tcp_timestamps") == "0"
        return HEADERS if plain else HEADERS + TIMESTAMP_OPTION

    @property
    def segment(self) -> int:
        """Payload of a full segment, bytes: what the MTU leaves, or `mss` with TCP's options taken off."""
        largest = self.hosts.mtu - HEADERS
        if self.hosts.mss is not None:
            largest = min(largest, self.hosts.mss)
        return max(1, largest - (self.headers - HEADERS))

    @property
    def packet(self) -> int:
        """The smallest IP packet that its data may come in all the time, bytes."""
        found = self.segment + self.headers
        length = self.flows.length
        if length is not None:
            found = min(found, length + (self.headers if not self.flows.udp_streams else _UDP_HEADERS))
        # Acknowledgements of what comes the other way are headers alone.
        return self.headers if "reverse" in self.flows.directions else found

    @property
    def write(self) -> int | None:
        """Bytes that the application writes to a TCP flow at once; None leaves `LENGTH`.

        The kernel looks at the send buffer when it begins a new piece of its queue, not when it adds to the last one.
        Nagle's algorithm holds back the end of a write that is no whole segment, and the next write is added to it: a
        small buffer could then hold ten times its size. Writes of whole segments leave nothing behind.
        """
        if self.flows.length is not None or self.hosts.send_buffer is None:
            return self.flows.length
        return max(1, min(LENGTH, self.hosts.send_buffer // _WRITES) // self.segment) * self.segment

    @property
    def qdiscs(self) -> tuple[str, ...]:
        """The queue disciplines that the kernel must have for it."""
        path, changed = self.path, {change.name for change in self.path.changes}
        by_netem = path.loss if path.loss_by == "netem" else 0.0
        forward = (path.delay, path.jitter, by_netem, path.duplicate, path.reorder, *path.pair_delays)
        wanted = {
            "netem": any(forward)
            or path.reverse_delay
            or path.reverse_loss
            or changed & {"delay", "jitter", "loss"},
            "tbf": path.rate is not None or path.reverse_rate is not None,
            "fq": self.hosts.maxrate is not None or path.qdisc == "fq",
            path.qdisc: path.qdisc != "fifo",
        }
        return tuple(kind for kind, needed in wanted.items() if needed)

    @property
    def congestion_controls(self) -> tuple[str, ...]:
        """The algorithms that it uses, each once."""
        return tuple(dict.fromkeys(self.hosts.algorithms or (self.hosts.algorithm,)))

    @property
    def total_streams(self) -> int:
        """TCP flows of all pairs together."""
        return self.pairs * self.flows.streams

    @property
    def captured_interfaces(self) -> tuple[str, ...]:
        """Where packets are kept, each once; none without `capture`."""
        if not self.flows.capture:
            return ()
        hosts = (name for name in interface_names(self.pairs) if name.startswith("h"))
        return tuple(dict.fromkeys(self.flows.capture_at or hosts))

    @property
    def parameters(self) -> dict[str, float | int | str | bool | list[object] | None]:
        """The values by their parameter names, in base units (bit/s, s, probability, bytes); sysctls at the end."""
        values: dict[str, float | int | str | bool | list[object] | None] = {"pairs": self.pairs}
        for part in (self.path, self.hosts, self.flows):
            for name in part.__struct_fields__:
                value = getattr(part, name)
                if name != "sysctls":
                    values[name] = msgspec.to_builtins(value)
        return {**values, **self.hosts.sysctls}

    def each(self, values: tuple[_T, ...], flow: int) -> _T:
        """The entry of a per-pair list for TCP flow number `flow` (0 to total_streams - 1)."""
        return values[self.place(flow) % len(values)]

    def place(self, flow: int) -> int:
        """Where TCP flow number `flow` stands in per-pair lists: its pair, or itself when there is one pair."""
        return flow if self.pairs == 1 else flow // self.flows.streams

    def algorithm(self, flow: int) -> str:
        """The congestion control of TCP flow number `flow`."""
        return self.each(self.hosts.algorithms, flow) if self.hosts.algorithms else self.hosts.algorithm

    def start(self, flow: int) -> float:
        """When TCP flow number `flow` begins, seconds since the traffic began."""
        return self.each(self.flows.starts, flow) if self.flows.starts else 0.0

    def reversed(self, flow: int) -> bool:
        """Whether TCP flow number `flow` sends from the second host of its pair to the first."""
        return bool(self.flows.directions) and self.each(self.flows.directions, flow) == "reverse"

    def delay(self, flow: int) -> float:
        """RTT of the empty path of TCP flow number `flow`, s."""
        return self.pair_delay(flow // self.flows.streams)

    def pair_delay(self, pair: int) -> float:
        """RTT of the empty path of host pair number `pair`, s."""
        path = self.path
        own = path.pair_delays[pair % len(path.pair_delays)] if path.pair_delays else 0.0
        return path.delay + path.reverse_delay + own


def host_names(pairs: int) -> tuple[str, ...]:
    """The hosts and switches of a lab with that many pairs: h1 sends to h2, h3 to h4 and so on."""
    return (*(f"h{number}" for number in range(1, 2 * pairs + 1)), "s1", "s2")


def interface_names(pairs: int) -> tuple[str, ...]:
    """Every interface that packets pass in a lab with that many pairs, hosts first."""
    ports = range(1, 3 if pairs == 1 else pairs + 2)
    hosts = (f"h{number}-eth0" for number in range(1, 2 * pairs + 1))
    return (*hosts, *(f"{switch}-eth{port}" for switch in ("s1", "s2") for port in ports))


def bdp(rate: float | None, delay: float) -> float | None:
    """Bandwidth-delay product, bytes; None without a rate or a delay."""
    return rate * delay / 8 if rate and delay else None


def default_burst(rate: float, frame: int) -> int:
    """What may leave a bottleneck at once unless somebody sets it, bytes: a millisecond of its `rate`, bit/s, so that a
    late timer costs nothing, and at least ten frames.

    A bucket is full at the start, and what it holds comes on top of the rate: ten frames only where these are at most
    20 ms of it, and never less than the one that must fit.
    """
    return max(round(rate / 8 / 1000), min(10 * frame, round(rate / 8 * 0.02)), frame)
