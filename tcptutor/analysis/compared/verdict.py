"""Verdict: why the flows of a run were no faster, per second, per flow, and overall, with the sentence that says so.

Facts come from the samples, a rule picks the cause, and a clause puts it into words. The cause of most of the time
is the limit. The sentence names the limit, changes over time, differences among flows, and the link's utilization.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import msgspec

from tcptutor.analysis.compared.clauses import (
    LINK_USED,
    LINK_USED_THEN,
    UNEXPLAINED,
    udp_clause,
    udp_limit,
    udp_sentence,
)
from tcptutor.analysis.compared.episodes import (
    MOST_TURNS,
    Between,
    Episode,
    FlowVerdict,
    Second,
    ShownLimit,
    after_change,
    changes_while_measured,
    clip_episodes,
    find_limit,
    judge_flow,
    judge_seconds,
    limit_over_time,
    main_cause,
    notable_episodes,
    shares,
)
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.facts import Facts, Observed, facts_of_main_between, observe
from tcptutor.analysis.observed.measured import measure
from tcptutor.analysis.observed.path import FULL
from tcptutor.base import units
from tcptutor.base.algorithm_names import algorithm_name
from tcptutor.base.causes import CAUSE_NAMES, LimitedBy
from tcptutor.run import FlowResult, Run
from tcptutor.spec import Change, Experiment
from tcptutor.spec.parts import OF_HOSTS
from tcptutor.spec.topology import link_name
from tcptutor.theory import jain_index

LONGEST = 110
"""Most characters in a sentence; the least important parts are dropped."""

REVERSE = "in the reverse direction "
"""Prefix of a sentence about reverse flows in a run with flows both ways."""

_SHORT_TURN = 0.1
"""Share of the time below which a turn is too short to list the turns."""

_NOTHING = 0.01
"""Share of a fair part below which a flow starves."""


FAIR = 0.9
"""Jain's index from which shares count as equal."""


_AROUND = 1
"""Seconds averaged on each side, so that sawteeth out of phase do not look unfair."""


class FairnessSecond(msgspec.Struct, frozen=True, kw_only=True):
    """Fairness of the flows in a second."""

    t: float
    """End of the second, s."""
    jain_index: float
    """1 for equal shares, 1/n if one of n flows gets everything."""
    shares: dict[int, float]
    """Share of the aggregate throughput, by flow number."""


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
    return judge(observe(measure(run)))


def judge(observed: Observed) -> Verdict:
    """Return the limiting cause of an observed run."""
    run, whole = observed.measured.run, observed.run
    by_second = {
        flow: [each.second for each in judged] for flow, judged in judge_seconds(observed.seconds).items()
    }
    flows = tuple(judge_flow(observed, flow, by_second[flow]) for flow in observed.flows)
    fairness_seconds, converged = fairness(by_second)
    if whole is not None:
        limited_by, sentence = _of_run(observed, observed.main or whole, flows)
        if observed.udp is not None and len(longer := sentence + udp_clause(observed.udp)) <= LONGEST:
            sentence = longer
    elif observed.udp is not None and not run.experiment.total_streams:
        limited_by, sentence = udp_limit(observed.udp), udp_sentence(observed.measured)
    else:
        limited_by = "unexplained"
        sentence = "nothing was measured" if run.complete else "cut short before anything could be measured"
    return Verdict(
        limited_by=limited_by,
        sentence=sentence,
        evidence=whole.evidence if whole else None,
        flows=flows,
        fairness=fairness_seconds,
        converged_s=converged if whole else None,
    )


def fairness(flows: Mapping[int, Sequence[Second]]) -> tuple[tuple[FairnessSecond, ...], float | None]:
    """Return the fairness of each second with at least two flows, and the time from which shares stay equal, s."""
    by_second: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    ends: dict[int, float] = defaultdict(float)
    for flow, flow_seconds in flows.items():
        for second in flow_seconds:
            key = int(second.start)
            by_second[key][flow] += second.evidence.throughput_bps * (second.end - second.start)
            ends[key] = max(ends[key], second.end)
    found = []
    for key, bits_by_flow in sorted(by_second.items()):
        total = sum(bits_by_flow.values())
        if len(bits_by_flow) >= 2 and total > 0:
            parts = {flow: bits / total for flow, bits in sorted(bits_by_flow.items())}
            found.append(
                FairnessSecond(t=ends[key], jain_index=jain_index(bits_by_flow.values()), shares=parts)
            )
    return tuple(found), _convergence_time(found)


