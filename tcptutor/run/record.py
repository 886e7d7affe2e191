"""What came out of one run: environment, samples, flow results and fidelity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from tcptutor.run.samples import UdpSample
from tcptutor.run.tables import AckTable, QueueTable, ResentTable, SampleTable, SenderTable, Table, UdpTable
from tcptutor.spec import Experiment

FORMAT_VERSION = 2

Figure = TypeVar("Figure", int, float)

Status = Literal["valid", "suspect", "invalid", "unchecked"]
"""What the lab says of a run; `unchecked` when it ended before anybody had looked."""


SNAPSHOT = "snapshot"
"""The name, among the versions of an environment, of the guest's snapshot that a run began from."""


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run took place."""

    backend: str
    """host, guest or replay."""
    clock: str
    """virtual: time counted in the guest's instructions; real: the wall's."""
    kernel: str
    algorithms: tuple[str, ...] = ()
    qdiscs: tuple[str, ...] = ()
    hz: int = 0
    """The kernel's timer frequency as it reports it to programs; 0 unknown."""
    versions: dict[str, str] = {}
    lab: dict[str, str] = {}
    """What a guest's lab was made of, as `run.lab` has it; empty for other backends, and in files from before."""
    reason: str = ""
    """Why this backend and clock were chosen, for the screen."""

    @property
    def system(self) -> str:
        """The kernel with the name of its system, for the screen: "Linux 6.12", "Darwin 23.5.0"."""
        if self.kernel == "unknown":
            return "unknown kernel"
        return f"Linux {self.kernel}" if self.kernel[:1].isdigit() else self.kernel

    @property
    def snapshot(self) -> str:
        """What a run in a guest began from: with another one a seed gives another history. Empty outside a guest."""
        return self.versions.get(SNAPSHOT, "")


class FlowResult(msgspec.Struct, frozen=True, kw_only=True):
    """One flow over the measured time (the warm-up left out)."""

    flow: int
    pair: int
    throughput_bps: float
    """Payload that arrived, with what waited behind a gap, bit/s. Of an import without `receiver_bps` it is what the
    sender wrote."""
    retransmits: int | None
    """None where nothing tells of them, as in a receiver's file; so are the next four."""
    losses: int | None
    """Loss events: the sender's entries into recovery or loss."""
    segments: int | None
    """Data segments sent."""
    mean_rtt_s: float | None
    mean_cwnd_segments: float | None
    mss: int
    algorithm: str = ""
    receiver_bps: float | None = None
    """Payload that the receiver took in over the same time, bit/s, for comparison; None where nothing tells of it."""
    mark_cuts: int = 0
    """Times that ECN marks cut the window, with nothing lost."""
    completion_s: float | None = None
    """Time from the flow's start to the acknowledgement of its last byte, s; None unless it had an amount to send."""


class UdpResult(msgspec.Struct, frozen=True, kw_only=True):
    """One UDP flow over the measured time, as iperf3 counts it at the receiver."""

    pair: int
    sent_bps: float | None
    """None where the file is a receiver's that does not tell it; each end of an import knows its own side."""
    received_bps: float | None
    """None where the file is a sender's without its receiver's figures."""
    lost: int | None
    """Datagrams that did not arrive."""
    datagrams: int | None
    """All that were sent."""
    jitter_s: float | None
    """Mean of the smoothed variation of the time between sending and arrival (RFC 1889, section 6.3.1); None where
    nothing tells of it: a kernel does not know when a datagram was sent."""
    out_of_order: int | None = None
    """Datagrams that arrived after one with a higher number, the warm-up included; None where nothing tells of them."""
    flow: int = 0
    """Among the UDP flows, from 0."""
    overruns: int | None = None
    """Those of `lost` that arrived and found the receiving socket's buffer full; None where nothing tells of them."""
    flows: int = 1
    """How many flows these figures are of: more than one where only the sums of their host are known."""
    reverse: bool = False
    """Whether it was sent from the pair's second host to its first."""

    @classmethod
    def counted(
        cls, start: UdpSample, rows: Sequence[UdpSample], pair: int, sent_bps: float | None = None
    ) -> UdpResult:
        """From `start` to the last of `rows`; where nothing tells what was sent, by the datagrams' numbers."""
        end, seconds = rows[-1], rows[-1].t - start.t
        datagrams, lost = end.datagrams - start.datagrams, end.lost - start.lost
        received = 8 * (end.received - start.received) / seconds
        by_numbers = received * datagrams / (datagrams - lost) if datagrams > lost else 0.0
        jitters = [row.jitter for row in rows if row.jitter is not None]
        return cls(
            flow=end.flow,
            pair=pair,
            sent_bps=by_numbers if sent_bps is None else sent_bps,
            received_bps=received,
            lost=max(0, lost),
            datagrams=datagrams,
            jitter_s=sum(jitters) / len(jitters) if jitters else None,
        )


