"""Source of `Findings` for any flow, or all flows, over any time span of a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tcptutor.analysis.case import Case, case_of, flow_case, path_at
from tcptutor.analysis.compared.findings import MOSTLY, Findings
from tcptutor.analysis.observed.evidence import Evidence, flow_evidence, gather_evidence
from tcptutor.analysis.observed.flow import Interval, Trace
from tcptutor.analysis.observed.measured import Measured, between, is_path_known, restrict_to_direction
from tcptutor.analysis.observed.path import (
    Direction,
    Directions,
    Events,
    LossKind,
    current_events,
    directions,
    holding_loss,
    loss_events,
    most_frequent,
)
from tcptutor.run import Run
from tcptutor.theory.models import LOSS_BLIND

_SLACK = 1e-3
"""Tolerance for an early sample, s."""

_TOOTH = 0.75
"""Share of the measured time above which a sawtooth period is too long for its overflow to be the limit."""


@dataclass(frozen=True)
class RunFindings:
    """Case, path, and loss events of a run."""

    measured: Measured
    case: Case
    links: Directions
    events: Events
    is_reverse: bool | None = None
    """Direction of the flows in `measured`: False is forward, True reverse, None both."""
    all_measured: Measured | None = None
    """Measurement of all flows if `measured` covers a single direction."""
    _rates_by_time: dict[tuple[float, float], Mapping[bool, Sequence[float]]] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def of(cls, measured: Measured) -> RunFindings:
        run, links = measured.run, directions(measured.run)
        events = {
            trace.flow: loss_events(run, trace, links[run.experiment.reversed(trace.flow)])
            for trace in measured.traces
        }
        return cls(measured, case_of(run.experiment), links, events)

    def in_direction(self, backward: bool) -> RunFindings:
        """Return the findings restricted to a direction."""
        return replace(
            self,
            measured=restrict_to_direction(self.measured, backward),
            is_reverse=backward,
            all_measured=self.measured,
            _rates_by_time={},
        )

    @property
    def run(self) -> Run:
        return self.measured.run

    def case_of(self, flow: int, t: float = 0.0) -> Case:
        """Return the case of a single flow on the path as of `t`, s."""
        experiment, path = self.run.experiment, path_at(self.run.experiment, t)
        flows = (flow_case(experiment, flow, path),)
        return replace(self.case, path=path, flows=flows, is_reverse=experiment.reversed(flow))

    def holding_loss(self, interval: Interval) -> LossKind | None:
        """Return the kind of loss that holds a flow's window down in `interval`; None while it grows.

        The window grows until its first cut, which costs nothing if the link stays full afterwards. A continuing
        recovery counts as the loss that started it.
        """
        experiment, last = self.run.experiment, interval.trace.column("t")[-1]
        events = current_events(experiment, self.events[interval.flow], interval.start + _SLACK)
        link = self.links[experiment.reversed(interval.flow)]
        if experiment.algorithm(interval.flow) in LOSS_BLIND:
            return self._losses_ignored(interval, link)
        before = [event for event in events if event.t <= interval.start]
        if before and interval.recovering_share >= MOSTLY:
            return before[-1].kind
        first = events[0] if events and interval.start < events[0].t <= interval.until else None
        if first and first.kind == "bottleneck" and link.stays_full(first.t, interval.until):
            return None
        measured = last if experiment.flows.bytes is not None else experiment.flows.duration
        longest, cwnd = _TOOTH * measured, interval.mean("cwnd")
        return holding_loss(events, interval.start, interval.until, cwnd, last, longest)

    def _losses_ignored(self, interval: Interval, link: Direction) -> LossKind | None:
        """Return the kind of losses of a sender that stays in recovery, so that no new events are counted."""
        if not interval.growth("retransmits"):
            return None
        if link.drops(interval.start, interval.until):
            return "bottleneck"
        return "random-loss" if link.has_random_loss(interval.start) else None

    def single_flow(self, interval: Interval) -> Findings:
        """Return the findings of a flow over `interval`."""
        case = self.case_of(interval.flow, self._settled(interval.start, interval.until))
        rates = self._throughputs(interval.start, interval.until)
        same_direction, opposite = rates[case.is_reverse], math.fsum(rates[not case.is_reverse])
        evidence = flow_evidence(self.run, interval, self.links, math.fsum(same_direction) or None, opposite)
        kinds = self._kinds([interval])
        return Findings(
            case,
            evidence,
            self._losses(kinds, evidence),
            flows=len(same_direction) or 1,
            events=kinds,
            loss_varies=self._loss_varies(interval.start, interval.until),
            path_is_known=is_path_known(self.run),
        )

    def _loss_varies(self, start: float, end: float) -> bool:
        return any(one.name == "loss" and start < one.at < end for one in self.run.experiment.path.changes)

    def _throughputs(self, start: float, end: float) -> Mapping[bool, Sequence[float]]:
        """Return each flow's payload rate from `start` to `end`, bit/s, by direction."""
        times = (round(start, 2), round(end, 2))
        if times not in self._rates_by_time:
            rates: dict[bool, list[float]] = {False: [], True: []}
            for interval in between(self.measured, start, end).intervals:
                rates[self.run.experiment.reversed(interval.flow)].append(interval.throughput)
            self._rates_by_time[times] = rates
        return self._rates_by_time[times]

    def single_flow_between(self, trace: Trace) -> Callable[[float, float], Findings | None]:
        """Return a function for the findings of a flow in a time span."""

        def found(start: float, end: float) -> Findings | None:
            intervals = [
                interval
                for interval in between(self.measured, start, end).intervals
                if interval.flow == trace.flow
            ]
            return self.single_flow(intervals[0]) if intervals else None

        return found

    def all_flows(self, measured: Measured) -> Findings | None:
        """Return the findings of all flows over `measured`; None without measurements."""
        evidence = gather_evidence(measured, self.links, self._opposite(*measured.span))
        if evidence is None:
            return None
        kinds, experiment = self._kinds(measured.intervals), self.run.experiment
        losses = self._losses(kinds, evidence)
        if not measured.intervals and evidence.has_losses:
            # Without samples, rely on the experiment.
            losses = "random-loss" if experiment.path.loss > 0 else "bottleneck"
        return Findings(
            self._case(measured),
            evidence,
            losses,
            events=kinds,
            loss_varies=self._loss_varies(*measured.span),
            processor=self.run.fidelity.number("busiest processor"),
            path_is_known=is_path_known(self.run),
        )

    def _case(self, measured: Measured) -> Case:
        """Return the case of all flows on the path that held for most of the time."""
        experiment, path = self.run.experiment, path_at(self.run.experiment, self._settled(*measured.span))
        flows = tuple(flow_case(experiment, flow.number, path) for flow in self.case.flows)
        backward = (
            all(map(experiment.reversed, range(experiment.total_streams)))
            if self.is_reverse is None
            else self.is_reverse
        )
        return replace(self.case, path=path, flows=flows, is_reverse=backward)

    def _opposite(self, start: float, end: float) -> float:
        """Return the payload of the flows outside `measured`, bit/s."""
        if self.all_measured is None:
            return 0.0
        left_out = restrict_to_direction(between(self.all_measured, start, end), not self.is_reverse)
        return math.fsum(each.throughput for each in left_out.intervals)

    def _settled(self, start: float, end: float) -> float:
        """Return the start of the longest unchanged period of the path, s."""
        inside = [one.at for one in self.run.experiment.path.changes if start < one.at < end]
        spans = pairwise([start, *inside, end])
        return max(spans, key=lambda span: span[1] - span[0])[0]

    def all_flows_between(self, start: float, end: float) -> Findings | None:
        """Return the findings of all flows in a time span; None without measurements."""
        return self.all_flows(between(self.measured, start, end))

    def _losses(self, kinds: Counter[LossKind | None], evidence: Evidence) -> LossKind | None:
        """Return the cause of most losses; without loss events, the loss set by the importer."""
        if evidence.loss_events is None and evidence.retransmits and self.run.experiment.path.loss > 0:
            return "random-loss"
        return most_frequent(list(kinds.elements()))

    def _kinds(self, intervals: Iterable[Interval]) -> Counter[LossKind | None]:
        return Counter(
            loss.kind
            for each in intervals
            for loss in self.events[each.flow]
            if each.start < loss.t <= each.until
        )
