"""Measurement of a run: each flow and the aggregate, over the measured time or part of it.

Flows are the lab's own results, or computed from the samples of an interrupted run. An imported run lacks figures.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tcptutor.analysis.observed.flow import ARRIVED, Interval, Trace
from tcptutor.run import FlowResult, Run, UdpResult, UdpSample, sum_or_none
from tcptutor.run.flow_columns import rows_of_flows

ENOUGH = 0.2
"""Least time between two samples for a meaningful counter difference, s."""

ENOUGH_OF_TRANSFER = 0.03
"""Least duration of a fixed-size transfer, s; its first and last byte are known."""

SLACK = 1e-3
"""Tolerance for the time of a sample, s."""

_LATE = 1.0
"""Seconds after the planned end in which samples still belong to the traffic, because its start takes time."""

_APART, _LEAST_APART, _MOST_APART = 0.02, 0.25, 0.05
"""Difference of start and end times within which flows cover the same time.

The limits are relative, in seconds, and the relative maximum for the latter.
"""


_FIGURES = ("retransmits", "losses", "segments", "mean_rtt_s", "mean_cwnd_segments")
"""Results of a flow that an imported file may leave out."""

_OF_FLOWS = frozenset(
    {
        "algorithm",
        "streams",
        "duration",
        "warmup",
        "starts",
        "directions",
        "pacing",
        "udp_streams",
        "udp_rate",
    }
)
"""Experiment parameters that an imported file contains."""

FROM_KERNEL = frozenset(
    {
        "mark_cuts", "min_rtt_s", "busy", "rwnd_limited", "sndbuf_limited", "app_limited", "stalled",
        "send_buffer_bytes", "reordered", "timeouts", "marks", "queue_drops", "rtt_rise_s", "host_limited",
        "queueing_s", "pacing_bps",
    }
)  # fmt: skip
"""Evidence that requires a kernel's own samples."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Measurement of a run over its measured time, or of a part of it, as plain values."""

    run: Run
    flows: tuple[FlowResult, ...]
    intervals: tuple[Interval, ...]
    """Measured time of each flow with enough samples; empty for a run stored without samples."""
    traces: tuple[Trace, ...]
    """All samples of every sampled flow."""
    spans: Mapping[int, tuple[float, float]]
    """Start and end of each flow's measured time, s, by number; empty without samples."""
    span: tuple[float, float]
    """Start of the first flow and end of the last in the measured time, s; without samples the planned times."""
    udp: tuple[UdpResult, ...]
    """UDP flows over the measured time of the run, even if `flows` covers a part of it."""
    carried: Mapping[int, float]
    """Payload received in each flow's measured time, bytes, by number."""
    throughput: float
    """Aggregate payload, bit/s: all bytes from the first flow's start to the last flow's end.

    If all flows cover the same time, or without samples, this is the sum of the flows' means. A run of UDP only
    has the received rate, or the sent rate if the receiver's is unknown.
    """
    losses: int | None
    """Loss events of all flows; None if unknown for any flow."""
    mark_cuts: int
    """Cuts of all flows by ECN marks."""
    loss_rate: float | None
    """Loss events per segment sent; None if either is unknown."""
    retransmits: int | None
    """Retransmissions of all flows; None if unknown for any flow."""

    @property
    def mss(self) -> int | None:
        """Largest segment size of the flows, bytes; None if unknown."""
        return max((flow.mss for flow in self.flows), default=0) or None

    @property
    def rto(self) -> float | None:
        """Mean retransmission timeout, s; None if unknown."""
        timeouts = [each.mean("rto") for each in self.intervals]
        return math.fsum(timeouts) / len(timeouts) if timeouts and min(timeouts) > 0 else None

    @property
    def spurious_events(self) -> int:
        """Loss events without a loss, by DSACK; 0 on a path that duplicates."""
        return (
            0 if self.run.experiment.path.duplicate else sum(each.spurious_events for each in self.intervals)
        )

    def between(self, start: float, end: float) -> Measured:
        """Return the part from `start` to `end`, s, with the flows active then."""
        intervals = self.intervals_between(start, end)
        results = [_result(self.run, each) for each in intervals]
        return _measured(self.run, results, intervals, self.traces, self.udp)

    def intervals_between(self, start: float, end: float) -> list[Interval]:
        """Return the interval from `start` to `end`, s, of each flow with enough samples in it."""
        intervals = []
        least = _least_seconds(self.run)
        for trace in self.traces:
            times = trace.column("t")
            first, after = bisect_left(times, start - SLACK), bisect_right(times, end + SLACK)
            if after - first >= 2 and times[after - 1] - times[first] >= least:
                intervals.append(Interval(trace, first, after))
        return intervals

    def of_direction(self, backward: bool) -> Measured:
        """Return the part with the flows of a direction."""
        is_reversed = self.run.experiment.reversed
        return _measured(
            self.run,
            [each for each in self.flows if is_reversed(each.flow) == backward],
            [each for each in self.intervals if is_reversed(each.flow) == backward],
            [each for each in self.traces if is_reversed(each.flow) == backward],
            self.udp,
        )

    def of_link(self, link: int) -> Measured:
        """Return the part with the flows that cross bottleneck number `link`."""
        crosses = self.run.experiment.crosses
        return _measured(
            self.run,
            [each for each in self.flows if crosses(each.flow, link)],
            [each for each in self.intervals if crosses(each.flow, link)],
            [each for each in self.traces if crosses(each.flow, link)],
            self.udp,
        )


