"""The parts of an experiment as frozen, serializable data in base units: bit/s, seconds, probabilities, bytes."""

from __future__ import annotations

import msgspec

from tcptutor.base import units
from tcptutor.spec.frame_sizes import ALL_HEADERS
from tcptutor.spec.topology import Crossing

ALGORITHMS = (
    "reno", "cubic", "bbr", "htcp", "highspeed", "bic", "dctcp", "vegas", "westwood", "illinois", "scalable", "hybla",
    "veno", "yeah", "lp", "nv", "cdg",
)  # fmt: skip
"""Congestion controls of Linux; each kernel is built with a subset. `Change` stores their places: append new ones."""

OF_HOSTS = ("algorithm", "mtu")
"""Names of changes that apply to all hosts."""

OF_ENDS = (*OF_HOSTS, "streams")
"""Names of changes that are not properties of the path."""


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
