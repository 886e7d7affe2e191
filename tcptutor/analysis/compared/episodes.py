"""Causes over time: of each second, the episodes they form, and the cause that a sentence reports.

The rules for an entire run also judge a second, using the losses that hold its window down. To prevent flicker, a
single second of a network cause (loss, bottleneck, reordering, growth) between two seconds of the same cause takes
that cause. Unless one cause takes nearly all the time, a sentence describes its longest episode: "from 2 to 6 s ...".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tcptutor.analysis.compared.clauses import UNEXPLAINED, clause
from tcptutor.analysis.compared.findings import Findings, cause, conclude
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.facts import Facts, Observed, facts_of_flow_between
from tcptutor.analysis.observed.figures import FlowPhase
from tcptutor.base.causes import LimitedBy
from tcptutor.spec import Change, Experiment

_SOFT: frozenset[LimitedBy] = frozenset({"random-loss", "bottleneck", "reordering", "growing", "unexplained"})

_ORDER: tuple[LimitedBy, ...] = (
    "application", "timeout", "pacing", "bottleneck", "receive-window", "send-buffer", "reordering", "random-loss",
    "growing", "unexplained",
)  # fmt: skip
"""Precedence of causes with equal shares."""

_SLACK = 0.05
"""Tolerance for the start of the same second in different flows, s."""

_TELLING = 0.5
"""Least length of an episode in a sentence, s."""

MOST_TURNS = 3
"""Largest number of successive causes in a sentence."""

_WHOLE: frozenset[LimitedBy] = frozenset({"application", "timeout"})
"""Causes judged by their total time, because they may not fill any single second."""

_ENOUGH = 0.2
"""Least share of the time for a cause that is not the overall cause."""

_NEARLY_ALL = 0.8
"""Share of the time from which a cause may describe all of it."""

_AS_GOOD = 0.8
"""Share of the longest cause's time from which the cause after a change of the path replaces it."""

Between = Callable[[float, float], Facts | None]
"""Function from start and end, s, to facts; None without measurements."""

_LEAST_AFTER = 0.5
"""Least time after a change of the path for a sentence about that time, s."""


class Second(msgspec.Struct, frozen=True, kw_only=True):
    """Limiting cause of a flow in a second, with the evidence."""

    start: float
    end: float
    """End, a second later, or less at the edges of a flow or of the measured time."""
    limited_by: LimitedBy
    evidence: Evidence
    """Evidence of this flow; the utilization covers all flows."""
    cwnd_segments: float
    """Mean cwnd."""


class FlowVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Limiting cause of a flow."""

    flow: int
    limited_by: LimitedBy
    """Cause over the measured time."""
    sentence: str
    shares: dict[LimitedBy, float]
    """Share of the measured time per cause, the largest first."""
    seconds: tuple[Second, ...]
    """Seconds of the entire run, including warm-up."""
    phases: tuple[FlowPhase, ...]
    """Phases of the entire run."""


class JudgedSecond(NamedTuple):
    """Second of a flow with the findings behind its verdict."""

    second: Second
    findings: Findings


def judge_seconds(seconds: Mapping[int, Sequence[Facts]]) -> dict[int, tuple[JudgedSecond, ...]]:
    """Return the limiting cause of each flow per second, warm-up included; empty for too few samples."""
    judged = {}
    for flow, facts in seconds.items():
        findings = [conclude(each) for each in facts]
        found = [
            Second(
                start=each.start,
                end=each.end,
                limited_by=cause(conclusions),
                evidence=each.evidence,
                cwnd_segments=each.cwnd_segments,
            )
            for each, conclusions in zip(facts, findings, strict=True)
        ]
        judged[flow] = tuple(map(JudgedSecond, _steady(found), findings))
    return judged


def _steady(found: Sequence[Second]) -> list[Second]:
    """Return the seconds with single outliers among network causes smoothed."""
    steady = list(found)
    for at in range(1, len(steady) - 1):
        before, now, after = (each.limited_by for each in steady[at - 1 : at + 2])
        if before == after != now and {before, now} <= _SOFT:
            steady[at] = replace(steady[at], limited_by=before)
    return steady


def judge_flow(observed: Observed, flow: int, flow_seconds: Sequence[Second]) -> FlowVerdict:
    """Return the verdict on a flow over the measured time."""
    experiment = observed.measured.run.experiment
    between = partial(facts_of_flow_between, observed, flow)
    share_by_cause = shares_of_flow(experiment, flow_seconds)
    limit, _ = limit_over_time(experiment, [flow_seconds], share_by_cause, observed.flows[flow], between)
    return FlowVerdict(
        flow=flow,
        limited_by=limit.limited_by,
        sentence=limit.reason or observed.path.doubt or UNEXPLAINED,
        shares=share_by_cause,
        seconds=tuple(flow_seconds),
        phases=observed.phases[flow],
    )


def shares_of_flow(experiment: Experiment, found: Sequence[Second]) -> dict[LimitedBy, float]:
    """Return each cause's share of the measured time; of all time for a flow that ended in the warm-up."""
    least = 0.0 if experiment.flows.bytes is not None else 0.05
    for since in (experiment.flows.warmup, 0.0):
        lengths = [(second.limited_by, second.end - max(second.start, since)) for second in found]
        if result := shares((name, length) for name, length in lengths if length > least):
            return result
    return {}


