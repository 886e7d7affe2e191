"""Facts: everything the samples show about a flow, or all flows, over a second, an episode, or the measured time.

`observe` reads the path and judges nothing. Facts of other time spans are read when a sentence is about them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from tcptutor.analysis.case import Case, case_of, flow_case, path_at
from tcptutor.analysis.observed.evidence import Evidence, evidence_of_flow, evidence_of_flows
from tcptutor.analysis.observed.flow import ARRIVED, Interval, IntervalFigures, Trace, interval_figures
from tcptutor.analysis.observed.measured import Measured, between, intervals_between, restrict_to_direction
from tcptutor.analysis.observed.path import LossKind, ObservedPath, held_by, most_frequent, observe_path
from tcptutor.spec import Experiment

_LEAST = 0.2
"""Least length of a second, s; a shorter remainder joins its neighbor."""

_LEAST_TRANSFER = 0.03
"""Least length of a fixed-size transfer, s."""

_SLACK = 1e-3
"""Tolerance for the time of a sample, s."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Case, evidence and losses of a flow, or of all flows, over a time span."""

    start: float
    end: float
    case: Case
    """Experiment on the path that held for most of the time."""
    evidence: Evidence
    losses: LossKind | None
    """Cause of the losses that hold the window down; None without such losses, or if unknown."""
    flows: int
    """Number of flows on the link; 1 if the evidence covers them all."""
    events: Mapping[LossKind | None, int]
    """Loss events by cause."""
    cwnd_segments: float = 0.0
    """Mean cwnd of a single flow."""
    processor: float = 0.0
    """Share of the time that the busiest processor was busy; 0 if unknown."""
    loss_varies: bool = False
    """True if the path's loss changes in this time."""
    path_is_known: bool = True
    """False if the path is unknown, which makes the case's path values meaningless."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """Path of a measured run, and the facts of each flow's seconds."""

    measured: Measured
    path: ObservedPath
    seconds: Mapping[int, Sequence[Facts]]
    """Seconds of each flow, warm-up included; empty for a flow with too few samples."""


def observe(measured: Measured) -> Observed:
    """Return the path and the seconds of a measured run. Never raises."""
    path = observe_path(measured.run, measured.traces)
    return Observed(measured=measured, path=path, seconds=_seconds(measured, path))


def _seconds(measured: Measured, path: ObservedPath) -> dict[int, list[Facts]]:
    experiment = measured.run.experiment
    fixed = experiment.flows.bytes is not None
    ends, least = measured.spans if fixed else {}, _LEAST_TRANSFER if fixed else _LEAST
    changes = [change.at for change in experiment.path.changes]
    parts = {
        trace.flow: _cut(
            trace, [experiment.flows.warmup, *changes], ends.get(trace.flow, (0.0, math.inf))[1], least
        )
        for trace in measured.traces
    }
    by_second: dict[tuple[bool, int], list[Interval]] = defaultdict(list)
    for intervals in parts.values():
        for each in intervals:
            by_second[experiment.reversed(each.flow), _second_number(each)].append(each)
    loads = {key: _load(intervals) for key, intervals in by_second.items()}
    delay_changes = _delay_changes(experiment)
    found = {}
    for flow, intervals in parts.items():
        backward = experiment.reversed(flow)
        cases: dict[int, Case] = {}  # by number of changes so far
        flow_seconds = []
        for each in intervals:
            period = sum(change <= each.start + _SLACK + 1e-9 for change in changes)
            if period not in cases:
                cases[period] = _flow_case(experiment, flow, each.start + _SLACK)
            flows, together = loads[backward, _second_number(each)]
            _, opposite = loads.get((not backward, _second_number(each)), (0, 0.0))
            figures = interval_figures(each, delay_changes)
            flow_seconds.append(
                Facts(
                    start=each.start,
                    end=each.until,
                    case=cases[period],
                    evidence=evidence_of_flow(figures, path, together, opposite),
                    losses=held_by(path, each.trace, figures),
                    flows=flows,
                    events=_events(path, [each]),
                    cwnd_segments=figures.cwnd,
                    path_is_known=not path.doubt,
                )
            )
        found[flow] = flow_seconds
    return found


def _cut(trace: Trace, moments: Sequence[float], until: float, least: float) -> list[Interval]:
    """Cut at full seconds and at `moments`: the end of the warm-up, and changes of the path.

    A flow shorter than `least` gives no intervals. Samples after `until`, the end of a fixed-size transfer, are
    ignored.
    """
    times = trace.column("t")
    times = times[: bisect_right(times, until + _SLACK)]
    if len(times) < 2 or times[-1] - times[0] < least:
        return []
    # Between two samples any full second will do; files may skip a day.
    full_seconds = {float(math.floor(t + slack) + 1) for t in times for slack in (0.0, _SLACK)}
    edges = sorted({*full_seconds, *moments})
    edges = [edge for edge in edges if times[0] + _LEAST <= edge <= times[-1] - _LEAST]
    used: list[float] = []
    for edge in edges:
        if not used or edge - used[-1] >= _LEAST:
            used.append(edge)
        elif edge in moments and used[-1] not in moments:
            used[-1] = edge
    cuts = [0, *(bisect_left(times, edge - _SLACK) for edge in used), len(times) - 1]
    intervals = [Interval(trace, first, last + 1) for first, last in pairwise(cuts) if last > first]
    return [each for each in intervals if each.seconds > 0]


def _second_number(interval: Interval) -> int:
    return int(interval.start + _SLACK)


