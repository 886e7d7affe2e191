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

from tcptutor.analysis.case import Case, case_of, flow_case
from tcptutor.analysis.observed.evidence import Evidence, evidence_of_flow, evidence_of_flows
from tcptutor.analysis.observed.figures import FlowPhase, UdpLosses, algorithms_of, phases, udp_losses
from tcptutor.analysis.observed.flow import ARRIVED, Interval, IntervalFigures, Trace, interval_figures
from tcptutor.analysis.observed.limiting_loss import limiting_loss, most_frequent_kind
from tcptutor.analysis.observed.measured import (
    ENOUGH,
    ENOUGH_OF_TRANSFER,
    SLACK,
    Measured,
)
from tcptutor.analysis.observed.path import FULL, LossKind, ObservedPath, observe_path
from tcptutor.analysis.path_changes import mean_path, path_at
from tcptutor.spec import Experiment, Path


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
    queues: int = 1
    """Number of bottlenecks whose queueing delays the evidence adds up."""
    events: Mapping[LossKind | None, int]
    """Loss events by cause."""
    cwnd_segments: float = 0.0
    """Mean cwnd of a single flow."""
    processor: float = 0.0
    """Share of the whole run that the busiest processor was busy; 0 if unknown."""
    loss_varies: bool = False
    """True if the path's loss changes in this time."""
    path_is_known: bool = True
    """False if the path is unknown, which makes the case's path values meaningless."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """Path of a measured run, with the facts of each second, of each flow, and of all flows."""

    measured: Measured
    path: ObservedPath
    seconds: Mapping[int, Sequence[Facts]]
    """Seconds of each flow, warm-up included; empty for a flow with too few samples."""
    flows: Mapping[int, Facts]
    """Measured time of each flow with seconds."""
    run: Facts | None
    """Measured time of all flows; None without measurements."""
    is_reverse: bool | None
    """Direction with more data if flows go both ways; None if all flows go one way."""
    link: int | None
    """The fuller of two bottlenecks in a row; None with one."""
    main: Facts | None
    """Measured time of the flows in the direction with more data, or over the fuller bottleneck; otherwise `run`."""
    phases: Mapping[int, tuple[FlowPhase, ...]]
    """Phases of each flow over the entire run."""
    udp: UdpLosses | None
    """Losses of all UDP flows; None without any."""


def observe(measured: Measured) -> Observed:
    """Return the path and all facts of a measured run. Never raises."""
    path = observe_path(measured)
    seconds = facts_of_seconds(measured, path)
    experiment = measured.run.experiment
    parts = {each.flow: each for each in measured.intervals}
    whole = facts_of_run(measured, path)
    is_reverse, link = _heavier_way(experiment, measured.carried), fuller_link(measured, path)
    main = whole
    if is_reverse is not None or link is not None:
        main = facts_of_run(measured, path, is_reverse, link) or whole
    return Observed(
        measured=measured,
        path=path,
        seconds=seconds,
        flows={
            trace.flow: facts_of_flow(measured, path, parts.get(trace.flow) or Interval(trace, 0, len(trace)))
            for trace in measured.traces
            if seconds[trace.flow]
        },
        run=whole,
        is_reverse=is_reverse,
        link=link,
        main=main,
        phases={
            trace.flow: phases(trace, algorithms_of(experiment, trace.flow)) for trace in measured.traces
        },
        udp=udp_losses(measured),
    )


def facts_of_seconds(measured: Measured, path: ObservedPath) -> dict[int, list[Facts]]:
    """Return the facts of each flow's seconds, cut at full seconds and where the path changes."""
    experiment = measured.run.experiment
    fixed = experiment.flows.bytes is not None
    ends, least = measured.spans if fixed else {}, ENOUGH_OF_TRANSFER if fixed else ENOUGH
    changes = [change.at for change in experiment.path.all_changes]
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
    shared = {
        flow: {links for links in path.crossed if _shares_link(experiment, flow, links)} for flow in parts
    }
    loads = {
        (*key, links): _load(crossing)
        for key, intervals in by_second.items()
        for links in path.crossed
        if (crossing := [each for each in intervals if links in shared[each.flow]])
    }
    delay_changes, processor = _delay_changes(experiment), _processor(measured)
    found = {}
    for flow, intervals in parts.items():
        backward, links = experiment.reversed(flow), experiment.links_of(experiment.pair_of(flow))
        cases: dict[int, Case] = {}  # by number of changes so far
        flow_seconds = []
        for each in intervals:
            period = sum(change <= each.start + SLACK + 1e-9 for change in changes)
            if period not in cases:
                now = each.start + SLACK
                cases[period] = _flow_case(experiment.at(now), flow, path_at(experiment, now))
            flows, together = loads[backward, _second_number(each), links]
            _, opposite = loads.get((not backward, _second_number(each), links), (0, 0.0))
            figures = interval_figures(each, delay_changes)
            flow_seconds.append(
                Facts(
                    start=each.start,
                    end=each.until,
                    case=cases[period],
                    evidence=evidence_of_flow(figures, path, together, opposite),
                    losses=limiting_loss(path, each.trace, figures),
                    flows=flows,
                    queues=len(links),
                    events=_events(path, [each]),
                    processor=processor,
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
    times = times[: bisect_right(times, until + SLACK)]
    if len(times) < 2 or times[-1] - times[0] < least:
        return []
    # Between two samples any full second will do; files may skip a day.
    full_seconds = {float(math.floor(t + slack) + 1) for t in times for slack in (0.0, SLACK)}
    edges = sorted({*full_seconds, *moments})
    edges = [edge for edge in edges if times[0] + ENOUGH <= edge <= times[-1] - ENOUGH]
    used: list[float] = []
    for edge in edges:
        if not used or edge - used[-1] >= ENOUGH:
            used.append(edge)
        elif edge in moments and used[-1] not in moments:
            used[-1] = edge
    cuts = [0, *(bisect_left(times, edge - SLACK) for edge in used), len(times) - 1]
    intervals = [Interval(trace, first, last + 1) for first, last in pairwise(cuts) if last > first]
    return [each for each in intervals if each.seconds > 0]


def _second_number(interval: Interval) -> int:
    return int(interval.start + SLACK)


def _load(intervals: Sequence[Interval]) -> tuple[int, float]:
    """Return the number of flows in a direction during a second, and their aggregate payload, bit/s."""
    bits = sum(8 * each.growth(ARRIVED) for each in intervals)
    span = max(each.until for each in intervals) - min(each.start for each in intervals)
    return len({each.flow for each in intervals}), bits / span


def _flow_case(experiment: Experiment, flow: int, path: Path) -> Case:
    """Return the case of a single flow on `path`."""
    flows = (flow_case(experiment, flow, path),)
    crossed = path.crossed(experiment.links_of(experiment.pair_of(flow)))
    return case_of(experiment, path=crossed, flows=flows, is_reverse=experiment.reversed(flow))


def _delay_changes(experiment: Experiment) -> list[float]:
    return [one.at for one in experiment.path.changes if one.name == "delay"]


def _processor(measured: Measured) -> float:
    return measured.run.fidelity.number("busiest processor")


def _events(path: ObservedPath, intervals: Iterable[Interval]) -> Counter[LossKind | None]:
    return Counter(
        loss.kind
        for each in intervals
        for loss in path.events[each.flow]
        if each.start < loss.t <= each.until
    )


def facts_of_run(
    part: Measured, path: ObservedPath, backward: bool | None = None, link: int | None = None
) -> Facts | None:
    """Return the facts of all flows in `part`, or of those in a direction or over a bottleneck; None without any."""
    measured, experiment, opposite = part, part.run.experiment, 0.0
    if link is not None:
        measured = part.of_link(link)
    if backward is not None:
        measured = part.of_direction(backward)
        opposite = math.fsum(
            each.throughput
            for each in part.intervals_between(*measured.span)
            if experiment.reversed(each.flow) != backward
        )
    parts = _figures(measured)
    evidence = evidence_of_flows(measured, parts, path, opposite, link)
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
    settled = _settled(experiment, start, end)
    now, hosts_now = mean_path(experiment, settled, start, end), experiment.at(settled)
    flows = tuple(
        flow_case(hosts_now, flow, now)
        for flow in range(experiment.total_streams)
        if (not experiment.lives or experiment.is_open(flow, settled))
        and (link is None or experiment.crosses(flow, link))
    )
    if experiment.link_count > 1:
        now = now.crossed((0, 1) if link is None else (link,))
    return Facts(
        start=start,
        end=end,
        case=case_of(hosts_now, path=now, flows=flows, is_reverse=backward),
        evidence=evidence,
        losses=losses,
        flows=1,
        queues=experiment.link_count if link is None else 1,
        events=events,
        processor=_processor(measured),
        loss_varies=_loss_varies(experiment, start, end),
        path_is_known=not path.doubt,
    )


def _figures(measured: Measured) -> list[IntervalFigures]:
    delay_changes = _delay_changes(measured.run.experiment)
    return [interval_figures(each, delay_changes) for each in measured.intervals]


def _losses(experiment: Experiment, events: Counter[LossKind | None], evidence: Evidence) -> LossKind | None:
    """Return the cause of most losses; without loss events, the loss set by the importer."""
    if evidence.loss_events is None and evidence.retransmits and experiment.path.loss > 0:
        return "random-loss"
    return most_frequent_kind(list(events.elements()))


def _settled(experiment: Experiment, start: float, end: float) -> float:
    """Return the start of the longest unchanged period of the path, s."""
    inside = [one.at for one in experiment.path.changes if start < one.at < end]
    spans = pairwise([start, *inside, end])
    return max(spans, key=lambda span: span[1] - span[0])[0]


def _loss_varies(experiment: Experiment, start: float, end: float) -> bool:
    return any(one.name == "loss" and start < one.at < end for one in experiment.path.changes)


def _heavier_way(experiment: Experiment, carried: Mapping[int, float]) -> bool | None:
    """Return whether the reverse direction carried more bytes; None if all flows go one way."""
    bytes_by_direction = {False: 0.0, True: 0.0}
    for flow, size in carried.items():
        bytes_by_direction[experiment.reversed(flow)] += size
    both = {experiment.reversed(flow) for flow in carried} == set(bytes_by_direction)
    return bytes_by_direction[True] > bytes_by_direction[False] if both else None


def fuller_link(measured: Measured, path: ObservedPath) -> int | None:
    """Return the number of the bottleneck with the higher utilization; None with one, or without samples."""
    links = [(link,) for link in range(measured.run.experiment.link_count)]
    if len(links) < 2:
        return None
    used = [path.crossed[link].utilization(*measured.span) or 0.0 for link in links]
    # Two full links differ by chance.
    return int(min(used[1], FULL) > min(used[0], FULL))


def _shares_link(experiment: Experiment, flow: int, links: tuple[int, ...]) -> bool:
    return any(experiment.crosses(flow, link) for link in links)


def facts_of_flow(measured: Measured, path: ObservedPath, interval: Interval) -> Facts:
    """Return the facts of a flow over `interval`."""
    experiment = measured.run.experiment
    start, end = interval.start, interval.until
    rates: dict[bool, list[float]] = {False: [], True: []}
    links = experiment.links_of(experiment.pair_of(interval.flow))
    for each in measured.intervals_between(start, end):
        if _shares_link(experiment, each.flow, links):
            rates[experiment.reversed(each.flow)].append(each.throughput)
    backward = experiment.reversed(interval.flow)
    figures = interval_figures(interval, _delay_changes(experiment))
    evidence = evidence_of_flow(
        figures, path, math.fsum(rates[backward]) or None, math.fsum(rates[not backward])
    )
    settled = _settled(experiment, start, end)
    events = _events(path, [interval])
    return Facts(
        start=start,
        end=end,
        case=_flow_case(experiment.at(settled), interval.flow, mean_path(experiment, settled, start, end)),
        evidence=evidence,
        losses=_losses(experiment, events, evidence),
        flows=len(rates[backward]) or 1,
        queues=len(links),
        events=events,
        processor=_processor(measured),
        cwnd_segments=figures.cwnd,
        loss_varies=_loss_varies(experiment, start, end),
        path_is_known=not path.doubt,
    )


def facts_of_flow_between(observed: Observed, flow: int, start: float, end: float) -> Facts | None:
    """Return the facts of a flow from `start` to `end`, s; None without measurements."""
    intervals = [each for each in observed.measured.intervals_between(start, end) if each.flow == flow]
    return facts_of_flow(observed.measured, observed.path, intervals[0]) if intervals else None


def facts_of_main_between(observed: Observed, start: float, end: float) -> Facts | None:
    """Return the facts of the flows of `Observed.main` from `start` to `end`, s; None without measurements."""
    part = observed.measured.between(start, end)
    return facts_of_run(part, observed.path, observed.is_reverse, observed.link)


def evidence_of_part(measured: Measured) -> Evidence | None:
    """Return the evidence of all flows in `measured`, the whole or a part of a run; None without measurements."""
    return evidence_of_flows(measured, _figures(measured), observe_path(measured))
