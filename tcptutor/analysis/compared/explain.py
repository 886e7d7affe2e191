"""Why the flows of a run were no faster: for each second, for each flow, and for all in one sentence.

Evidence is gathered from the samples, a rule names the cause, and a clause says it. Each second of each flow is judged
so, and each flow, and all together; what took most of the time is the limit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter

import msgspec

from tcptutor import units
from tcptutor.analysis.compared import udp
from tcptutor.analysis.compared.clauses import LINK_USED, LINK_USED_THEN, UNEXPLAINED, clause
from tcptutor.analysis.compared.findings import Findings
from tcptutor.analysis.compared.rules import cause
from tcptutor.analysis.compared.run_findings import RunFindings
from tcptutor.analysis.compared.seconds import FairnessSecond, Second, converged, fairness, seconds
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.flow import FlowPhase, Interval, phases
from tcptutor.analysis.observed.foreign import path_doubt
from tcptutor.analysis.observed.measured import Measured, measure
from tcptutor.run import Run
from tcptutor.spec import Change, Experiment
from tcptutor.theory.models import CAUSE_NAMES, LimitedBy

LONGEST = 110
"""Characters of a sentence: what does not fit is left out, the least important first."""

_ORDER: tuple[LimitedBy, ...] = (
    "application", "timeout", "pacing", "bottleneck", "receive-window", "send-buffer", "reordering", "random-loss",
    "growing", "unexplained",
)  # fmt: skip
"""Of two causes with equal shares of the time the first."""

_WHOLE: frozenset[LimitedBy] = frozenset({"application", "timeout"})
"""What limits a flow by the time that it takes in all, though no single second may be full of it."""

_ENOUGH = 0.2
"""Share of the time from which a cause is worth telling that all the time together does not name."""

_TURNS = 3
"""More than that many causes in turn are not a story."""


class FlowVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What limited one flow."""

    flow: int
    limited_by: LimitedBy
    """Over the measured time."""
    sentence: str
    shares: dict[LimitedBy, float]
    """Share of the measured time of each cause, the longest first."""
    seconds: tuple[Second, ...]
    """Of the whole run, warm-up included."""
    phases: tuple[FlowPhase, ...]
    """Of the whole run."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What limited the flows of a run, with the evidence."""

    limited_by: LimitedBy
    sentence: str
    """For the student: one sentence, at most about 100 characters."""
    evidence: Evidence | None
    """The numbers that it rests on; None where nothing could be measured."""
    flows: tuple[FlowVerdict, ...] = ()
    """Each flow by itself; empty without samples."""
    fairness: tuple[FairnessSecond, ...] = ()
    """Second by second for more than one flow; empty for one."""
    converged_s: float | None = None
    """From when on the flows had equal shares to the end (Jain's index of 0.9 or more); None if they had not."""


def explain(run: Run) -> Verdict:
    """What limited `run`, by the kernel's own account of its time. Never raises, whatever the run lacks."""
    return verdict(measure(run))


def verdict(measured: Measured) -> Verdict:
    """What limited a run that has been measured already."""
    run, experiment = measured.run, measured.run.experiment
    gathered = RunFindings.of(measured)
    by_second = seconds(measured, gathered)
    flows = []
    for trace in measured.traces:
        if not (mine := by_second[trace.flow]):
            continue
        parts = [each for each in measured.intervals if each.flow == trace.flow]
        whole = gathered.flow(*(parts or [Interval(trace, 0, len(trace))]))
        shares = _shares(experiment, mine)
        limited_by, reason, _ = _told(
            whole, shares, _stretches([mine], experiment), gathered.flow_between(trace)
        )
        flows.append(
            FlowVerdict(
                flow=trace.flow,
                limited_by=limited_by,
                sentence=reason or _unexplained(run),
                shares=shares,
                seconds=mine,
                phases=phases(trace, experiment.algorithm(trace.flow)),
            )
        )
    evenly = fairness(by_second)
    found, datagrams = gathered.all(measured), udp.udp_losses(measured)
    if found is None and datagrams is not None and not experiment.total_streams:
        return Verdict(limited_by=udp.limited_by(datagrams), sentence=udp.sentence(measured), evidence=None)
    if found is None:
        said = "nothing was measured" if run.complete else "cut short before anything could be measured"
        return Verdict(
            limited_by="unexplained", sentence=said, evidence=None, flows=tuple(flows), fairness=evenly
        )
    shares = _ranked(share for flow in flows for share in flow.shares.items())
    stretches = _stretches([flow.seconds for flow in flows], experiment)
    limited_by, reason, shown = _told(found, shares, stretches, gathered.all_between)
    link = (LINK_USED if shown is found else LINK_USED_THEN).said(shown)
    doubt = path_doubt(run)
    said = (
        doubt
        if doubt and not reason
        else sentence(limited_by, reason or UNEXPLAINED, link, experiment, flows)
    )
    if datagrams is not None and len(longer := said + udp.beside(datagrams)) <= LONGEST:
        said = longer
    return Verdict(
        limited_by=limited_by,
        sentence=said,
        evidence=found.evidence,
        flows=tuple(flows),
        fairness=evenly,
        converged_s=converged(evenly),
    )


Stretch = tuple[LimitedBy, float, float]
"""A cause, and from when to when it limited most of the flows, s."""


