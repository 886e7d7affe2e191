"""The numbers that a verdict rests on, gathered over all flows of a run's measured time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

from tcptutor.analysis.case import case_of
from tcptutor.analysis.measure import Measured, Window
from tcptutor.run import CA_STATES, Run

_STALL = 0.15
"""Seconds without an acknowledged byte that are no longer a round trip: Linux's least timeout is 0.2 s."""

_LOSS = CA_STATES.index("loss")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Shares are of the measured time unless they say otherwise; without samples they keep their defaults."""

    throughput_bps: float
    link_used: float | None
    """Share of the link's goodput; None when the link is not shaped."""
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
    stalled: float = 0.0
    """Waiting for a timeout or recovering from one."""
    cwnd_growth: float = 1.0
    """Mean window of the last quarter over that of the first."""
    cwnd_bytes: float = 0.0
    """Mean of one flow's window; so is the next."""
    receiver_window_bytes: float = 0.0
    """0 where the kernel does not tell."""
    in_flight_bytes: float = 0.0
    """Of one flow, by throughput times RTT."""
    reordered: int = 0
    """Reorderings seen, and duplicates that the receiver reports."""

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


def gather(run: Run, measured: Measured) -> Evidence | None:
    """The evidence of `run`; None when nothing could be measured. Never raises."""
    flows, found = measured.flows, measured.windows
    if not flows:
        return None
    throughput = math.fsum(flow.throughput_bps for flow in flows)
    segments, losses = sum(flow.segments for flow in flows), sum(flow.losses for flow in flows)
    link = case_of(run.experiment).link
    known = Evidence(
        throughput_bps=throughput,
        link_used=throughput / link if link else None,
        loss_events=losses,
        retransmits=sum(flow.retransmits for flow in flows),
        loss_rate=losses / segments if segments > 0 else 0.0,
        mean_rtt_s=_mean(flow.mean_rtt_s for flow in flows),
    )
    return _sampled(known, found, throughput / len(flows)) if found else known


def _sampled(known: Evidence, found: Sequence[Window], throughput: float) -> Evidence:
    """`known` with what only samples tell. `throughput` is one flow's, bit/s."""
    seconds = math.fsum(window.seconds for window in found)
    busy = math.fsum(window.grown("busy") for window in found)
    minima = [rtt for window in found for rtt in window.column("min_rtt") if rtt > 0]

    def of_busy(column: str) -> float:
        return min(1.0, math.fsum(window.grown(column) for window in found) / busy) if busy > 0 else 0.0

    return replace(
        known,
        min_rtt_s=min(minima, default=0.0),
        # Bytes that were acknowledged had to be sent: without busy time the kernel does not count it.
        busy=min(1.0, busy / seconds) if busy > 0 or throughput == 0 else 1.0,
        rwnd_limited=of_busy("rwnd_limited"),
        sndbuf_limited=of_busy("sndbuf_limited"),
        app_limited=_mean(window.mean("app_limited") for window in found),
        stalled=math.fsum(_stalled(window) for window in found) / seconds,
        cwnd_growth=_growth(found),
        cwnd_bytes=_mean(window.mean("cwnd") * window.mean("mss") for window in found),
        receiver_window_bytes=_mean(window.mean("snd_wnd") for window in found),
        in_flight_bytes=throughput * _mean(window.mean("rtt") for window in found) / 8,
        reordered=round(sum(window.grown("reord_seen") + window.grown("dsack_dups") for window in found)),
    )


def _stalled(window: Window) -> float:
    """Seconds in the loss state, or longer than a round trip without an acknowledged byte."""
    times, acked, states = (window.column(name) for name in ("t", "bytes_acked", "ca_state"))
    patience = max(_STALL, 2 * window.mean("rtt"))
    total = still = 0.0
    for (start, before, _), (end, now, state) in pairwise(zip(times, acked, states, strict=True)):
        if now > before and state != _LOSS:
            total += still if still > patience else 0.0
            still = 0.0
        elif state == _LOSS:
            total, still = total + still + end - start, 0.0
        else:
            still += end - start
    return total + (still if still > patience else 0.0)


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