def shares(parts: Iterable[tuple[LimitedBy, float]]) -> dict[LimitedBy, float]:
    """Return each cause's share of the total, the largest first."""
    seconds: dict[LimitedBy, float] = {}
    for name, part in parts:
        seconds[name] = seconds.get(name, 0.0) + part
    total = math.fsum(seconds.values())
    if total <= 0:
        return {}
    ranked = sorted(seconds, key=lambda name: (-round(seconds[name], 6), _ORDER.index(name)))
    return {name: seconds[name] / total for name in ranked}


@dataclass(frozen=True)
class ShownLimit:
    """Cause supported by the samples of a time span."""

    limited_by: LimitedBy
    reason: str
    """Sentence; empty if the evidence does not support any."""
    findings: Findings
    """Findings of the time span that the reason describes."""
    episode: Episode | None = None
    """Time span of the reason; None for all the time."""


def limit_over_time(
    experiment: Experiment,
    seconds: Iterable[Sequence[Second]],
    share_by_cause: Mapping[LimitedBy, float],
    facts: Facts,
    between: Between,
) -> tuple[ShownLimit, list[Episode]]:
    """Return the limit over the measured time, and the episodes in order of time.

    Args:
        experiment: The experiment.
        seconds: Seconds of each flow.
        share_by_cause: Share of the measured time of each cause.
        facts: Facts over the measured time.
        between: Function that returns the facts of a time span.
    """
    turns = episodes(seconds, experiment)
    scope = after_change(experiment)
    inner = clip_episodes(turns, scope.start, scope.end) if scope else []
    after = shares((one.limited_by, one.seconds) for one in inner)
    return find_limit(facts, _favor_after(share_by_cause, after), turns, between), turns


