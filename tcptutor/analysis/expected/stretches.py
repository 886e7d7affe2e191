"""Stretches of an experiment: times in which neither the path nor the flows change, with every model's candidate.

`stretch_cases` finds them, `stretch_of` asks the models, and `merge` adds up the candidates of all stretches.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tcptutor.analysis.case import Case, FlowCase, case_of, flow_case
from tcptutor.analysis.expected.impairments import reordering_candidate, widen_tolerances
from tcptutor.analysis.expected.loss import loss_candidates
from tcptutor.analysis.expected.lossless import limit_candidates
from tcptutor.analysis.expected.meeting import meeting_candidate
from tcptutor.analysis.expected.prediction import LEAST_RATE, Candidate, Stretch
from tcptutor.analysis.expected.sharing import own_limits
from tcptutor.analysis.path_changes import mean_path, path_at
from tcptutor.base import units
from tcptutor.spec import Experiment, Hosts, Path
from tcptutor.theory import sawtooth_mean
from tcptutor.theory.models import LOSS_BLIND, ThroughputModel

CHANGE_ROUNDS = 20
"""Round trips that flows need to settle after a change of the path."""

_TERMS = 4
"""Most stretches in a formula."""

_COUNT = re.compile(r"\d+ × ")
"""Number of flows at the start of a label."""

_BRIEF = 0.01
"""Least share of the time for a stretch in a formula."""


def stretch_cases(
    experiment: Experiment,
    mss: int | None = None,
    rto: float | None = None,
    on_virtual_clock: bool = False,
) -> tuple[Case, ...]:
    """Return the stretches of the measured time in order, forward first; empty without a TCP flow.

    A stretch begins where the path changes or a flow starts. The time before the first flow is left out.
    """
    starts = sorted({experiment.start(flow) for flow in range(experiment.total_streams)})
    if not starts:
        return ()
    last = experiment.seconds
    first = min(max(experiment.flows.warmup, starts[0]), last)
    if any(change.name == "mtu" for change in experiment.path.changes):
        mss = None  # the measured one is that of the end
    moments = {*starts, *(change.at for change in experiment.path.changes)}
    edges = [first, *sorted(moment for moment in moments if first < moment < last), last]
    return tuple(
        case_of(
            experiment.at(start),
            mss,
            rto,
            on_virtual_clock,
            path=mean_path(experiment, start, start, end),
            flows=flows,
            seconds=end - start,
            is_reverse=backward,
            is_cut=_is_cut(experiment, start),
        )
        for start, end in pairwise(edges)
        for backward in (False, True)
        if (flows := _active(experiment, start, backward))
    )


def _active(experiment: Experiment, moment: float, backward: bool) -> tuple[FlowCase, ...]:
    """Return the flows of a direction that are open at `moment`, s."""
    path, now = path_at(experiment, moment), experiment.at(moment)
    return tuple(
        flow_case(now, flow, path)
        for flow in range(experiment.total_streams)
        if experiment.is_open(flow, moment) and experiment.reversed(flow) == backward
    )


def _is_cut(experiment: Experiment, moment: float) -> bool:
    """Return whether the link is down at `moment`, s."""
    cuts = [one for one in experiment.path.changes if one.name == "link" and one.at <= moment + 1e-9]
    return bool(cuts) and not cuts[-1].value


def stretch_of(case: Case) -> Stretch:
    """Return the candidates of a case."""
    candidates = [*limit_candidates(case), *loss_candidates(case)]
    if case.is_cut:
        cut = Candidate(
            ThroughputModel.LINK, "link", LEAST_RATE, "the link is cut", {"model": 0.0}, "bottleneck"
        )
        stopped = [replace(one, throughput=LEAST_RATE, per_flow=(), is_expected=False) for one in candidates]
        candidates = [cut, *(one for one in stopped if one.model is not ThroughputModel.LINK)]
    if (combined := meeting_candidate(case, [one for one in candidates if one.is_expected])) is not None:
        candidates.append(combined)
    if (reordering := reordering_candidate(case)) is not None:
        candidates.append(reordering)
    candidates = widen_tolerances(case, candidates)
    best = [one for one in candidates if one.is_expected]
    stretch = Stretch.of(case, candidates)
    believed = [one for one in best if math.isfinite(one.throughput)]
    limits = own_limits(case, best)
    total = math.fsum(limits)
    lowest = stretch.believed[0].throughput if believed else math.inf
    if len(case.kinds) == 1 or total >= 0.999 * lowest:
        return stretch
    # No single model limits all flows: each flow has its own limit.
    errors = max(
        (one.errors for one in believed), key=lambda errors: errors.get("model", 0.0), default={"model": 0.3}
    )
    limited_by = "random-loss" if any(one.is_lossy for one in best) else believed[0].limited_by
    model = ThroughputModel.OWN_LIMITS
    label, formula = f"{case.count_prefix}{model.label}", "each flow's own least limit"
    return stretch.with_candidate(
        Candidate(model, label, total, formula, errors, limited_by, per_flow=limits)
    )


def merge(stretches: Sequence[Stretch]) -> Stretch:
    """Return the merged stretch: means weighted by time, summed over both directions."""
    longest = max(stretches, key=lambda one: one.case.seconds * one.case.flow_count).case
    whole = case_of(
        longest.experiment,
        longest.mss,
        longest.measured_rto,
        longest.on_virtual_clock,
        path=longest.path,
        flows=longest.flows if longest.experiment.lives else None,
        is_reverse=longest.is_reverse,
    )
    return Stretch.of(whole, _candidates(stretches))


def _candidates(parts: Sequence[Stretch]) -> list[Candidate]:
    """Return each model's mean over the time, with the binding one in stretches that lack the model.

    If the binding model changes, only models in every stretch are used, and the mean of the binding ones is added.
    """
    weights = [part.case.seconds / _span(parts) for part in parts]
    models = dict.fromkeys(one.model for part in parts for one in part.candidates)
    bindings = [part.binding for part in parts]
    differ = len({one.model for one in bindings}) > 1
    found = []
    for model in models:
        candidates = [next((one for one in part.candidates if one.model is model), None) for part in parts]
        if differ and not all(candidates):
            continue  # mixed with a different model's figures it would be neither
        answers = [one or binding for one, binding in zip(candidates, bindings, strict=True)]
        if all(math.isfinite(one.throughput) for one in answers):
            largest = max((one for one in candidates if one), key=lambda one: one.throughput)
            label = _with_counts(largest.label, [one.label for one in candidates if one], parts)
            mean = _mean(parts, weights, answers, replace(largest, label=label))
            found.append(replace(mean, is_expected=all(one.is_expected for one in answers)))
    if differ:
        longest = max(range(len(parts)), key=lambda place: weights[place] * bindings[place].throughput)
        combined = replace(bindings[longest], model=ThroughputModel.STRETCHES, label=_label(parts))
        found.append(replace(_mean(parts, weights, bindings, combined), is_expected=True))
    return found


def _span(parts: Sequence[Stretch]) -> float:
    """Return the length of all stretches, s; both directions overlap."""
    return max(
        math.fsum(part.case.seconds for part in parts if part.case.is_reverse == backward)
        for backward in (False, True)
    )


def _mean(
    parts: Sequence[Stretch], weights: Sequence[float], answers: Sequence[Candidate], own: Candidate
) -> Candidate:
    weighted = list(zip(weights, answers, strict=True))
    total = math.fsum(weight * one.throughput for weight, one in weighted)
    errors = {
        name: math.fsum(weight * one.throughput * one.errors.get(name, 0.0) for weight, one in weighted)
        / total
        for name in dict.fromkeys(name for one in answers for name in one.errors)
    }
    if "losses" in errors:
        # Losses of all stretches count as one sample.
        events = [part.case.loss_events(one.throughput) for part, one in zip(parts, answers, strict=True)]
        single = max(
            one.errors.get("losses", 0.0) * math.sqrt(max(number, 1e-9))
            for number, one in zip(events, answers, strict=True)
        )
        errors["losses"] = single / math.sqrt(max(math.fsum(events), 1e-9))
    if (changing := _settling(parts)) > 0:
        errors["changes"] = changing
    formula = own.formula
    if len({one.formula for one in answers}) > 1 or not math.isclose(sum(weights), 1):
        # The rate of a cut link is slightly above 0 so that ratios exist.
        rates = [
            0.0 if part.case.is_cut else one.throughput for part, one in zip(parts, answers, strict=True)
        ]
        formula = _sum_of(list(zip(weights, rates, strict=True)))
    return replace(own, throughput=total, formula=formula, errors=errors, per_flow=())


def _settling(parts: Sequence[Stretch]) -> float:
    """Return the share of the time in which flows settle after changes of the path, or after others have closed.

    After a cut the sender waits for a timeout that has doubled, so up to the length of the cut again.
    """
    seconds = 0.0
    cases = [part.case for part in parts]
    for before, after in pairwise([case for case in cases if not case.is_reverse] or cases):
        if before.is_cut and not after.is_cut:
            seconds += min(after.seconds, before.seconds + before.rto)
        elif before.flow_count > after.flow_count or _conditions(before) != _conditions(after):
            seconds += max(min(after.seconds, CHANGE_ROUNDS * after.rtt) / 2, _missed(before, after))
    return min(1.0, seconds / _span(parts))


def _conditions(case: Case) -> tuple[Path, Hosts]:
    return case.path, case.experiment.hosts


def _missed(before: Case, after: Case) -> float:
    """Return the most that flows miss while growing to a larger path, in seconds of the full rate.

    Without losses they grow like Reno by a segment per RTT, from about the mean of a sawtooth on the old path.
    """
    if (
        before.tcp_capacity is None
        or after.tcp_capacity is None
        or after.loss_rate > 0
        or after.algorithms <= LOSS_BLIND
    ):
        return 0.0
    held = before.tcp_capacity * before.rtt / 8 + before.buffer * before.payload_ratio
    start = sawtooth_mean(0) * held / (before.mss * max(1, before.flow_count))
    needed = after.window_at(after.tcp_capacity)
    most = after.max_in_flight
    if most is not None:
        needed = min(needed, most / after.mss)
    if start >= needed:
        return 0.0
    seconds = min(after.seconds, (needed - start) * after.rtt)
    reached = start + seconds / after.rtt
    return seconds * (1 - (start + reached) / 2 / needed)


def _sum_of(terms: Sequence[tuple[float, float]]) -> str:
    """Return shares of the time times rates as text; the longest terms only, without very short stretches."""
    listed = [term for term in terms if term[0] >= _BRIEF] or terms
    if len(listed) > _TERMS:
        listed = sorted(listed, key=lambda term: -term[0])[:_TERMS]
    text = " + ".join(f"{weight:.3g} × {units.rate(rate)}" for weight, rate in listed)
    return text + (" + …" if len(listed) < len(terms) else "")


def _with_counts(label: str, labels: Sequence[str], parts: Sequence[Stretch]) -> str:
    """Return `label`, with the range of the numbers of flows if they change and its `labels` count: "1 to 4 × Reno"."""
    counts = [part.case.flow_count for part in parts]
    if not parts[0].case.experiment.lives or len(set(counts)) < 2 or not any(map(_COUNT.match, labels)):
        return label
    return f"{min(counts)} to {max(counts)} × {_COUNT.sub('', label)}"


def _label(parts: Sequence[Stretch]) -> str:
    ways = {part.case.is_reverse for part in parts}
    return "both ways together" if len(ways) == 2 else f"mean of {len(parts)} stretches"
