"""Judging of claims: does a run, or a formula, agree with the page?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tcptutor.authoring.claims.claimed_value import evaluate, stated
from tcptutor.authoring.claims.required_runs import ClaimRun, subject_per
from tcptutor.base import units
from tcptutor.base.errors import UsageError
from tcptutor.course.claim import ARITHMETIC, CAUSE, Claim, Subject
from tcptutor.course.figures.formulas import KNOWN
from tcptutor.course.figures.measurements import MEASURED, cause
from tcptutor.course.figures.run_part import MeasuredRun, RunPart
from tcptutor.spec import Experiment

FindRun = Callable[[Experiment], MeasuredRun]


class Judgement(NamedTuple):
    """Result of comparing a claim with a run or a formula."""

    agrees: bool
    found: str
    """Actual value with its unit, or the reason it is missing."""
    value: float | None = None
    """In base units; None for the name of a cause."""


def judge(claim: Claim, compared: ClaimRun, find: FindRun) -> Judgement:
    """Judge a claim.

    Args:
        claim: The claim.
        compared: Its experiments.
        find: Function that returns the complete run of an experiment.

    Raises:
        UnitError: The claim is malformed.
    """
    try:
        if claim.quantity == CAUSE:
            found = cause(_part(claim, claim.flow, compared.of, find))
            return Judgement(found == claim.value, found)
        value = _figure(claim, claim.quantity, claim.flow, compared.of, find)
        if claim.ratio_to is not None:
            base = _figure(claim, subject_per(claim), claim.ratio_to.flow, compared.per, find)
            value = value / base if base else math.inf
    except UsageError as error:
        return Judgement(False, str(error))
    said = stated(claim)
    agrees = {
        "about": abs(value - said.value) <= said.slack * (1 + _HAIR),
        "above": value > said.value,
        "below": value < said.value,
    }[claim.relation]
    return Judgement(agrees, units.rounded(value, said.kind), value)


_HAIR = 1e-9
"""Relative slack for binary rounding at a decimal bound."""


def _figure(
    claim: Claim, subject: Subject, flow: int | None, experiment: Experiment | None, find: FindRun
) -> float:
    """Return the figure in base units. Raises UsageError if it does not exist."""
    if subject == ARITHMETIC:
        return evaluate(claim.formula)
    assert experiment is not None  # only arithmetic has no experiment
    if subject in KNOWN:
        return KNOWN[subject].compute(experiment)
    return float(MEASURED[subject].compute(_part(claim, flow, experiment, find)))


def _part(claim: Claim, flow: int | None, experiment: Experiment | None, find: FindRun) -> RunPart:
    """Return the part of the run the claim is about. Raises UsageError for an invalid run."""
    assert experiment is not None
    whole = find(experiment)
    fidelity = whole.run.fidelity
    if fidelity.status == "invalid":
        raise UsageError(f"the lab calls the run invalid: {next(iter(fidelity.reasons), 'no reason given')}")
    start, end = (units.parse(text, "time") if text else None for text in (claim.start, claim.end))
    return RunPart(whole, flow, start, end)