def _convergence_time(found: Sequence[FairnessSecond]) -> float | None:
    """Return the end of the first second from which shares stay equal; None if they never do.

    Shares are means over three seconds. Flows with different RTTs or limits may never converge, and a joining flow
    makes the shares unequal again.
    """
    since: float | None = None
    for at, second in enumerate(found):
        near = [
            other
            for other in found[max(0, at - _AROUND) : at + _AROUND + 1]
            if other.shares.keys() == second.shares.keys()
        ]
        sums = [sum(other.shares[flow] for other in near) for flow in second.shares]
        if jain_index(sums) < FAIR:
            since = None
        elif since is None:
            since = second.t
    return since


def _of_run(observed: Observed, facts: Facts, flows: Sequence[FlowVerdict]) -> tuple[LimitedBy, str]:
    """Return the cause over all flows, and its sentence."""
    measured, experiment = observed.measured, observed.measured.run.experiment
    limits, start = {each.flow: each.limited_by for each in flows}, ""
    if observed.is_reverse is not None:
        # With flows both ways, describe the direction with more data: link and queue differ.
        flows = [flow for flow in flows if experiment.reversed(flow.flow) == observed.is_reverse]
        start = REVERSE if observed.is_reverse else ""
    if observed.link is not None:
        # Of two bottlenecks, describe the fuller one.
        flows = [flow for flow in flows if experiment.crosses(flow.flow, observed.link)]
        start = f"{link_name(observed.link)}: "
    between = partial(facts_of_main_between, observed)
    weights = {flow.flow: measured.carried.get(flow.flow, 0.0) for flow in flows}
    if not any(weights.values()):
        weights = dict.fromkeys(weights, 1.0)
    share_by_cause = shares(
        (name, share * weights[flow.flow]) for flow in flows for name, share in flow.shares.items()
    )
    by_second = [flow.seconds for flow in flows]
    limit, turns = limit_over_time(experiment, by_second, share_by_cause, facts, between)
    if not limit.reason and observed.path.doubt:
        return limit.limited_by, observed.path.doubt
    if after := _sentence_after_change(experiment, between, turns, start):
        return limit.limited_by, after
    if not limit.reason:
        limit = replace(limit, reason=UNEXPLAINED)
    cut = next(
        (one for one in changes_while_measured(experiment) if one.name == "link" and not one.value), None
    )
    start += _cut_text(experiment, cut) if cut else ""
    extras = [
        _other_link_text(observed),
        _turns_text(turns, limit.episode),
        _flows_text(limit.limited_by, limits, measured.flows),
    ]
    return limit.limited_by, _compose(start, limit, extras, is_part=limit.episode is not None)


def _other_link_text(observed: Observed) -> str:
    """Return how full the other of two bottlenecks is: "; s2 to s3 is full too"; empty with one, or if unknown."""
    if observed.link is None:
        return ""
    other = 1 - observed.link
    used = observed.path.crossed[(other,)].utilization(*observed.measured.span)
    if used is None:
        return ""
    return f"; {link_name(other)} is {'full too' if used >= FULL else f'{units.percent(used, 2)} used'}"


def _sentence_after_change(
    experiment: Experiment, between: Between, turns: Sequence[Episode], direction: str
) -> str:
    """Return the sentence on the time after a change of the path; empty if it has no clear cause."""
    scope = after_change(experiment)
    part = between(scope.start, scope.end) if scope else None
    if scope is None or part is None:
        return ""
    inner = clip_episodes(turns, scope.start, scope.end)
    share_by_cause = shares((one.limited_by, one.seconds) for one in inner)
    limit, start = (
        find_limit(part, share_by_cause, inner, between),
        direction + _change_text(scope.change),
    )
    if not limit.reason or len(start + limit.reason) > LONGEST:
        return ""
    before = main_cause(clip_episodes(turns, experiment.flows.warmup, scope.start))
    earlier = f" (before: {CAUSE_NAMES[before]})" if before not in (None, limit.limited_by) else ""
    return _compose(start, limit, [earlier], is_part=True)


