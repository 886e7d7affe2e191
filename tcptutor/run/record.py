"""Results of a run: environment, samples, flow results and fidelity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from tcptutor.run.samples import TransferRecord, UdpSample
from tcptutor.run.tables import (
    AckTable,
    QueueTable,
    RetransmissionTable,
    SampleTable,
    SenderTable,
    Table,
    TransferTable,
    UdpTable,
)
from tcptutor.spec import Experiment

FORMAT_VERSION = 3

Figure = TypeVar("Figure", int, float)

Status = Literal["valid", "suspect", "invalid", "unchecked"]
"""The lab's verdict on a run; `unchecked` when the run ended before the checks."""


SNAPSHOT = "snapshot"
"""Key, among the versions of an environment, of the guest's snapshot that the run started from."""


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Backend, clock, kernel and lab of a run."""

    backend: str
    """host, guest or replay."""
    clock: str
    """virtual: counted in the guest's instructions; real: wall-clock time."""
    kernel: str
    algorithms: tuple[str, ...] = ()
    qdiscs: tuple[str, ...] = ()
    hz: int = 0
    """The kernel's timer frequency as reported to programs; 0 if unknown."""
    versions: dict[str, str] = {}
    lab: dict[str, str] = {}
    """Parts of a guest's lab, see `run.lab_parts`; empty for other backends."""
    reason: str = ""
    """Reason for this backend and clock, for the screen."""

    @property
    def system(self) -> str:
        """Return the kernel with its system's name, for the screen: "Linux 6.12", "Darwin 23.5.0"."""
        if self.kernel == "unknown":
            return "unknown kernel"
        return f"Linux {self.kernel}" if self.kernel[:1].isdigit() else self.kernel

    @property
    def snapshot(self) -> str:
        """Return the guest's snapshot, which decides the history of a seed; empty outside a guest."""
        return self.versions.get(SNAPSHOT, "")


class FlowResult(msgspec.Struct, frozen=True, kw_only=True):
    """A flow over the measured time, without the warm-up."""

    flow: int
    pair: int
    throughput_bps: float
    """Payload that arrived, including bytes held behind a gap, bit/s; in imports without `receiver_bps` the
    bytes written by the sender."""
    retransmits: int | None
    """None if unknown, as in a receiver's file; the next four fields too."""
    losses: int | None
    """Loss events: the sender's entries into recovery or loss."""
    segments: int | None
    """Data segments sent."""
    mean_rtt_s: float | None
    mean_cwnd_segments: float | None
    mss: int
    algorithm: str = ""
    receiver_bps: float | None = None
    """Payload that the receiver read over the same time, bit/s, for comparison; None if unknown."""
    mark_cuts: int = 0
    """Window reductions by ECN marks without loss."""
    completion_s: float | None = None
    """Time from the flow's start to the acknowledgment of its last byte, s; None for flows without a fixed size."""


class UdpResult(msgspec.Struct, frozen=True, kw_only=True):
    """A UDP flow over the measured time, as iperf3 counts it at the receiver."""

    pair: int
    sent_bps: float | None
    """None if unknown, as in some receivers' files; each end of an import knows its own side only."""
    received_bps: float | None
    """None in a sender's file without its receiver's figures."""
    lost: int | None
    """Datagrams that did not arrive."""
    datagrams: int | None
    """Datagrams sent."""
    jitter_s: float | None
    """Mean smoothed interarrival jitter, s (RFC 1889, section 6.3.1); None if unknown: a kernel does not know
    when a datagram was sent."""
    out_of_order: int | None = None
    """Datagrams that arrived after a higher number, warm-up included; None if unknown."""
    flow: int = 0
    """Index among the UDP flows, from 0."""
    overruns: int | None = None
    """Datagrams of `lost` dropped at the receiving socket's full buffer; None if unknown."""
    flows: int = 1
    """Number of flows in these figures: more than 1 where only their host's sums are known."""
    reverse: bool = False
    """True if sent from the pair's second host to its first."""

    @classmethod
    def counted(
        cls, start: UdpSample, rows: Sequence[UdpSample], pair: int, sent_bps: float | None = None
    ) -> UdpResult:
        """Compute the figures from `start` to the last of `rows`; `sent_bps` defaults to the datagrams' numbers."""
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
    """Packets captured at an interface."""

    interface: str
    packets: int
    """Captured packets."""
    dropped: int = 0
    """Packets dropped because the capture memory was full."""


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """The lab's own judgment of its result."""

    status: Status = "unchecked"
    reasons: tuple[str, ...] = ()
    """A sentence per problem that makes it suspect or invalid, or the reason for not checking."""
    checks: dict[str, float | int | str | bool] = {}
    """Values that were read back or measured, by name."""

    def number(self, name: str) -> float:
        """Return a check as a number; 0 if it is missing or a text."""
        value = self.checks.get(name, 0)
        return 0.0 if isinstance(value, str) else float(value)


