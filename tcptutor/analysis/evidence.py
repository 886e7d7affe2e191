"""The numbers that a verdict rests on, gathered over all flows of a run's measured time, or over one flow's second."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from tcptutor.analysis.link import Bottleneck, Links
from tcptutor.analysis.measure import Measured
from tcptutor.analysis.together import span
from tcptutor.analysis.together import throughput as together
from tcptutor.analysis.trace import Window
from tcptutor.run import Run


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Shares are of the measured time unless they say otherwise; without samples they keep their defaults."""

    throughput_bps: float
    link_used: float | None
    """Share of the link's goodput, of both directions' where flows go both ways; None when the link is not shaped."""
    loss_events: int
    retransmits: int
    loss_rate: float
    """Loss events per segment sent."""
    mean_rtt_s: float
    min_rtt_s: float = 0.0
    busy: float = 1.0
    """With data to send."""
    rwnd_limited: float = 0.0
    """Share of the busy time; so is the next."""
    sndbuf_limited: float = 0.0
    app_limited: float = 0.0
    """Share of the time in which the sender had sent all it had."""
    stalled: float = 0.0
    """Waiting for a timeout or recovering from one."""
    cwnd_growth: float = 1.0
    """Mean window of the last quarter over that of the first."""
    cwnd_bytes: float = 0.0
    """Mean of one flow's window; so are the next."""
    receiver_window_bytes: float = 0.0
    """0 where the kernel does not tell."""
    send_buffer_bytes: float = 0.0
    """What one flow's send buffer holds, the mean; 0 where the kernel does not tell."""
    in_flight_bytes: float = 0.0
    """Of one flow, by throughput times RTT."""
    reordered: int = 0
    """Reorderings seen, and duplicates that the receiver reports where the path itself makes none."""
    timeouts: int = 0
    """0 where the kernel does not tell."""
    marks: int = 0
    """Segments that arrived with an ECN mark."""
    queue_drops: int = 0
    """Packets that the bottleneck's queue dropped; 0 where it was not measured."""
    flow_bps: float = 0.0
    """Payload of one flow while it is there, the mean of several, bit/s."""
    link_share: float | None = None
    """Of the link's goodput, by one flow; None when the link is not shaped."""

    @property
    def queueing_s(self) -> float:
        """What the queue adds to the round trip, s."""
        return max(0.0, self.mean_rtt_s - self.min_rtt_s) if self.min_rtt_s > 0 else 0.0

    @property
    def standing_queue(self) -> bool:
        """Whether the RTT is well above its minimum, and by more than a host's own noise."""
        return self.queueing_s > max(0.1 * self.min_rtt_s, 3e-4)

    def as_dict(self) -> dict[str, float | int | str]:
        """By name, for the verdict."""
        values = asdict(self) | {"queueing_s": self.queueing_s}
        return {name: value for name, value in values.items() if value is not None}


def gather(run: Run, measured: Measured, links: Links) -> Evidence | None:
    """The evidence of `run`; None when nothing could be measured. Never raises."""
    flows, found = measured.flows, measured.windows
    if not flows:
        return None
    throughput = together(run, measured)
    flow_bps = _mean(flow.throughput_bps for flow in flows)
    segments, losses = sum(flow.segments for flow in flows), sum(flow.losses for flow in flows)
    start, end = span(run, measured)
    ways = [links[reverse] for reverse in sorted({run.experiment.reversed(flow.flow) for flow in flows})]
    goodput = _goodput(ways, start, end)
    used = throughput / goodput if goodput else None
    # UDP takes its part of the link as well.
    if used is not None and run.experiment.flows.udp_streams and len(ways) == 1:
        used = max(used, ways[0].used(start, end) or 0.0)
    known = Evidence(
        throughput_bps=throughput,
        link_used=used,
        loss_events=losses,
        retransmits=sum(flow.retransmits for flow in flows),
        loss_rate=losses / segments if segments > 0 else 0.0,
        mean_rtt_s=_mean(flow.mean_rtt_s for flow in flows),
        queue_drops=sum(link.drops(start, end) for link in ways),
        flow_bps=flow_bps,
        link_share=flow_bps * len(ways) / goodput if goodput else None,
    )
    return sampled(known, found, run.experiment.path.duplicate > 0) if found else known


def of_window(run: Run, window: Window, link: Bottleneck, used: float | None = None) -> Evidence:
    """The evidence of one flow over `window`. `used`: the share of `link` that all flows had; by default this one's."""
    goodput, throughput = link.goodput(window.start, window.until), window.throughput
    segments, events = window.grown("segs_out"), window.loss_events
    share = throughput / goodput if goodput else None
    known = Evidence(
        throughput_bps=throughput,
        link_used=share if used is None else used,
        loss_events=events,
        retransmits=round(window.grown("retransmits")),
        loss_rate=events / segments if segments else 0.0,
        mean_rtt_s=window.mean("rtt"),
        queue_drops=link.drops(window.start, window.until),
        flow_bps=throughput,
        link_share=share,
    )
    return sampled(known, [window], run.experiment.path.duplicate > 0)


def _goodput(links: Iterable[Bottleneck], start: float, end: float) -> float | None:
    """What all of `links` carry together, bit/s; None when one of them is not shaped."""
    carried = [link.goodput(start, end) for link in links]
    return None if None in carried else math.fsum(each or 0.0 for each in carried)


def sampled(known: Evidence, found: Sequence[Window], duplicates: bool = False) -> Evidence:
    """`known` with what only samples tell. `duplicates`: whether the path itself makes some."""
    seconds = math.fsum(window.seconds for window in found)
    busy = math.fsum(window.grown("busy") for window in found)
    minima = [rtt for window in found if (rtt := min(window.column("min_rtt"))) > 0]

    def of_busy(column: str) -> float:
        return min(1.0, math.fsum(window.grown(column) for window in found) / busy) if busy > 0 else 0.0

    def in_all(column: str) -> int:
        return round(sum(window.grown(column) for window in found))

    return replace(
        known,
        min_rtt_s=min(minima, default=0.0),
        # Bytes that were acknowledged had to be sent: without busy time the kernel does not count it.
        busy=min(1.0, busy / seconds) if busy > 0 or known.flow_bps == 0 else 1.0,
        rwnd_limited=of_busy("rwnd_limited"),
        sndbuf_limited=of_busy("sndbuf_limited"),
        app_limited=_mean(window.starved for window in found),
        stalled=math.fsum(window.stalled for window in found) / seconds,
        cwnd_growth=_growth(found),
        cwnd_bytes=_mean(window.mean("cwnd") * window.mean("mss") for window in found),
        receiver_window_bytes=_mean(window.mean("snd_wnd") for window in found),
        send_buffer_bytes=_mean(window.held_bytes for window in found),
        in_flight_bytes=known.flow_bps * _mean(window.mean("rtt") for window in found) / 8,
        reordered=in_all("reord_seen") + (0 if duplicates else in_all("dsack_dups")),
        timeouts=in_all("total_rto"),
        marks=in_all("delivered_ce"),
    )


def _growth(found: Sequence[Window]) -> float:
    first = last = 0.0
    for window in found:
        values = window.column("cwnd")
        quarter = max(1, len(values) // 4)
        first += math.fsum(values[:quarter]) / quarter
        last += math.fsum(values[-quarter:]) / quarter
    return last / first if first > 0 else 1.0


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else 0.0