def measure(run: Run) -> Measured:
    """Return each flow over the measured time, from the lab's results or the samples of an interrupted run."""
    found = traces(run)
    warmup = run.experiment.flows.warmup
    times = [_measured_time(run, trace) for trace in found]
    # A counter difference needs two samples far enough from each other; a transfer may be shorter.
    least = _least_seconds(run)
    enough = [one for one in times if one.seconds >= least and one.until > warmup]
    results = run.flows or [_result(run, one) for one in enough]
    return _measured(run, results, enough, found, udp_results(run))


def traces(run: Run) -> list[Trace]:
    """Return the trace of each flow by number; finished transfers end at their last byte."""
    rows = rows_of_flows(run.samples)
    acked, size = run.samples.column("bytes_acked"), run.experiment.flows.bytes
    if size is not None:
        rows = {flow: _until_done(indexes, acked, size) for flow, indexes in rows.items()}
    unknown = _unknown_figures(run)
    none: frozenset[str] | None = frozenset() if is_imported(run) else None
    return [
        Trace(flow, run.samples, indexes, unknown.get(flow, none)) for flow, indexes in sorted(rows.items())
    ]


def _unknown_figures(run: Run) -> dict[int, frozenset[str]]:
    """Return for each flow the names of the results that the file leaves out."""
    if not is_imported(run):
        return {}
    return {
        flow.flow: frozenset(name for name in _FIGURES if getattr(flow, name) is None) for flow in run.flows
    }


def _until_done(rows: Sequence[int], acked: Sequence[int], size: int) -> Sequence[int]:
    done = bisect_left(rows, min(size, acked[rows[-1]] + 1), key=acked.__getitem__)
    return rows[: max(2, done + 1)]


def is_imported(run: Run) -> bool:
    """Return whether a different program measured `run`, without the kernel's time accounting."""
    return run.environment.backend == "imported"


def _measured_time(run: Run, trace: Trace) -> Interval:
    """Return the samples from nearest to the warm-up's end until the end of the traffic."""
    times, warmup = trace.column("t"), run.experiment.flows.warmup
    first = min(bisect_left(times, warmup), len(times) - 1)
    if first > 0 and warmup - times[first - 1] < times[first] - warmup:
        first -= 1
    end = bisect_right(times, run.experiment.seconds + _LATE)
    if run.experiment.flows.bytes is not None and end > first + 1:
        # A flow that has sent all its data is idle.
        end = max(first + 2, bisect_left(times, Interval(trace, first, end).last_progress) + 1)
    return Interval(trace, first, max(first + 1, end))


def _least_seconds(run: Run) -> float:
    return ENOUGH if run.experiment.flows.bytes is None else ENOUGH_OF_TRANSFER


