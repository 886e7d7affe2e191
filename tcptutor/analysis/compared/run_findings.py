"""What a verdict looks at, gathered once for a run: `Findings` of any flow, or of all, over any part of the time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tcptutor.analysis.case import Case, case_of, flow_case
from tcptutor.analysis.compared.findings import Findings
from tcptutor.analysis.observed.evidence import Evidence, evidence_of, gather
from tcptutor.analysis.observed.flow import Interval, Trace
from tcptutor.analysis.observed.measured import Measured, between, path_known
from tcptutor.analysis.observed.path import Directions, Events, LossKind, directions, loss_events, most_common
from tcptutor.run import Run


@dataclass(frozen=True)
class RunFindings:
    """A run's case, its path over time, and each flow's losses."""

    measured: Measured
    case: Case
    links: Directions
    events: Events

    @classmethod
    def of(cls, measured: Measured) -> RunFindings:
        run, links = measured.run, directions(measured.run)
        events = {
            trace.flow: loss_events(run, trace, links[run.experiment.reversed(trace.flow)])
            for trace in measured.traces
        }
        return cls(measured, case_of(run.experiment), links, events)

    @property
    def run(self) -> Run:
        return self.measured.run

    def case_of(self, flow: int) -> Case:
        """The case of one flow alone, in its direction."""
        experiment = self.run.experiment
        return replace(self.case, flows=(flow_case(experiment, flow),), backward=experiment.reversed(flow))

    def flow(self, interval: Interval) -> Findings:
        """Of one flow over `interval`."""
        case = self.case_of(interval.flow)
        beside = [
            one.throughput_bps
            for one in self.measured.flows
            if self.run.experiment.reversed(one.flow) == case.backward
        ]
        seen = evidence_of(self.run, interval, self.links[case.backward], math.fsum(beside) or None)
        kinds = self._kinds([interval])
        return Findings(
            case,
            seen,
            self._losses(kinds, seen),
            flows=len(beside) or 1,
            events=kinds,
            known=path_known(self.run),
        )

    def flow_between(self, trace: Trace) -> Callable[[float, float], Findings | None]:
        """Of one flow from one time to another; None where it was hardly seen."""

        def found(start: float, end: float) -> Findings | None:
            mine = [one for one in between(self.measured, start, end).intervals if one.flow == trace.flow]
            return self.flow(mine[0]) if mine else None

        return found

    def all(self, measured: Measured) -> Findings | None:
        """Of all flows over the time of `measured`; None where nothing was."""
        evidence = gather(measured, self.links)
        if evidence is None:
            return None
        kinds, experiment = self._kinds(measured.intervals), self.run.experiment
        losses = self._losses(kinds, evidence)
        if not measured.intervals and evidence.lossy:
            # Without samples only the experiment tells.
            losses = "random-loss" if experiment.path.loss > 0 else "bottleneck"
        return Findings(
            replace(self.case, backward=all(map(experiment.reversed, range(experiment.total_streams)))),
            evidence,
            losses,
            events=kinds,
            processor=self.run.fidelity.number("busiest processor"),
            known=path_known(self.run),
        )

    def all_between(self, start: float, end: float) -> Findings | None:
        """Of all flows from one time to another; None where nothing was measured then."""
        return self.all(between(self.measured, start, end))

    def _losses(self, kinds: Counter[LossKind | None], seen: Evidence) -> LossKind | None:
        """Return what most losses came from; of a file without loss events, by what its importer says of the path."""
        if seen.loss_events is None and seen.retransmits and self.run.experiment.path.loss > 0:
            return "random-loss"
        return most_common(list(kinds.elements()))

    def _kinds(self, intervals: Iterable[Interval]) -> Counter[LossKind | None]:
        """Loss events within, by what they came from."""
        return Counter(
            loss.kind
            for each in intervals
            for loss in self.events[each.flow]
            if each.start < loss.t <= each.until
        )
