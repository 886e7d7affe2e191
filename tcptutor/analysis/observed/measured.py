"""What a run measured: each flow, and all of them together, over the measured time or any part of it.

The flows are the lab's own results, or what the samples of a cut run still tell.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

from tcptutor.analysis.observed.flow import ARRIVED, Interval, Trace, traces
from tcptutor.analysis.observed.foreign import path_doubt
from tcptutor.analysis.observed.udp import udp_results
from tcptutor.run import FlowResult, Run, UdpResult, sum_or_none

_ENOUGH = 0.2
"""Seconds between first and last sample below which a difference of counters says nothing."""

_ENOUGH_OF_TRANSFER = 0.03
"""Seconds that a flow with a fixed amount to send takes at least: it is known from its first byte to its last."""

_SLACK = 1e-3
"""Seconds by which a sample may come beside its time."""

_LATE = 1.0
"""Seconds after the planned end in which samples still belong to the traffic, as its start takes a moment."""

_APART, _LEAST_APART, _MOST_APART = 0.02, 0.25, 0.05
"""How far apart flows may begin and end and still cover the same time: relative, or in seconds, relatively at most."""


@dataclass(frozen=True)
class Measured:
    """All that a run measured; one look at its samples serves verdict, report and document."""

    run: Run
    flows: tuple[FlowResult, ...]
    intervals: tuple[Interval, ...]
    """The measured time of the flows with samples enough; empty for a run that was kept without them."""
    traces: tuple[Trace, ...]
    """All samples of every flow that was seen."""

    @cached_property
    def spans(self) -> dict[int, tuple[float, float]]:
        """From when to when each flow was measured, seconds, by its number; empty without samples."""
        return {each.flow: (each.start, each.until) for each in self.intervals}

    @cached_property
    def span(self) -> tuple[float, float]:
        """From the first flow's start to the last one's end in the measured time, s; all of it without samples."""
        experiment = self.run.experiment
        starts, ends = zip(*self.spans.values(), strict=True) if self.spans else ((), ())
        return min(starts, default=experiment.flows.warmup), max(ends, default=experiment.seconds)

    @cached_property
    def udp(self) -> tuple[UdpResult, ...]:
        """Each UDP flow over the measured time of the whole run, whatever part of it `flows` are of."""
        return udp_results(self.run)

    @cached_property
    def throughput(self) -> float:
        """Payload of all flows, bit/s: all bytes over the time from the first flow's start to the last one's end.

        Of a run of nothing but UDP it is what its receivers got, or what was sent where no receiver tells.

        That is the sum of the flows' own means when all cover the same time, and that sum itself is given then, as
        where no samples tell when they did.
        """
        if not self.flows and not self.run.experiment.total_streams:
            # A sender's file tells what was sent; what arrived is not known then.
            return math.fsum(
                flow.sent_bps or 0.0 if flow.received_bps is None else flow.received_bps for flow in self.udp
            )
        plain = math.fsum(flow.throughput_bps for flow in self.flows)
        spans, fixed = self.spans, self.run.experiment.flows.bytes is not None
        if not spans or (len(spans) < 2 and not fixed) or any(one.flow not in spans for one in self.flows):
            return plain
        start, end = self.span
        slack = max(_APART * (end - start), min(_LEAST_APART, _MOST_APART * (end - start)))
        alike = all(first - start <= slack and end - last <= slack for first, last in spans.values())
        if (alike and not fixed) or end <= start:
            return plain
        return 8 * math.fsum(each.grown(ARRIVED) for each in self.intervals) / (end - start)

    @property
    def losses(self) -> int | None:
        """Loss events of all flows; None where those of any are unknown."""
        return sum_or_none(flow.losses for flow in self.flows)

    @property
    def mark_cuts(self) -> int:
        """Cuts of all flows by ECN marks."""
        return sum(flow.mark_cuts for flow in self.flows)

    @property
    def loss_rate(self) -> float | None:
        """Loss events per segment sent; None where either is unknown."""
        losses, segments = self.losses, sum_or_none(flow.segments for flow in self.flows)
        if losses is None or segments is None:
            return None
        return losses / segments if segments > 0 else 0.0

    @property
    def retransmits(self) -> int | None:
        """Segments that all flows sent again; None where those of any are unknown."""
        return sum_or_none(flow.retransmits for flow in self.flows)


def measure(run: Run) -> Measured:
    """Each flow over the measured time: as the lab gives it, or from the samples of a run cut short."""
    found = traces(run)
    warmup = run.experiment.flows.warmup
    times = [_measured_time(run, trace) for trace in found]
    # A difference of counters needs two samples that are far enough apart; a whole transfer may be over sooner.
    least = _least_seconds(run)
    enough = tuple(one for one in times if one.seconds >= least and one.until > warmup)
    return Measured(run, tuple(run.flows or (_result(run, one) for one in enough)), enough, tuple(found))


def between(measured: Measured, start: float, end: float) -> Measured:
    """What `measured` has of the time from `start` to `end`, of the flows that were there then."""
    intervals = []
    least = _least_seconds(measured.run)
    for trace in measured.traces:
        times = trace.column("t")
        first, after = bisect_left(times, start - _SLACK), bisect_right(times, end + _SLACK)
        if after - first >= 2 and times[after - 1] - times[first] >= least:
            intervals.append(Interval(trace, first, after))
    results = tuple(_result(measured.run, each) for each in intervals)
    return Measured(measured.run, results, tuple(intervals), measured.traces)


def of_way(measured: Measured, backward: bool) -> Measured:
    """Return what `measured` has of the flows that go one way."""
    goes = measured.run.experiment.reversed
    return Measured(
        measured.run,
        tuple(one for one in measured.flows if goes(one.flow) == backward),
        tuple(one for one in measured.intervals if goes(one.flow) == backward),
        tuple(one for one in measured.traces if goes(one.flow) == backward),
    )


def flow_results(run: Run) -> tuple[FlowResult, ...]:
    """The flows of `measure`."""
    return measure(run).flows


def together(run: Run) -> float:
    """Payload of all flows in the measured time, bit/s, as `Measured.throughput` has it."""
    return measure(run).throughput


def path_known(run: Run) -> bool:
    """Whether the models can be asked: a run from elsewhere tells nothing of its path unless its importer did."""
    return not path_doubt(run)


def _least_seconds(run: Run) -> float:
    return _ENOUGH if run.experiment.flows.bytes is None else _ENOUGH_OF_TRANSFER


def _measured_time(run: Run, trace: Trace) -> Interval:
    """From the sample that is nearest to the end of the warm-up to the end of the traffic."""
    times, warmup = trace.column("t"), run.experiment.flows.warmup
    first = min(bisect_left(times, warmup), len(times) - 1)
    if first > 0 and warmup - times[first - 1] < times[first] - warmup:
        first -= 1
    end = bisect_right(times, run.experiment.seconds + _LATE)
    if run.experiment.flows.bytes is not None and end > first + 1:
        # A flow that has sent all is idle.
        end = max(first + 2, bisect_left(times, Interval(trace, first, end).last_progress) + 1)
    return Interval(trace, first, max(first + 1, end))


def _result(run: Run, interval: Interval) -> FlowResult:
    return FlowResult(
        flow=interval.flow,
        pair=interval.flow // max(1, run.experiment.flows.streams),
        throughput_bps=interval.throughput,
        retransmits=interval.retransmits,
        losses=interval.loss_events,
        mark_cuts=interval.mark_cuts,
        segments=round(interval.grown("segs_out")) if interval.tells("segments") else None,
        mean_rtt_s=interval.mean_rtt,
        mean_cwnd_segments=interval.mean("cwnd") if interval.tells("mean_cwnd_segments") else None,
        mss=int(interval.column("mss")[-1]),
    )
