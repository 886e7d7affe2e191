"""Explanations for any instant of a run: each flow's limit, and the cause of each loss.

They work for running and finished runs, from the samples only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

import msgspec

from tcptutor.analysis.compared.clauses import clause
from tcptutor.analysis.compared.episodes import JudgedSecond, judge_seconds
from tcptutor.analysis.observed.facts import facts_of_seconds
from tcptutor.analysis.observed.figures import FlowPhase, PhaseName, algorithms_of, phases
from tcptutor.analysis.observed.flow import Trace
from tcptutor.analysis.observed.measured import measure
from tcptutor.analysis.observed.path import Direction, LossEvent, LossKind, loss_time_range, observe_path
from tcptutor.base import units
from tcptutor.base.causes import LimitedBy
from tcptutor.run import Run

_BY_LOSS: frozenset[LimitedBy] = frozenset({"random-loss", "bottleneck", "reordering"})


class LimitedTime(msgspec.Struct, frozen=True, kw_only=True):
    """Limiting cause of a flow for a period."""

    start: float
    end: float
    limited_by: LimitedBy
    why: str
    """Sentence with the figures; empty if the samples of this time do not show the cause."""


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """Response of a sender to a loss or a mark."""

    t: float
    is_mark: bool
    """True for an ECN mark without a loss."""
    kind: LossKind | None
    """Cause; None if unknown."""
    why: str
    """Evidence for the cause, as text."""
    cwnd_before: int
    """cwnd in the sample before, segments."""
    cwnd_after: int
    """Least cwnd before it grows again, segments."""


class Insight(msgspec.Struct, frozen=True, kw_only=True):
    """Explanations by flow number, in order of time."""

    until: float
    """Time of the latest sample used, s."""
    limits: Mapping[int, Sequence[LimitedTime]]
    losses: Mapping[int, Sequence[Loss]]
    phases: Mapping[int, Sequence[FlowPhase]]

    def limit(self, flow: int, t: float) -> LimitedTime | None:
        """Return the limit of a flow at `t`; None if that time was not judged."""
        return next((each for each in self.limits.get(flow, ()) if each.start <= t < each.end), None)

    def phase(self, flow: int, t: float) -> PhaseName | None:
        """Return the congestion control phase of a flow at `t`; None if unknown."""
        known = (each for each in self.phases.get(flow, ()) if each.start <= t < each.end)
        return next((each.name for each in known), None)

    def losses_between(self, flow: int, start: float, end: float) -> Sequence[Loss]:
        """Return the losses of a flow from `start` to `end`, inclusive."""
        return [each for each in self.losses.get(flow, ()) if start <= each.t <= end]


def insight(run: Run) -> Insight:
    """Return the explanations for the current state of `run`. Never raises."""
    measured = measure(run)
    path = observe_path(measured)
    judged = judge_seconds(facts_of_seconds(measured, path))
    experiment = run.experiment
    return Insight(
        until=run.sampled_until,
        limits={flow: tuple(_limits(seconds, path.events[flow])) for flow, seconds in judged.items()},
        losses={
            trace.flow: tuple(_losses(trace, path.events[trace.flow], path.link_of(trace.flow)))
            for trace in measured.traces
        },
        phases={
            trace.flow: phases(trace, algorithms_of(experiment, trace.flow)) for trace in measured.traces
        },
    )


def _limits(judged: Sequence[JudgedSecond], events: Sequence[LossEvent]) -> Iterator[LimitedTime]:
    for second, findings in judged:
        why = clause(second.limited_by, findings)
        if not why and second.limited_by in _BY_LOSS and second.limited_by == findings.losses:
            why = _between_losses(events, second.start, second.end, second.cwnd_segments)
        yield LimitedTime(start=second.start, end=second.end, limited_by=second.limited_by, why=why)


def _between_losses(events: Sequence[LossEvent], start: float, end: float, cwnd: float) -> str:
    """Return how the neighboring losses explain a second without losses; empty if it has losses."""
    first, after = (bisect_right(events, t, key=attrgetter("t")) for t in (start, end))
    if first == 0 or after > first:
        return ""
    before = events[first - 1]
    if cwnd < before.cwnd:
        cut = f"{before.cwnd:.0f}, where the loss at {before.t:.2f} s cut it"
        return f"cwnd, {cwnd:.0f} on average, is not yet back at {cut}"
    if after < len(events):
        return f"between the losses at {before.t:.2f} s and at {events[after].t:.2f} s cwnd is what they leave of it"
    return f"cwnd is what the loss at {before.t:.2f} s left of it"


def _losses(trace: Trace, events: Sequence[LossEvent], link: Direction) -> Iterator[Loss]:
    times, cwnds = trace.column("t"), trace.column("cwnd")
    marks = set(trace.cuts.marks)
    for number, event in enumerate(events):
        at = event.at
        end = events[number + 1].at if number + 1 < len(events) else len(times)
        low = at
        while low + 1 < end and cwnds[low + 1] <= cwnds[low]:
            low += 1
        yield Loss(
            t=event.t,
            is_mark=at in marks,
            kind=event.kind,
            why=_came_from(trace, at, event.kind, link),
            cwnd_before=cwnds[at - 1],
            cwnd_after=cwnds[low],
        )


def _came_from(trace: Trace, at: int, kind: LossKind | None, link: Direction) -> str:
    """Return the evidence for a loss's cause, following `observed.path.loss_events`."""
    now, since = loss_time_range(trace, at)
    dropped = link.drops(since, now)
    if kind == "bottleneck":
        if at in trace.cuts.marks:
            return "the bottleneck's queue marked segments"
        if dropped:
            packets = "a packet" if dropped == 1 else f"{dropped} packets"
            return f"the bottleneck's queue dropped {packets} in the {units.seconds(now - since, 2)} before"
        return "a queue, for the path loses none; it was not sampled"
    if kind == "random-loss":
        queue = ", and the bottleneck's queue dropped none" if link.has_samples else ""
        return f"the path loses segments at random{queue}"
    if kind == "reordering":
        return (
            "segments came out of order, none was dropped"
            if link.has_samples
            else "segments came out of order"
        )
    return "nothing is known of what it came from"
