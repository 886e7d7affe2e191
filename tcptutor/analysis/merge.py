"""Several stretches of time, or both ways, as one: means weighted by time, summed over the ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tcptutor import units
from tcptutor.analysis.candidate import Candidate
from tcptutor.analysis.case import Case

CHANGE_ROUNDS = 20
"""Round trips that flows take to settle after the path has changed."""

_Part = tuple[Case, Sequence[Candidate], Candidate]


def merged(parts: Sequence[_Part]) -> list[Candidate]:
    """Each model over all of the time; where a stretch has it not, the binding one stands in, if it is always the same.

    When the binding ones differ, their mean is a model of its own, and below all the others.
    """
    whole = _span([case for case, _, _ in parts])
    weights = [case.seconds / whole for case, _, _ in parts]
    names = list(dict.fromkeys(one.model for _, candidates, _ in parts for one in candidates))
    bindings = {binding.model for _, _, binding in parts}
    found = []
    for name in names:
        given = [next((one for one in candidates if one.model == name), None) for _, candidates, _ in parts]
        if len(bindings) > 1 and not all(given):
            continue  # with another model's figures in it, it would be neither
        answers = [one or binding for one, (_, _, binding) in zip(given, parts, strict=True)]
        if all(math.isfinite(one.throughput) for one in answers):
            largest = max((one for one in given if one), key=lambda one: one.throughput)
            made = _mean(parts, weights, answers, largest)
            found.append(replace(made, best=all(one.best for one in answers)))
    if len(bindings) > 1:
        answers = [binding for _, _, binding in parts]
        longest = max(range(len(parts)), key=lambda place: weights[place] * answers[place].throughput)
        own = replace(answers[longest], model="phases", label=_label(parts))
        found.append(replace(_mean(parts, weights, answers, own), best=True))
    return found


def _mean(
    parts: Sequence[_Part], weights: Sequence[float], answers: Sequence[Candidate], own: Candidate
) -> Candidate:
    total = math.fsum(weight * one.throughput for weight, one in zip(weights, answers, strict=True))
    names = dict.fromkeys(name for one in answers for name in one.sure)
    sure = {
        name: math.fsum(
            weight * one.throughput * one.sure.get(name, 0.0)
            for weight, one in zip(weights, answers, strict=True)
        )
        / total
        for name in names
    }
    if "losses" in sure:
        # Losses of several stretches count together.
        events = math.fsum(
            case.loss_events(one.throughput) for (case, _, _), one in zip(parts, answers, strict=True)
        )
        single = max(
            (one.sure.get("losses", 0.0) * math.sqrt(max(case.loss_events(one.throughput), 1e-9)))
            for (case, _, _), one in zip(parts, answers, strict=True)
        )
        sure["losses"] = single / math.sqrt(max(events, 1e-9))
    if (changing := _settling(parts)) > 0:
        sure["changes"] = changing
    return replace(own, throughput=total, formula=_formula(weights, answers, own), sure=sure, each=())


def _settling(parts: Sequence[_Part]) -> float:
    """Share of the time that flows take to settle after changes of the path.

    After a cut the sender waits for a timeout that has doubled, so up to as long again as the cut took.
    """
    taken = 0.0
    forward = [case for case, _, _ in parts if not case.backward] or [case for case, _, _ in parts]
    for before, after in pairwise(forward):
        if before.down and not after.down:
            taken += min(after.seconds, before.seconds + before.rto)
        elif before.path is not after.path and before.path != after.path:
            taken += min(after.seconds, CHANGE_ROUNDS * after.rtt) / 2
    return min(1.0, taken / _span([case for case, _, _ in parts]))


def _span(cases: Sequence[Case]) -> float:
    """Seconds of all stretches; those of both ways go by together."""
    forward = math.fsum(case.seconds for case in cases if not case.backward)
    backward = math.fsum(case.seconds for case in cases if case.backward)
    return max(forward, backward)


def _label(parts: Sequence[_Part]) -> str:
    ways = {case.backward for case, _, _ in parts}
    return "both ways together" if len(ways) == 2 else f"mean of {len(parts)} stretches"


def _formula(weights: Sequence[float], answers: Sequence[Candidate], own: Candidate) -> str:
    if len({one.formula for one in answers}) == 1 and math.isclose(sum(weights), 1):
        return own.formula
    terms = [
        f"{weight:.3g} × {units.rate(one.throughput)}" for weight, one in zip(weights, answers, strict=True)
    ]
    return " + ".join(terms[:4]) + (" + …" if len(terms) > 4 else "")
