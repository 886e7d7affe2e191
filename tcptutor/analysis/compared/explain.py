"""Verdict: why the flows of a run were no faster, per second, per flow, and overall.

Evidence comes from the samples, a rule picks the cause, and a clause puts it into words. The cause of most of the
time is the limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from tcptutor.analysis.compared.clauses import UNEXPLAINED
from tcptutor.analysis.compared.episodes import Episode, clip_episodes, episodes, shares, shares_of_flows
from tcptutor.analysis.compared.limit import Between, favor_after, find_limit
from tcptutor.analysis.compared.seconds import (
    FairnessSecond,
    Second,
    convergence_time,
    fairness,
    judge_seconds,
)
from tcptutor.analysis.compared.sentence import (
    LONGEST,
    REVERSE,
    change_text,
    compose,
    cut_text,
    flows_text,
    turns_text,
)
from tcptutor.analysis.compared.udp_losses import udp_clause, udp_limit, udp_losses, udp_sentence
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.facts import (
    Facts,
    Observed,
    facts_of_flow,
    facts_of_flow_between,
    facts_of_run,
    facts_of_run_between,
    observe,
)
from tcptutor.analysis.observed.flow import ARRIVED, FlowPhase, Interval, Trace, phases
from tcptutor.analysis.observed.measured import Measured, measure
from tcptutor.base.causes import CAUSE_NAMES, LimitedBy
from tcptutor.run import Run
from tcptutor.spec import Change, Experiment

_LEAST_AFTER = 0.5
"""Least time after a change of the path for a sentence about that time, s."""


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


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Limiting cause of a run's flows, with the evidence."""

    limited_by: LimitedBy
    sentence: str
    """Sentence for the student, about 100 characters at most."""
    evidence: Evidence | None
    """Figures behind the sentence; None without measurements."""
    flows: tuple[FlowVerdict, ...] = ()
    """Verdict on each flow; empty without samples."""
    fairness: tuple[FairnessSecond, ...] = ()
    """Fairness per second; empty for a single flow."""
    converged_s: float | None = None
    """Time from which the flows had equal shares to the end (Jain's index of 0.9 or more); None if never."""


def explain(run: Run) -> Verdict:
    """Return the limiting cause of `run` by the kernel's time accounting. Never raises."""
    return verdict(measure(run))


def verdict(measured: Measured) -> Verdict:
    """Return the limiting cause of a measured run."""
    return judge(observe(measured))


def judge(observed: Observed) -> Verdict:
    """Return the limiting cause of an observed run."""
    measured = observed.measured
    run, experiment = measured.run, measured.run.experiment
    by_second = {flow: [each.second for each in judged] for flow, judged in judge_seconds(observed).items()}
    flows = [
        _flow_verdict(observed, trace, seconds_of_flow)
        for trace in measured.traces
        if (seconds_of_flow := by_second[trace.flow])
    ]
    fairness_seconds = fairness(by_second)
    found, datagrams = facts_of_run(observed), udp_losses(measured)
    if found is None and datagrams is not None and not experiment.total_streams:
        return Verdict(limited_by=udp_limit(datagrams), sentence=udp_sentence(measured), evidence=None)
    if found is None:
        sentence = "nothing was measured" if run.complete else "cut short before anything could be measured"
        return Verdict(
            limited_by="unexplained",
            sentence=sentence,
            evidence=None,
            flows=tuple(flows),
            fairness=fairness_seconds,
        )
    limited_by, sentence = _of_run(observed, found, flows)
    if datagrams is not None and len(longer := sentence + udp_clause(datagrams)) <= LONGEST:
        sentence = longer
    return Verdict(
        limited_by=limited_by,
        sentence=sentence,
        evidence=found.evidence,
        flows=tuple(flows),
        fairness=fairness_seconds,
        converged_s=convergence_time(fairness_seconds),
    )


def _flow_verdict(observed: Observed, trace: Trace, flow_seconds: Sequence[Second]) -> FlowVerdict:
    experiment = observed.measured.run.experiment
    parts = [each for each in observed.measured.intervals if each.flow == trace.flow]
    facts = facts_of_flow(observed, *(parts or [Interval(trace, 0, len(trace))]))
    between = partial(facts_of_flow_between, observed, trace.flow)
    share_by_cause, turns = _shares(experiment, flow_seconds), episodes([flow_seconds], experiment)
    ranked = favor_after(share_by_cause, _shares_after(experiment, turns))
    limit = find_limit(facts, ranked, turns, between)
    return FlowVerdict(
        flow=trace.flow,
        limited_by=limit.limited_by,
        sentence=limit.reason or observed.path.doubt or UNEXPLAINED,
        shares=share_by_cause,
        seconds=tuple(flow_seconds),
        phases=phases(trace, experiment.algorithm(trace.flow)),
    )