def _load(intervals: Sequence[Interval]) -> tuple[int, float]:
    """Return the number of flows in a direction during a second, and their aggregate payload, bit/s."""
    bits = sum(8 * each.growth(ARRIVED) for each in intervals)
    span = max(each.until for each in intervals) - min(each.start for each in intervals)
    return len({each.flow for each in intervals}), bits / span


def facts_of_flow(observed: Observed, interval: Interval) -> Facts:
    """Return the facts of a flow over `interval`."""
    measured, path = observed.measured, observed.path
    experiment = measured.run.experiment
    start, end = interval.start, interval.until
    rates: dict[bool, list[float]] = {False: [], True: []}
    for each in intervals_between(measured, start, end):
        rates[experiment.reversed(each.flow)].append(each.throughput)
    backward = experiment.reversed(interval.flow)
    figures = interval_figures(interval, _delay_changes(experiment))
    evidence = evidence_of_flow(
        figures, path, math.fsum(rates[backward]) or None, math.fsum(rates[not backward])
    )
    events = _events(path, [interval])
    return Facts(
        start=start,
        end=end,
        case=_flow_case(experiment, interval.flow, _settled(experiment, start, end)),
        evidence=evidence,
        losses=_losses(experiment, events, evidence),
        flows=len(rates[backward]) or 1,
        events=events,
        cwnd_segments=figures.cwnd,
        loss_varies=_loss_varies(experiment, start, end),
        path_is_known=not path.doubt,
    )


def facts_of_flow_between(observed: Observed, flow: int, start: float, end: float) -> Facts | None:
    """Return the facts of a flow from `start` to `end`, s; None without measurements."""
    intervals = [each for each in intervals_between(observed.measured, start, end) if each.flow == flow]
    return facts_of_flow(observed, intervals[0]) if intervals else None


def facts_of_run(observed: Observed, backward: bool | None = None) -> Facts | None:
    """Return the facts of all flows, or of a direction, over the measured time; None without measurements."""
    return _facts_of_flows(observed, observed.measured, backward)


def facts_of_run_between(
    observed: Observed, start: float, end: float, backward: bool | None = None
) -> Facts | None:
    """Return the facts of all flows, or of a direction, from `start` to `end`, s; None without measurements."""
    return _facts_of_flows(observed, between(observed.measured, start, end), backward)


def evidence_of_part(measured: Measured) -> Evidence | None:
    """Return the evidence of all flows in `measured`, the whole or a part of a run; None without measurements."""
    return evidence_of_flows(measured, _figures(measured), observe_path(measured.run, ()))


def _facts_of_flows(observed: Observed, measured: Measured, backward: bool | None) -> Facts | None:
    path, experiment, opposite = observed.path, measured.run.experiment, 0.0
    if backward is not None:
        measured = restrict_to_direction(measured, backward)
        opposite = math.fsum(
            each.throughput
            for each in intervals_between(observed.measured, *measured.span)
            if experiment.reversed(each.flow) != backward
        )
    parts = _figures(measured)
    evidence = evidence_of_flows(measured, parts, path, opposite)
    if evidence is None:
        return None
    start, end = measured.span
    events = _events(path, measured.intervals)
    losses = _losses(experiment, events, evidence)
    if not parts and evidence.has_losses:
        # Without samples, rely on the experiment.
        losses = "random-loss" if experiment.path.loss > 0 else "bottleneck"
    if backward is None:
        backward = all(map(experiment.reversed, range(experiment.total_streams)))
    now = path_at(experiment, _settled(experiment, start, end))
    flows = tuple(flow_case(experiment, flow, now) for flow in range(experiment.total_streams))
    return Facts(
        start=start,
        end=end,
        case=case_of(experiment, path=now, flows=flows, is_reverse=backward),
        evidence=evidence,
        losses=losses,
        flows=1,
        events=events,
        processor=measured.run.fidelity.number("busiest processor"),
        loss_varies=_loss_varies(experiment, start, end),
        path_is_known=not path.doubt,
    )


def _figures(measured: Measured) -> list[IntervalFigures]:
    delay_changes = _delay_changes(measured.run.experiment)
    return [interval_figures(each, delay_changes) for each in measured.intervals]


def _flow_case(experiment: Experiment, flow: int, t: float) -> Case:
    """Return the case of a single flow on the path as of `t`, s."""
    path = path_at(experiment, t)
    flows = (flow_case(experiment, flow, path),)
    return case_of(experiment, path=path, flows=flows, is_reverse=experiment.reversed(flow))


def _settled(experiment: Experiment, start: float, end: float) -> float:
    """Return the start of the longest unchanged period of the path, s."""
    inside = [one.at for one in experiment.path.changes if start < one.at < end]
    spans = pairwise([start, *inside, end])
    return max(spans, key=lambda span: span[1] - span[0])[0]


def _delay_changes(experiment: Experiment) -> list[float]:
    return [one.at for one in experiment.path.changes if one.name == "delay"]


def _loss_varies(experiment: Experiment, start: float, end: float) -> bool:
    return any(one.name == "loss" and start < one.at < end for one in experiment.path.changes)


def _events(path: ObservedPath, intervals: Iterable[Interval]) -> Counter[LossKind | None]:
    return Counter(
        loss.kind
        for each in intervals
        for loss in path.events[each.flow]
        if each.start < loss.t <= each.until
    )


def _losses(experiment: Experiment, events: Counter[LossKind | None], evidence: Evidence) -> LossKind | None:
    """Return the cause of most losses; without loss events, the loss set by the importer."""
    if evidence.loss_events is None and evidence.retransmits and experiment.path.loss > 0:
        return "random-loss"
    return most_frequent(list(events.elements()))