@dataclass(frozen=True)
class Episode:
    """Period in which the same cause limited the flows that carried most bytes."""

    limited_by: LimitedBy
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Length, s."""
        return self.end - self.start


def episodes(flows: Iterable[Sequence[Second]], experiment: Experiment) -> list[Episode]:
    """Return the causes in order over the measured time, each second judged by bytes carried.

    A change of the path ends a second, so the cause before the change never labels the time after it.
    """
    changes = [change.at for change in experiment.path.all_changes]
    by_second: dict[tuple[int, int], list[Second]] = defaultdict(list)
    for flow_seconds in flows:
        for second in flow_seconds:
            start = second.start + _SLACK
            if start >= experiment.flows.warmup:
                by_second[int(start), sum(change <= start for change in changes)].append(second)
    turns = [
        Episode(_most(found), min(each.start for each in found), max(each.end for each in found))
        for _, found in sorted(by_second.items())
    ]
    joined = []
    for limited_by, group in groupby(turns, key=lambda turn: turn.limited_by):
        same_cause = list(group)
        joined.append(Episode(limited_by, same_cause[0].start, same_cause[-1].end))
    return joined


def _most(found: Sequence[Second]) -> LimitedBy:
    """Return the cause of most bytes in a second, or of most flows if no bytes arrived."""
    carried = [8 * each.evidence.throughput_bps * (each.end - each.start) for each in found]
    weights = carried if any(carried) else [1.0] * len(found)
    return next(iter(shares((each.limited_by, weight) for each, weight in zip(found, weights, strict=True))))


def clip_episodes(found: Sequence[Episode], start: float, end: float) -> list[Episode]:
    """Return the parts of episodes from `start` to `end`, without very short ones."""
    parts = [Episode(one.limited_by, max(start, one.start), min(end, one.end)) for one in found]
    return [one for one in parts if one.seconds > _SLACK]


def notable_episodes(found: Sequence[Episode]) -> list[Episode]:
    """Return the episodes that are long enough for a sentence."""
    return [one for one in found if one.seconds >= _TELLING]


@dataclass(frozen=True)
class Scope:
    """Time between the first change of the path in the measured time and the next."""

    change: Change
    start: float
    end: float


def after_change(experiment: Experiment) -> Scope | None:
    """Return the time after the first change; None without a change, after a cut, or if too short."""
    changes = changes_while_measured(experiment)
    if not changes or (changes[0].name == "link" and not changes[0].value):
        return None
    first = changes[0]
    end = next((one.at for one in changes if one.at > first.at), experiment.seconds)
    return Scope(first, first.at, end) if end - first.at >= _LEAST_AFTER else None


def changes_while_measured(experiment: Experiment) -> list[Change]:
    return [one for one in experiment.path.changes if experiment.flows.warmup < one.at < experiment.seconds]


def _favor_after(
    shares: Mapping[LimitedBy, float], after: Mapping[LimitedBy, float]
) -> dict[LimitedBy, float]:
    """Return `shares` with the leading cause after a change of the path in front, if it took nearly as much."""
    top = max(shares.values(), default=0.0)
    favored = next((name for name in after if shares.get(name, 0.0) >= _AS_GOOD * top), None)
    if favored is None or favored != next(iter(after)):
        return dict(shares)
    return {favored: shares[favored], **{name: share for name, share in shares.items() if name != favored}}


def main_cause(turns: Sequence[Episode]) -> LimitedBy | None:
    return next(iter(shares((one.limited_by, one.seconds) for one in turns)), None)


def find_limit(
    facts: Facts, shares: Mapping[LimitedBy, float], turns: Sequence[Episode], between: Between
) -> ShownLimit:
    """Return the cause of the most time that the evidence supports; `unexplained` without any.

    Timeouts and an idle application count by their total time.

    Args:
        facts: Facts over all the time.
        shares: Share of the time of each cause, the first candidate first.
        turns: Episodes in order of time.
        between: Function that returns the facts of a time span.
    """
    whole = conclude(facts)
    overall = cause(whole)
    ranked = [name for name, share in shares.items() if share >= _ENOUGH or name == overall]
    names = [overall, *ranked] if overall in _WHOLE or not ranked else [*ranked, overall]
    if names[0] == "timeout" and overall == "random-loss":
        # With few timeouts, they are part of the cost of the losses.
        names.insert(0, overall)
    story = 2 <= len(notable_episodes(turns)) <= MOST_TURNS
    for name in names:
        if story and name not in _WHOLE and shares.get(name, 1.0) < _NEARLY_ALL:
            limit = _over(_longest(turns, name), between) or _over_all(name, whole)
        else:
            limit = _over_all(name, whole) or _over(_longest(turns, name), between)
        if limit is not None:
            return limit
    return ShownLimit("unexplained", "", whole)


def _over_all(name: LimitedBy, whole: Findings) -> ShownLimit | None:
    """Return the limit if a clause of its cause holds over all the time."""
    text = clause(name, whole)
    return ShownLimit(name, text, whole) if text else None


def _longest(found: Sequence[Episode], limited_by: LimitedBy) -> Episode | None:
    """Return the longest episode of a cause; None if the cause does not occur."""
    return max(
        (one for one in found if one.limited_by == limited_by), key=lambda one: one.seconds, default=None
    )


def _over(episode: Episode | None, between: Between) -> ShownLimit | None:
    """Return the limit if a clause of its cause holds over its longest episode."""
    if episode is None:
        return None
    times = f"from {_moment(episode.start)} to {_moment(episode.end)} s"
    facts = between(episode.start, episode.end)
    if facts is None:
        return None
    findings = conclude(facts)
    text = clause(episode.limited_by, findings)
    if not text:
        return None
    return ShownLimit(episode.limited_by, f"{times} {text}", findings, episode)


def _moment(t: float) -> str:
    """Return a time in seconds with at most two decimals."""
    return f"{round(t, 2):g}"