def _told(
    whole: Findings,
    shares: Mapping[LimitedBy, float],
    stretches: Sequence[Stretch],
    between: Callable[[float, float], Findings | None],
) -> tuple[LimitedBy, str, Findings]:
    """The cause that took the most time and can be shown, what is said of it, and what that is said of.

    Nothing is said where none can be shown.

    Unless all the time together says what no second can. What does not show in all of the time is told of the longest
    stretch of it.
    """
    first = cause(whole)
    ranked = [name for name, share in shares.items() if share >= _ENOUGH or name == first]
    for name in (first, *ranked) if first in _WHOLE or not ranked else (*ranked, first):
        if said := clause(name, whole):
            return name, said, whole
        mine = [one for one in stretches if one[0] == name]
        if not mine:
            continue
        _, start, end = max(mine, key=lambda one: one[2] - one[1])
        part = between(start, end)
        if part is not None and (said := clause(name, part)):
            return name, f"from {start:.3g} to {end:.3g} s {said}", part
    return "unexplained", "", whole


def _unexplained(run: Run) -> str:
    """What is said where the samples show nothing; of a path that is not known, what would help."""
    return path_doubt(run) or UNEXPLAINED


def _stretches(flows: Sequence[Sequence[Second]], experiment: Experiment) -> list[Stretch]:
    """What limited most of the flows in turn, in the measured time."""
    by_second: dict[int, list[Second]] = {}
    for second in chain.from_iterable(flows):
        if second.start >= experiment.flows.warmup - 0.05:
            by_second.setdefault(int(second.start + 0.05), []).append(second)
    most = [
        (
            Counter(second.limited_by for second in found).most_common(1)[0][0],
            min(second.start for second in found),
            max(second.end for second in found),
        )
        for _, found in sorted(by_second.items())
    ]
    turns = []
    for name, group in groupby(most, key=itemgetter(0)):
        these = list(group)
        turns.append((name, these[0][1], these[-1][2]))
    return turns


def _shares(experiment: Experiment, found: Sequence[Second]) -> dict[LimitedBy, float]:
    """Of the measured time; of all the time for a flow that ended in the warm-up."""
    for since in (experiment.flows.warmup, 0.0):
        lengths = [(second.limited_by, second.end - max(second.start, since)) for second in found]
        if shares := _ranked((name, length) for name, length in lengths if length > 0.05):
            return shares
    return {}


def _ranked(parts: Iterable[tuple[LimitedBy, float]]) -> dict[LimitedBy, float]:
    """The share of each cause in the sum of all parts, the largest first."""
    took: dict[LimitedBy, float] = {}
    for name, part in parts:
        took[name] = took.get(name, 0.0) + part
    total = math.fsum(took.values())
    ranked = sorted(took, key=lambda name: (-round(took[name], 6), _ORDER.index(name)))
    return {name: took[name] / total for name in ranked}


def sentence(
    limited_by: LimitedBy, reason: str, link: str, experiment: Experiment, flows: Sequence[FlowVerdict]
) -> str:
    """`reason`, how that changed over time or differs between the flows, and how full the link is: `link`."""
    # Who is told of a stretch of time knows that it was not so all the time.
    turns = "" if reason.startswith("from ") else _over_time(experiment, flows)
    told = _others(limited_by, flows) or turns
    changed = _changed(experiment)
    wordings = (
        f"{changed}{reason}{told}{link}",
        f"{changed}{reason}{told}",
        f"{changed}{reason}{link}",
        f"{changed}{reason}",
        f"{reason}{told}{link}",
        f"{reason}{told}",
        f"{reason}{link}",
    )
    return next((text for text in wordings if len(text) <= LONGEST), reason)


def _others(limited_by: LimitedBy, flows: Sequence[FlowVerdict]) -> str:
    """Which flows had another limit: "; flow 2: the receiver's window"; empty when none had."""
    different = [flow for flow in flows if flow.limited_by != limited_by]
    if not different or len(flows) < 2:
        return ""
    common, number = Counter(flow.limited_by for flow in different).most_common(1)[0]
    who = f"flow {different[0].flow + 1}" if number == 1 else f"{number} of {len(flows)} flows"
    return f"; {who}: {CAUSE_NAMES[common]}"


def _over_time(experiment: Experiment, flows: Sequence[FlowVerdict]) -> str:
    """The causes in turn: " (first slow growth, 4 s, then the bottleneck, 6 s)"; empty for one, or for too many."""
    stretches = _stretches([flow.seconds for flow in flows], experiment)
    turns = [(name, end - start) for name, start, end in stretches if end - start >= 0.5]
    total = sum(length for _, length in turns)
    if not 2 <= len(turns) <= _TURNS or any(length < 0.1 * total for _, length in turns):
        return ""
    return f" (first {', then '.join(f'{CAUSE_NAMES[name]}, {length:.0f} s' for name, length in turns)})"


def _changed(experiment: Experiment) -> str:
    """The first change of the path in the measured time: "at 4 s the rate became 2 Mbit/s: "; empty without one.

    Of a cut how long it was: "the link was cut from 2 to 3 s; ".
    """
    changes = experiment.path.changes
    for place, change in enumerate(changes):
        if change.at > experiment.flows.warmup:
            if change.name == "link" and not change.value:
                up = (one.at for one in changes[place + 1 :] if one.name == "link" and one.value)
                until = min(next(up, experiment.seconds), experiment.seconds)
                return f"the link was cut from {change.at:.3g} to {until:.3g} s; "
            return f"at {units.seconds(change.at)} {_change(change)}: "
    return ""


def _change(change: Change) -> str:
    if change.name == "link":
        return "the link came up"
    told = {"rate": units.rate, "loss": units.percent, "queue": units.size}.get(change.name, units.seconds)
    return f"the {change.name} became {told(change.value)}"
