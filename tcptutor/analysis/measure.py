"""What a run measured, flow by flow: the lab's own results, or what the samples of a cut run still tell."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from tcptutor.analysis.trace import Trace, Window, traces
from tcptutor.run import FlowResult, Run

_ENOUGH = 0.2
"""Seconds between first and last sample below which a difference of counters says nothing."""

_SLACK = 1.0
"""Seconds after the planned end in which samples still belong to the traffic, as its start takes a moment."""


@dataclass(frozen=True)
class Measured:
    """All that a run measured; one look at its samples serves verdict, report and document."""

    flows: tuple[FlowResult, ...]
    windows: tuple[Window, ...]
    """Of the flows with samples enough; empty for a run that was kept without them."""
    traces: tuple[Trace, ...]
    """All samples of every flow that was seen."""


def measure(run: Run) -> Measured:
    """Each flow over the measured time: as the lab gives it, or from the samples of a run cut short."""
    found = traces(run)
    windows = _windows(run, found)
    flows = run.flows or [_result(run, window) for window in windows]
    return Measured(tuple(flows), tuple(windows), tuple(found))


def flow_results(run: Run) -> tuple[FlowResult, ...]:
    """The flows of `measure`."""
    return measure(run).flows


def _windows(run: Run, found: list[Trace]) -> list[Window]:
    """The measured time of each flow; flows without two samples far enough apart in it are left out."""
    warmup = run.experiment.flows.warmup
    windows = [_measured_time(run, trace) for trace in found]
    return [one for one in windows if one.seconds >= _ENOUGH and one.until > warmup]


def _measured_time(run: Run, trace: Trace) -> Window:
    """From the last sample of the warm-up to the end of the traffic."""
    times = trace.column("t")
    first = max(0, bisect_right(times, run.experiment.flows.warmup) - 1)
    end = bisect_right(times, run.experiment.seconds + _SLACK)
    return Window(trace, first, max(first + 1, end))


def _result(run: Run, window: Window) -> FlowResult:
    return FlowResult(
        flow=window.flow,
        pair=window.flow // max(1, run.experiment.flows.streams),
        throughput_bps=window.throughput,
        retransmits=round(window.grown("retransmits")),
        losses=window.loss_events,
        segments=round(window.grown("segs_out")),
        mean_rtt_s=window.mean("rtt"),
        mean_cwnd_segments=window.mean("cwnd"),
        mss=int(window.column("mss")[-1]),
    )