def _compose(start: str, limit: ShownLimit, extras: Sequence[str], is_part: bool) -> str:
    """Return `start`, the limit's reason, and as many of `extras` as fit, the utilization last.

    Args:
        start: Text before the reason, such as a change of the path; may be empty.
        limit: The run's limit.
        extras: Further clauses in order, each with its separator; may be empty.
        is_part: True if the limit describes part of the measured time.
    """
    link = (LINK_USED_THEN if is_part else LINK_USED).text_for(limit.findings)
    text = f"{start}{limit.reason}" if len(f"{start}{limit.reason}") <= LONGEST else limit.reason
    for extra in (*extras, link):
        if len(text) + len(extra) <= LONGEST:
            text += extra
    return text


def _turns_text(turns: Sequence[Episode], reported: Episode | None) -> str:
    """Return the causes in turn, or those before and after the episode `reported` that the reason describes.

    An example is " (first slow growth, 4 s, then the bottleneck, 6 s)". Empty for one cause, too many, or an
    unexplained one.
    """
    long = notable_episodes(turns)
    total = sum(turn.seconds for turn in long)
    if not 2 <= len(long) <= MOST_TURNS or any(turn.seconds < _SHORT_TURN * total for turn in long):
        return ""
    if any(turn.limited_by == "unexplained" for turn in long):
        return ""
    if reported is None:
        return f" (first {', then '.join(map(_turn, long))})"
    before = [_turn(turn) for turn in long if turn.end <= reported.start]
    after = [_turn(turn) for turn in long if turn.start >= reported.end]
    texts = ([f"first {', then '.join(before)}"] if before else []) + (
        [f"then {', then '.join(after)}"] if after else []
    )
    return f" ({'; '.join(texts)})" if texts else ""


def _turn(turn: Episode) -> str:
    length = turn.seconds
    return f"{CAUSE_NAMES[turn.limited_by]}, {length:.0f} s" if length >= 1 else CAUSE_NAMES[turn.limited_by]


def _flows_text(limited_by: LimitedBy, limits: Mapping[int, LimitedBy], results: Sequence[FlowResult]) -> str:
    """Return the starving flows, or flows whose limit differs: "; flow 2: the receiver's window".

    `limits` are the causes by number of flow.
    """
    fair = sum(flow.throughput_bps for flow in results) / max(1, len(results))
    starving = sum(flow.throughput_bps < _NOTHING * fair for flow in results)
    if starving:
        amount = (
            "nothing"
            if not any(0 < result.throughput_bps < _NOTHING * fair for result in results)
            else "next to nothing"
        )
        return f"; {starving} of {len(results)} flows got {amount}"
    different = {flow: limit for flow, limit in limits.items() if limit != limited_by}
    if not different or len(limits) < 2:
        return ""
    common, number = Counter(different.values()).most_common(1)[0]
    subject = f"flow {next(iter(different)) + 1}" if number == 1 else f"{number} of {len(limits)} flows"
    return f"; {subject}: {CAUSE_NAMES[common]}"


def _change_text(change: Change) -> str:
    """Return a change of the path as the start of a sentence: "at 4 s the rate became 2 Mbit/s: "."""
    if change.name == "link":
        return f"at {units.seconds(change.at)} the link came up: "
    if change.name == "streams":
        flows = "1 flow" if change.value == 1 else f"{change.value:g} flows"
        owner = f" of pair {change.pair}" if change.pair else ""
        return f"with {flows}{owner} from {units.seconds(change.at)} on: "
    if change.name in OF_HOSTS:
        new = algorithm_name(change.algorithm) if change.name == "algorithm" else f"{change.value:g} bytes"
        name = "MTU" if change.name == "mtu" else change.name
        return f"at {units.seconds(change.at)} the {name} became {new}: "
    write = {"rate": units.rate, "loss": units.percent, "queue": units.size}.get(change.name, units.seconds)
    return f"at {units.seconds(change.at)} the {change.name} became {write(change.value)}: "


def _cut_text(experiment: Experiment, cut: Change) -> str:
    """Return the duration of a cut: "the link was cut from 2 to 3 s; "."""
    later = (
        change.at
        for change in experiment.path.changes
        if change.name == "link" and change.value and change.at > cut.at
    )
    until = min(next(later, experiment.seconds), experiment.seconds)
    return f"the link was cut from {cut.at:.3g} to {until:.3g} s; "
