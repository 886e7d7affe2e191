"""Table of a figure that simulates its packets, `[figure.simulate]`; with its units, keys and defaults.

[figure.simulate]
duration = "300 ms"
rtt = "40 ms"                  # of the empty path
rate = "20 Mbit/s"             # optional: without it the link takes no time
queue = 13                     # optional: packets, or "1 BDP"; unlimited by default
schedule = "round-robin"       # optional: a queue for each flow; "quantum" is its bytes per turn
cut = ["450 ms", "2.5 s"]      # optional: whatever is sent meanwhile dies
window = "4 BDP"               # optional: or segments, or bytes
lost = [2, 4, 4]               # optional: numbers of segments that die; twice: so does the retransmission
late = [{ segment = 1, by = "30 ms" }]
udp_rate = "14 Mbit/s"         # optional: UDP in place of TCP: no ACKs, no window, no retransmissions

[[figure.simulate.flow]]       # optional: several flows, each with the keys that differ
algorithm = "bbr"
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import Literal, TypeVar

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import ParameterError, UnitError
from tcptutor.figures.figure import Problem
from tcptutor.theory.packet_link import PacketPath
from tcptutor.theory.packet_sender import PACINGS, RTO_ABOVE_RTT, PacketFlow
from tcptutor.theory.packet_simulation import PacketTrace, simulate

MSS = 1448
MOST_PACKETS = 5000
"""Packets of a simulation that is quick enough for a page."""

TableT = TypeVar("TableT", bound="FlowTable")


class LateSegment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Segment with a slower first transmission."""

    segment: int
    """Number of the segment, from 1."""
    by: str
    """Time."""


class FlowTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys of a flow; None for the value of `[figure.simulate]` or the default."""

    algorithm: Literal["fixed", "reno", "bbr"] | None = None
    """By default fixed with a window, otherwise reno."""
    start: str | None = None
    """Time at which it begins."""
    segments: int | None = None
    """Segments to send; endless by default."""
    size: str | None = None
    """Bytes of a segment on the link."""
    window: int | str | None = None
    """Limit in flight: segments, "64 KiB" or "2 BDP"."""
    initial_window: int | None = None
    """Initial window, segments."""
    ssthresh: int | str | None = None
    """Slow start threshold: segments or a size."""
    sack: bool | None = None
    """Whether the receiver reports what it has."""
    tail_probe: bool | None = None
    """Whether a probe is sent before a timeout."""
    pacing: Literal["off", "even", "linux"] | None = None
    """even spreads the window over the RTT; linux uses the kernel's factors."""
    delayed_acks: bool | None = None
    """Whether every second segment is acknowledged."""
    rto_above_rtt: str | None = None
    """Retransmission timeout beyond the RTT."""
    udp_rate: str | None = None
    """Rate of UDP, in place of TCP."""
    lost: tuple[int, ...] | None = None
    """Numbers of segments that are lost; twice for a lost retransmission."""
    late: tuple[LateSegment, ...] | None = None
    """Segments that take longer."""


class SimulationTable(FlowTable, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys of a path, and of the flows unless a flow has its own."""

    duration: str | None = None
    """Simulated time."""
    rtt: str | None = None
    """RTT of the empty path."""
    rate: str | None = None
    """Rate of the bottleneck; without it the link takes no time."""
    queue: int | str | None = None
    """Queue of the bottleneck: packets, a size or BDPs; without limit by default."""
    schedule: Literal["fifo", "round-robin"] | None = None
    """Whether flows share a queue or take turns."""
    quantum: str | None = None
    """Bytes of a flow's turn."""
    cut: tuple[str, str] | None = None
    """Begin and end of a time in which all packets are lost."""
    flows: tuple[FlowTable, ...] | None = msgspec.field(name="flow", default=None)

    def override(self, other: SimulationTable | None) -> SimulationTable:
        """Return this table with the keys that `other` has."""
        return self if other is None else _overridden(self, other)

    def problem(self) -> Problem | None:
        """Return key and reason if it cannot be simulated."""
        for key in ("rtt", "duration"):
            if not getattr(self, key):
                return key, "a simulation needs it, like '40 ms'"
        try:
            self.path()
            self.packet_flows()
            self.seconds()
        except (UnitError, ParameterError) as error:
            return "", str(error)
        return None

    def seconds(self) -> float:
        return units.parse(self.duration or "", "time")

    def trace(self) -> PacketTrace:
        """Return the simulated packets; a page draws them often and simulates them once."""
        return _trace(self)

    def path(self) -> PacketPath:
        rtt = units.parse(self.rtt or "", "time")
        return PacketPath(
            delay=rtt / 2,
            rate=units.parse(self.rate, "rate") if self.rate else None,
            queue=math.inf if self.queue is None else _in_segments(self.queue, self),
            schedule=self.schedule or "fifo",
            quantum=units.parse(self.quantum, "size") if self.quantum else 1500,
            cuts=((units.parse(self.cut[0], "time"), units.parse(self.cut[1], "time")),) if self.cut else (),
        )

    def packet_flows(self) -> tuple[PacketFlow, ...]:
        own = msgspec.structs.replace(self, flows=None)
        return tuple(_packet_flow(_overridden(own, flow)) for flow in self.flows or (FlowTable(),))


def _overridden(table: SimulationTable, other: FlowTable) -> SimulationTable:
    return msgspec.structs.replace(
        table, **{key: value for key, value in msgspec.structs.asdict(other).items() if value is not None}
    )


@lru_cache(maxsize=64)
def _trace(table: SimulationTable) -> PacketTrace:
    return simulate(table.path(), table.packet_flows(), table.seconds())


def _packet_flow(table: SimulationTable) -> PacketFlow:
    udp_rate = units.parse(table.udp_rate, "rate") if table.udp_rate else 0.0
    transmissions = Counter(table.lost or ())
    window = math.inf if table.window is None else _in_segments(table.window, table)
    return PacketFlow(
        algorithm="udp" if udp_rate else table.algorithm or ("reno" if table.window is None else "fixed"),
        rate=udp_rate,
        start=units.parse(table.start, "time") if table.start else 0.0,
        segments=table.segments or math.inf,
        size=_size(table),
        window=window,
        initial=table.initial_window or min(10, window),
        ssthresh=math.inf if table.ssthresh is None else _in_segments(table.ssthresh, table),
        sack=table.sack is not False,
        tail_probe=bool(table.tail_probe),
        pacing=PACINGS[table.pacing or "off"],
        ack_every=2 if table.delayed_acks else 1,
        rto_above_rtt=units.parse(table.rto_above_rtt, "time") if table.rto_above_rtt else RTO_ABOVE_RTT,
        losses=tuple((number, n) for number, most in transmissions.items() for n in range(1, most + 1)),
        late=tuple((late.segment, units.parse(late.by, "time")) for late in table.late or ()),
    )


def _size(table: SimulationTable) -> float:
    return units.parse(table.size, "size") if table.size else MSS


def _in_segments(amount: int | str, table: SimulationTable) -> int:
    """Return segments from a number, from bytes, or from BDPs of the table's path."""
    if isinstance(amount, int) or amount.strip().isdigit():
        return int(amount)
    bdp = None
    if table.rate and table.rtt:
        bdp = units.parse(table.rate, "rate") * units.parse(table.rtt, "time") / 8
    segments = units.parse_size(amount, bdp) / _size(table)
    return round(segments) if amount.strip().lower().endswith("bdp") else int(segments)