def _of_run(observed: Observed, facts: Facts, flows: Sequence[FlowVerdict]) -> tuple[LimitedBy, str]:
    """Return the cause over all flows, and its sentence."""
    measured, experiment = observed.measured, observed.measured.run.experiment
    carried = {each.flow: each.growth(ARRIVED) for each in measured.intervals}
    limits, start = {each.flow: each.limited_by for each in flows}, ""
    if (is_reverse := _heavier_way(experiment, carried)) is not None:
        # With flows both ways, describe the direction with more data: link and queue differ.
        flows = [flow for flow in flows if experiment.reversed(flow.flow) == is_reverse]
        facts, start = facts_of_run(observed, is_reverse) or facts, REVERSE if is_reverse else ""
    between = partial(facts_of_run_between, observed, backward=is_reverse)
    share_by_cause = shares_of_flows([(flow.shares, carried.get(flow.flow, 0.0)) for flow in flows])
    turns = episodes([flow.seconds for flow in flows], experiment)
    ranked = favor_after(share_by_cause, _shares_after(experiment, turns))
    limit = find_limit(facts, ranked, turns, between)
    if not limit.reason and observed.path.doubt:
        return limit.limited_by, observed.path.doubt
    if after := _sentence_after_change(experiment, between, turns, start):
        return limit.limited_by, after
    if not limit.reason:
        limit = replace(limit, reason=UNEXPLAINED)
    cut = next((one for one in _changes(experiment) if one.name == "link" and not one.value), None)
    start += cut_text(experiment, cut) if cut else ""
    extras = [turns_text(turns, limit.episode), flows_text(limit.limited_by, limits, measured.flows)]
    return limit.limited_by, compose(start, limit, extras, is_part=limit.episode is not None)


def _heavier_way(experiment: Experiment, carried: Mapping[int, float]) -> bool | None:
    """Return whether the reverse direction carried more bytes; None if all flows go one way."""
    bytes_by_direction = {False: 0.0, True: 0.0}
    for flow, size in carried.items():
        bytes_by_direction[experiment.reversed(flow)] += size
    both = {experiment.reversed(flow) for flow in carried} == set(bytes_by_direction)
    return bytes_by_direction[True] > bytes_by_direction[False] if both else None


def _sentence_after_change(
    experiment: Experiment, between: Between, turns: Sequence[Episode], direction: str
) -> str:
    """Return the sentence on the time after a change of the path; empty if it has no clear cause."""
    scope = _after_change(experiment)
    part = between(scope.start, scope.end) if scope else None
    if scope is None or part is None:
        return ""
    inner = clip_episodes(turns, scope.start, scope.end)
    share_by_cause = shares((one.limited_by, one.seconds) for one in inner)
    limit, start = (
        find_limit(part, share_by_cause, inner, between),
        direction + change_text(scope.change),
    )
    if not limit.reason or len(start + limit.reason) > LONGEST:
        return ""
    before = _main_cause(clip_episodes(turns, experiment.flows.warmup, scope.start))
    earlier = f" (before: {CAUSE_NAMES[before]})" if before not in (None, limit.limited_by) else ""
    return compose(start, limit, [earlier], is_part=True)


@dataclass(frozen=True)
class _Scope:
    """Time between the first change of the path in the measured time and the next."""

    change: Change
    start: float
    end: float


def _changes(experiment: Experiment) -> list[Change]:
    return [one for one in experiment.path.changes if experiment.flows.warmup < one.at < experiment.seconds]


def _after_change(experiment: Experiment) -> _Scope | None:
    """Return the time after the first change; None without a change, after a cut, or if too short."""
    changes = _changes(experiment)
    if not changes or (changes[0].name == "link" and not changes[0].value):
        return None
    first = changes[0]
    end = next((one.at for one in changes if one.at > first.at), experiment.seconds)
    return _Scope(first, first.at, end) if end - first.at >= _LEAST_AFTER else None


def _shares_after(experiment: Experiment, turns: Sequence[Episode]) -> dict[LimitedBy, float]:
    scope = _after_change(experiment)
    inner = clip_episodes(turns, scope.start, scope.end) if scope else []
    return shares((one.limited_by, one.seconds) for one in inner)


def _main_cause(turns: Sequence[Episode]) -> LimitedBy | None:
    return next(iter(shares((one.limited_by, one.seconds) for one in turns)), None)


def _shares(experiment: Experiment, found: Sequence[Second]) -> dict[LimitedBy, float]:
    """Return each cause's share of the measured time; of all time for a flow that ended in the warm-up."""
    least = 0.0 if experiment.flows.bytes is not None else 0.05
    for since in (experiment.flows.warmup, 0.0):
        lengths = [(second.limited_by, second.end - max(second.start, since)) for second in found]
        if result := shares((name, length) for name, length in lengths if length > least):
            return result
    return {}