class CapturedAt(msgspec.Struct, frozen=True, kw_only=True):
    """What was kept of the packets at one interface."""

    interface: str
    packets: int
    """Kept."""
    left_out: int = 0
    """Those that came when the memory for them was full."""


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the lab believes its own result."""

    status: Status = "unchecked"
    reasons: tuple[str, ...] = ()
    """One sentence for each thing that makes it suspect or invalid, or why it was not checked."""
    checks: dict[str, float | int | str | bool] = {}
    """What was read back and measured, by name."""

    def number(self, name: str) -> float:
        """That check as a number; 0 where it is none, or is not there."""
        value = self.checks.get(name, 0)
        return 0.0 if isinstance(value, str) else float(value)


class Run(msgspec.Struct, kw_only=True):
    """One run of one experiment, whole or cut short. The one mutable thing here: it grows as samples arrive."""

    id: str
    experiment: Experiment
    environment: Environment
    started: str
    """Wall-clock time of the start, ISO 8601 with zone."""
    flows: list[FlowResult] = []
    fidelity: Fidelity = Fidelity()
    udp: list[UdpResult] = []
    samples: SampleTable = msgspec.field(default_factory=SampleTable)
    queue: QueueTable = msgspec.field(default_factory=QueueTable)
    senders: SenderTable = msgspec.field(default_factory=SenderTable)
    """The queue of each sending host's own interface; empty in files from before it was sampled."""
    udp_samples: UdpTable = msgspec.field(default_factory=UdpTable)
    """What `udp` sums up, over time; empty in files from before it was sampled."""
    acks: AckTable = msgspec.field(default_factory=AckTable)
    """Single ACKs, for a run that was asked to trace them."""
    resent: ResentTable = msgspec.field(default_factory=ResentTable)
    """Single retransmissions, for the same runs, where the kernel tells of them."""
    given: tuple[str, ...] = ()
    """Of an imported run the parameters of its path that the importer gave; the file tells none of them."""
    captured: list[CapturedAt] = []
    """For each interface whose packets were kept; these are in a file beside the run's."""
    complete: bool = False
    """False while it runs and for one that was cut short."""
    note: str = ""
    """Why it was cut short, or "replay"."""
    wall_s: float = 0.0
    experiment_s: float = 0.0
    format_version: int = FORMAT_VERSION

    @property
    def unmeasured(self) -> str:
        """Why no flow was measured: what cut the run short, else the first thing that the lab found wrong."""
        wrong = next(iter(self.fidelity.reasons), "")
        said = (wrong or self.note) if self.complete else (self.note or wrong)
        return said.removeprefix("nothing was measured: ") or "no flow was seen"

    @property
    def sampled_until(self) -> float:
        """When the last sample of a flow was taken, TCP or UDP, s; 0 without any."""
        return max(
            self.samples.column("t")[-1] if self.samples else 0.0,
            self.udp_samples.column("t")[-1] if self.udp_samples else 0.0,
        )


TABLES: dict[str, type[Table[Any]]] = {
    field.name: field.default_factory
    for field in msgspec.structs.fields(Run)
    if isinstance(field.default_factory, type) and issubclass(field.default_factory, Table)
}
"""The types of a run's tables, by their names in it."""


def sum_or_none(figures: Iterable[Figure | None]) -> Figure | None:
    """Return the sum, or None where any figure is unknown. An empty sum is 0."""
    found = list(figures)
    known = [each for each in found if each is not None]
    return sum(known) if len(known) == len(found) else None


def mean_of_known(figures: Iterable[float | None]) -> float | None:
    """Return the mean of the known figures, or None without any."""
    known = [each for each in figures if each is not None]
    return math.fsum(known) / len(known) if known else None