class Run(msgspec.Struct, kw_only=True):
    """A run of an experiment, complete or cut short. Mutable: it grows as samples arrive."""

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
    queue_second: QueueTable = msgspec.field(default_factory=QueueTable)
    """Queue of a second bottleneck."""
    senders: SenderTable = msgspec.field(default_factory=SenderTable)
    """Queue of each sending host's own interface."""
    udp_samples: UdpTable = msgspec.field(default_factory=UdpTable)
    """Samples behind `udp`, over time."""
    acks: AckTable = msgspec.field(default_factory=AckTable)
    """Single ACKs, if traced."""
    retransmissions: RetransmissionTable = msgspec.field(default_factory=RetransmissionTable)
    """Single retransmissions, if ACKs were traced and the kernel reports them."""
    transfers: TransferTable = msgspec.field(default_factory=TransferTable)
    """Short flows and requests with their completion times."""
    supplied: tuple[str, ...] = ()
    """Path parameters of an imported run that the user supplied, as the imported file has none."""
    captured: list[CapturedAt] = []
    """Captured interfaces; their packets are in a file next to the run's."""
    complete: bool = False
    """False while it runs and when it was cut short."""
    note: str = ""
    """Why it was cut short, or "replay"."""
    wall_s: float = 0.0
    experiment_s: float = 0.0
    format_version: int = FORMAT_VERSION

    @property
    def queues(self) -> tuple[QueueTable, ...]:
        """Return the queue of each bottleneck in a row."""
        return (self.queue, self.queue_second)[: self.experiment.link_count]

    @property
    def unmeasured_reason(self) -> str:
        """Return why no flow was measured: the reason for cutting it short, or the first failed check."""
        wrong = next(iter(self.fidelity.reasons), "")
        reason = (wrong or self.note) if self.complete else (self.note or wrong)
        return reason.removeprefix("nothing was measured: ") or "no flow was seen"

    @property
    def sampled_until(self) -> float:
        """Return the time of the last TCP or UDP sample, s; 0 without samples."""
        return max(
            self.samples.column("t")[-1] if self.samples else 0.0,
            self.udp_samples.column("t")[-1] if self.udp_samples else 0.0,
        )


TABLES: dict[str, type[Table[Any]]] = {
    field.name: field.default_factory
    for field in msgspec.structs.fields(Run)
    if isinstance(field.default_factory, type) and issubclass(field.default_factory, Table)
}
"""The table types of a run, by field name."""


class TimerCounts(msgspec.Struct, frozen=True):
    """Punctuality of a run's samples."""

    period: float
    """Time between two samples, s."""
    longest_gap: float = 0.0
    """Longest time without a sample, s."""
    late: float = 0.0
    """Fraction of timers that were late, 0 to 1."""
    missing: float = 0.0
    """Fraction of samples missing before the last sample, 0 to 1."""
    mean_late: float = 0.0
    """Mean lateness of the timers, s."""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """End of a run as the agent reports it; `backends.events` turns it and the samples into Finished."""

    experiment: Experiment
    """The experiment with every change that happened."""
    flows: tuple[tuple[int, int], ...]
    """Number and pair of each TCP flow."""
    seconds: float
    """Duration of the traffic on the lab's clock, s."""
    complete: bool
    """False if it was cut short."""
    planned: bool
    """False if a user started the flows by hand, so that missing flows cannot be detected."""
    timers: TimerCounts
    checks: dict[str, float | int | str | bool] = {}
    """Values that were checked, by name."""
    suspect: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    trace_lost: int | None = None
    """ACKs lost by the trace; None without a trace."""
    udp: tuple[UdpResult, ...] = ()
    captured: tuple[CapturedAt, ...] = ()
    transfers: tuple[TransferRecord, ...] = ()


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """End of a run with its results."""

    flows: tuple[FlowResult, ...]
    fidelity: Fidelity
    seconds: float
    """Duration of the traffic on the lab's clock, s."""
    complete: bool = True
    udp: tuple[UdpResult, ...] = ()
    captured: tuple[CapturedAt, ...] = ()
    transfers: tuple[TransferRecord, ...] = ()


def sum_or_none(figures: Iterable[Figure | None]) -> Figure | None:
    """Return the sum, or None if any figure is unknown. An empty sum is 0."""
    everything = list(figures)
    known = [each for each in everything if each is not None]
    return sum(known) if len(known) == len(everything) else None


def mean_of_known(figures: Iterable[float | None]) -> float | None:
    """Return the mean of the known figures, or None without any."""
    known = [each for each in figures if each is not None]
    return math.fsum(known) / len(known) if known else None
