"""The kind of loss that holds a flow's window down in an interval, from the flow's loss events."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from tcptutor.analysis.observed.flow import IntervalFigures, Trace
from tcptutor.analysis.observed.measured import SLACK
from tcptutor.analysis.observed.path import Direction, LossEvent, LossKind, ObservedPath
from tcptutor.analysis.path_changes import path_at
from tcptutor.spec import Experiment, Path
from tcptutor.theory.models import LOSS_BLIND

_TOOTH = 0.75
"""Share of the measured time above which a sawtooth period is too long for its overflow to be the limit."""

_RECOVERING = 0.5
"""Share of the time in recovery from which the loss that started it holds the window down."""

_MORE = 1.05
"""Growth of the path's capacity after which an earlier overflow no longer counts."""


def limiting_loss(path: ObservedPath, trace: Trace, part: IntervalFigures) -> LossKind | None:
    """Return the kind of loss that holds a flow's window down in an interval; None while it grows.

    The window grows until its first cut, which costs nothing if the link stays full afterwards. A continuing
    recovery counts as the loss that started it.
    """
    experiment, last = path.run.experiment, trace.column("t")[-1]
    events = _current_events(experiment, path.events[part.flow], part.start + SLACK)
    link = path.link_of(part.flow)
    if experiment.at(part.start + SLACK).algorithm(part.flow) in LOSS_BLIND:
        return _losses_ignored(part, link)
    before = [event for event in events if event.t <= part.start]
    if before and part.recovering >= _RECOVERING:
        return before[-1].kind
    first = events[0] if events and part.start < events[0].t <= part.until else None
    if first and first.kind == "bottleneck" and link.stays_full(first.t, part.until):
        return None
    measured = last if experiment.flows.bytes is not None else experiment.flows.duration
    return _last_loss(events, part, last, _TOOTH * measured)


def _losses_ignored(part: IntervalFigures, link: Direction) -> LossKind | None:
    """Return the kind of losses of a sender that stays in recovery, so that no new events are counted."""
    if not part.resent:
        return None
    if link.drops(part.start, part.until):
        return "bottleneck"
    return "random-loss" if link.has_random_loss(part.start) else None


def _current_events(experiment: Experiment, events: Sequence[LossEvent], t: float) -> list[LossEvent]:
    """Return `events`, leaving out any that a change of the path made obsolete by `t`, s."""
    if not experiment.path.all_changes:
        return list(events)
    now = path_at(experiment, t)
    return [each for each in events if not _outdated(each, path_at(experiment, each.t), now)]


def _outdated(event: LossEvent, then: Path, now: Path) -> bool:
    """Return whether the path stopped the random loss or the reordering, or has room for more."""
    if event.kind == "random-loss":
        return then.loss > 0 and now.loss == 0
    if event.kind == "reordering":
        return then.jitter + then.reorder > 0 and now.jitter + now.reorder == 0
    return _room(now) > _MORE * _room(then)


def _room(path: Path) -> float:
    return (path.rate or 0.0) * path.delay / 8 + path.queue


def _last_loss(
    events: Sequence[LossEvent], part: IntervalFigures, last: float, longest: float
) -> LossKind | None:
    """Return the kind of loss that holds cwnd down in an interval; None while cwnd grows freely.

    A sawtooth counts as loss throughout. After the last loss this holds until cwnd is back at its earlier value, and
    for twice the mean time between losses. Before the first loss cwnd grows freely. After a queue overflow cwnd also
    grows freely if a tooth of the sawtooth lasts longer than `longest`, because no second overflow is near.

    Args:
        events: The flow's loss events in order of time.
        part: Figures of the flow in the interval.
        last: End of the flow, s.
        longest: Longest tooth whose overflow still counts as the limit, s.
    """
    first, after = (bisect_right(events, t, key=attrgetter("t")) for t in (part.start, part.until))
    if inside := [event.kind for event in events[first:after]]:
        return most_frequent_kind(inside)
    if first == 0:
        return None
    before = events[first - 1]
    following = events[after].t if after < len(events) else last
    if before.kind == "bottleneck" and following - before.t > longest:
        return None
    if part.cwnd < before.cwnd:
        return before.kind
    if after < len(events):
        return events[after].kind
    spacing = (before.t - events[0].t) / (first - 1) if first > 1 else 0.0
    return before.kind if last - before.t < 2 * spacing else None


def most_frequent_kind(kinds: Sequence[LossKind | None]) -> LossKind | None:
    """Return the most frequent kind, ties by name; None if most causes are unknown."""
    return max(sorted(set(kinds), key=str), key=kinds.count, default=None)
