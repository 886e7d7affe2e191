"""Distributions of delays in a run: queueing at the bottleneck, RTT, and completion times of transfers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from tcptutor.analysis.observed.measured import Measured
from tcptutor.analysis.observed.path import Direction
from tcptutor.analysis.observed.segment_rtt import SegmentRtt
from tcptutor.base.percentiles import Distribution, time_weights

Source = Literal["queue", "samples", "segments", "transfers"]
"""Kind of samples: the queue's backlog over time, the kernel's smoothed RTT over time, each captured segment with its
ACK, or transfers of a fixed size."""

_SAME_PATH = 1.1
"""Ratio of the flows' smallest RTTs up to which they share a path."""


class DelayFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Percentiles of a delay, s; None where the samples are too few for a percentile."""

    source: Source
    samples: int
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    max_s: float | None
    """Largest sample; None if a transfer was not finished."""
    unfinished: int = 0
    """Transfers without an end in the run; they count up to then (`base.percentiles.Distribution.of_censored`)."""


class TransferDuration(NamedTuple):
    """Duration of a transfer."""

    seconds: float
    """Time to its end, or to the end of the run."""
    is_finished: bool


def delay_figures(found: Distribution | None, source: Source) -> DelayFigures | None:
    """Return the percentiles of a distribution; None without one."""
    if found is None:
        return None
    largest = found.values[-1]
    return DelayFigures(
        source=source,
        samples=found.samples,
        p50_s=found.supported_quantile(0.5),
        p95_s=found.supported_quantile(0.95),
        p99_s=found.supported_quantile(0.99),
        max_s=largest if math.isfinite(largest) else None,
    )


def queueing_delays(measured: Measured, link: int = 0) -> Distribution | None:
    """Return the time in which the backlog of bottleneck number `link` leaves, s, over the measured time.

    With a fair queue discipline a packet's own delay differs from it. None without samples, or if all data goes the
    other way, where the queue is not sampled.
    """
    run = measured.run
    is_used = any(not run.experiment.reversed(flow.flow) for flow in measured.flows)
    if not is_used and not any(not flow.reverse for flow in measured.udp):
        return None
    points = Direction(run, link=link).queueing_delays(*measured.span)
    return Distribution.of([delay for _, delay in points], time_weights([t for t, _ in points]))


def smoothed_rtts(measured: Measured) -> Distribution | None:
    """Return the kernel's smoothed RTT, s, over each flow's measured time; None if not measured."""
    rtts: list[float] = []
    weights: list[float] = []
    for each in measured.intervals:
        if each.has_figure("mean_rtt_s"):
            known = [(rtt, t) for rtt, t in zip(each.column("rtt"), each.column("t"), strict=True) if rtt > 0]
            rtts += [rtt for rtt, _ in known]
            weights += time_weights([t for _, t in known])
    return Distribution.of(rtts, weights)


def segment_rtts(measured: Measured, rtts: Sequence[SegmentRtt]) -> Distribution | None:
    """Return the RTTs of captured segments that were sent in their flow's measured time.

    Args:
        measured: The run.
        rtts: RTTs of all captured segments.
    """
    spans = {flow: measured.spans.get(flow, measured.span) for flow in {each.flow for each in rtts}}
    return Distribution.of(each.rtt for each in rtts if spans[each.flow][0] <= each.t <= spans[each.flow][1])


def transfer_times(measured: Measured) -> list[TransferDuration]:
    """Return the duration of each transfer of a fixed size.

    Transfers are short flows and requests that began after the warm-up, otherwise flows with a fixed amount to send.
    """
    run = measured.run
    experiment, end = run.experiment, run.experiment_s or run.experiment.seconds
    if run.transfers:
        columns = run.transfers.column("t"), run.transfers.column("seconds")
        begun = [(at, seconds) for at, seconds in zip(*columns, strict=True) if at >= experiment.flows.warmup]
        return [
            TransferDuration(max(0.0, end - at) if math.isnan(seconds) else seconds, not math.isnan(seconds))
            for at, seconds in begun
        ]
    if experiment.flows.bytes is None:
        return []
    return [
        TransferDuration(max(0.0, end - experiment.start(flow.flow)), False)
        if flow.completion_s is None
        else TransferDuration(flow.completion_s, True)
        for flow in measured.flows
    ]


def completion_figures(times: Sequence[TransferDuration]) -> DelayFigures | None:
    """Return the percentiles of completion times, s; None without any."""
    figures = delay_figures(Distribution.of_censored(times), "transfers")
    if figures is None:
        return None
    unfinished = sum(not each.is_finished for each in times)
    slowest = figures.max_s if not unfinished else None
    return msgspec.structs.replace(figures, samples=len(times), unfinished=unfinished, max_s=slowest)


def smallest_rtt(measured: Measured) -> float | None:
    """Return the smallest RTT of the flows, s; None if unknown, if their paths differ, or if the delay changes."""
    if any(change.name == "delay" for change in measured.run.experiment.path.changes):
        return None
    found = []
    for each in measured.intervals:
        known = [rtt for rtt in each.column("min_rtt") if rtt > 0]
        if not known:
            return None
        found.append(min(known))
    return min(found) if found and max(found) <= _SAME_PATH * min(found) else None
