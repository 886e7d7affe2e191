"""A run's flows in numbers: what each got, how much of the whole that is, and how steady it was."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal

import msgspec

from tcptutor.analysis.observed.flow import ARRIVED, Interval
from tcptutor.analysis.observed.measured import Measured
from tcptutor.run import FlowResult, sum_or_none
from tcptutor.theory import coefficient_of_variation, jain_index

_STEP = 1.0
"""Seconds over which a flow's rate is taken for its coefficient of variation."""

_ENOUGH_STEPS = 4
"""Rates below which their spread says nothing."""


class FlowFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One TCP flow over the measured time; None for what was not measured."""

    flow: int
    pair: int
    throughput_bps: float
    share: float
    """Of the sum of all flows' throughputs, 0 to 1; 0 where none got anything."""
    retransmits: int | None
    losses: int | None
    """Loss events."""
    mark_cuts: int
    """Times that ECN marks cut the window, with nothing lost."""
    mean_rtt_s: float | None
    mean_cwnd_segments: float | None
    receiver_bps: float | None
    """What the receiver counted over the same time, bit/s; None where nothing tells of it."""
    cov: float | None
    """Coefficient of variation of its rates in each second of the measured time; None for fewer than four of them."""


def figures(measured: Measured) -> tuple[FlowFigures, ...]:
    """Of every flow that was measured, in order of their numbers."""
    total = math.fsum(flow.throughput_bps for flow in measured.flows)
    intervals = {each.flow: each for each in measured.intervals}
    return tuple(
        FlowFigures(
            flow=flow.flow,
            pair=flow.pair,
            throughput_bps=flow.throughput_bps,
            share=flow.throughput_bps / total if total > 0 else 0.0,
            retransmits=flow.retransmits,
            losses=flow.losses,
            mark_cuts=flow.mark_cuts,
            mean_rtt_s=flow.mean_rtt_s,
            mean_cwnd_segments=flow.mean_cwnd_segments,
            receiver_bps=flow.receiver_bps,
            cov=_variation(_rates(intervals[flow.flow]), _ENOUGH_STEPS) if flow.flow in intervals else None,
        )
        for flow in measured.flows
    )


class DirectionFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The flows of one direction, where a run has flows both ways: what they share is one link."""

    direction: Literal["forward", "reverse"]
    flows: int
    throughput_bps: float
    jain_index: float | None
    """None for one flow, which shares with none."""
    retransmits: int | None


def directions(measured: Measured) -> tuple[DirectionFigures, ...]:
    """Return the figures of each direction; empty where all TCP flows run one way."""
    experiment = measured.run.experiment
    ways: dict[bool, list[FlowResult]] = {}
    for flow in measured.flows:
        ways.setdefault(experiment.reversed(flow.flow), []).append(flow)
    if len(ways) < 2:
        return ()
    return tuple(
        DirectionFigures(
            direction="reverse" if reverse else "forward",
            flows=len(flows),
            throughput_bps=math.fsum(flow.throughput_bps for flow in flows),
            jain_index=jain_index(flow.throughput_bps for flow in flows)
            if len(flows) > 1 and any(flow.throughput_bps for flow in flows)
            else None,
            retransmits=sum_or_none(flow.retransmits for flow in flows),
        )
        for reverse, flows in sorted(ways.items())
    )


def cov_between(measured: Measured) -> float | None:
    """Coefficient of variation of the flows' means; None for one flow, and for flows both ways.

    Jain's index is 1 / (1 + cov²).
    """
    if len({measured.run.experiment.reversed(flow.flow) for flow in measured.flows}) > 1:
        return None
    return _variation([flow.throughput_bps for flow in measured.flows], least=2)


def _variation(rates: Iterable[float], least: int) -> float | None:
    found = list(rates)
    return coefficient_of_variation(found) if len(found) >= least and max(found) > 0 else None


def _rates(interval: Interval) -> list[float]:
    """Of each whole second, bit/s; up to the last byte for a flow that had a fixed amount to send."""
    times, arrived = interval.column("t"), interval.column(ARRIVED)
    end = interval.last_progress
    steps = [0]
    for at, t in enumerate(times):
        # A hair of slack: a sample may come a little before its time.
        if t - times[steps[-1]] >= _STEP - 0.005 and t <= end:
            steps.append(at)
    return [
        8 * max(0.0, arrived[last] - arrived[first]) / (times[last] - times[first])
        for first, last in pairwise(steps)
    ]