def _result(run: Run, interval: Interval) -> FlowResult:
    return FlowResult(
        flow=interval.flow,
        pair=run.experiment.pair_of(interval.flow),
        throughput_bps=interval.throughput,
        retransmits=interval.retransmits,
        losses=interval.loss_events,
        mark_cuts=interval.mark_cuts,
        segments=round(interval.growth("segs_out")) if interval.has_figure("segments") else None,
        mean_rtt_s=interval.mean_rtt,
        mean_cwnd_segments=interval.mean("cwnd") if interval.has_figure("mean_cwnd_segments") else None,
        mss=int(interval.column("mss")[-1]),
    )


def udp_results(run: Run) -> tuple[UdpResult, ...]:
    """Return each UDP flow over the measured time by number; empty without UDP."""
    return tuple(run.udp or _from_samples(run))


def _from_samples(run: Run) -> Iterator[UdpResult]:
    flows: dict[int, list[UdpSample]] = {}
    for row in run.udp_samples:
        flows.setdefault(row.flow, []).append(row)
    warmup, streams = run.experiment.flows.warmup, max(1, run.experiment.flows.udp_streams)
    for flow, rows in sorted(flows.items()):
        first = next((at for at, row in enumerate(rows) if row.t >= warmup), len(rows))
        if len(rows) - first < 2:
            continue
        yield UdpResult.counted(rows[first], rows[first + 1 :], flow // streams)


def _measured(
    run: Run,
    flows: Sequence[FlowResult],
    intervals: Sequence[Interval],
    all_traces: Sequence[Trace],
    udp: tuple[UdpResult, ...],
) -> Measured:
    spans = {each.flow: (each.start, each.until) for each in intervals}
    starts, ends = zip(*spans.values(), strict=True) if spans else ((), ())
    span = (
        min(starts, default=run.experiment.flows.warmup),
        max(ends, default=run.experiment.seconds),
    )
    carried = {each.flow: each.growth(ARRIVED) for each in intervals}
    losses, segments = (
        sum_or_none(flow.losses for flow in flows),
        sum_or_none(flow.segments for flow in flows),
    )
    loss_rate = None
    if losses is not None and segments is not None:
        loss_rate = losses / segments if segments > 0 else 0.0
    return Measured(
        run=run,
        flows=tuple(flows),
        intervals=tuple(intervals),
        traces=tuple(all_traces),
        spans=spans,
        span=span,
        udp=udp,
        carried=carried,
        throughput=_throughput(run, flows, carried, spans, span, udp),
        losses=losses,
        mark_cuts=sum(flow.mark_cuts for flow in flows),
        loss_rate=loss_rate,
        retransmits=sum_or_none(flow.retransmits for flow in flows),
    )


def _throughput(
    run: Run,
    flows: Sequence[FlowResult],
    carried: Mapping[int, float],
    spans: Mapping[int, tuple[float, float]],
    span: tuple[float, float],
    udp: Sequence[UdpResult],
) -> float:
    """Return the aggregate payload, bit/s; see `Measured.throughput`."""
    if not flows and not run.experiment.total_streams:
        # A sender's file has the sent rate only.
        return math.fsum(
            flow.sent_bps or 0.0 if flow.received_bps is None else flow.received_bps for flow in udp
        )
    sum_of_means = math.fsum(flow.throughput_bps for flow in flows)
    is_fixed_size = run.experiment.flows.bytes is not None
    if not spans or (len(spans) < 2 and not is_fixed_size) or any(one.flow not in spans for one in flows):
        return sum_of_means
    start, end = span
    slack = max(_APART * (end - start), min(_LEAST_APART, _MOST_APART * (end - start)))
    is_simultaneous = all(first - start <= slack and end - last <= slack for first, last in spans.values())
    if (is_simultaneous and not is_fixed_size) or end <= start:
        return sum_of_means
    return 8 * math.fsum(carried.values()) / (end - start)


def flow_results(run: Run) -> tuple[FlowResult, ...]:
    """Return the flows of `measure`."""
    return measure(run).flows


def total_throughput(run: Run) -> float:
    """Return the aggregate payload in the measured time, bit/s; see `Measured.throughput`."""
    return measure(run).throughput


def is_parameter_known(run: Run, parameter: str) -> bool:
    """Return whether a parameter is known; in imports only the file and the importer set parameters."""
    return not is_imported(run) or parameter in _OF_FLOWS or parameter in run.supplied
