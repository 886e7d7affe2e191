"""Judging of claims: the runs a claim needs, the value it states, and whether they agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from tcptutor.base import units
from tcptutor.base.errors import UsageError
from tcptutor.course.activity import Setting
from tcptutor.course.claim import ARITHMETIC, CAUSE, MEASURED_SUBJECTS, PUBLISHED, Claim, PageSetup, Subject
from tcptutor.course.conditions import agrees, stated
from tcptutor.course.formulas import KNOWN
from tcptutor.course.lesson_file import qualified_name
from tcptutor.course.measurements import MEASURED, MeasuredRun, RunPart, cause
from tcptutor.course.page_references import without_links
from tcptutor.course.published import published_values
from tcptutor.course.quantities import expression, quantities
from tcptutor.spec import Experiment

BuildExperiment = Callable[[str, Mapping[str, str]], Experiment]
"""Builds an experiment from its name and overrides, as `Catalogue.build` does."""


class ClaimRun(NamedTuple):
    """Experiments a claim compares, with the seed of a single run."""

    of: Experiment | None
    """None for arithmetic."""
    per: Experiment | None = None
    """Denominator of a ratio."""


def claim_run(claim: Claim, module: str, page: PageSetup | None, build: BuildExperiment) -> ClaimRun:
    """Return the claim's experiments with the first seed; short names belong to `module`.

    Raises:
        UsageError: No experiment is given, or a name or setting is invalid.
    """
    if claim.quantity in (ARITHMETIC, PUBLISHED):
        return ClaimRun(None)
    name, settings = qualified_name(module, claim.experiment), dict(claim.set)
    if not name:
        if page is None:
            raise UsageError("this page runs nothing: name an experiment")
        name, settings = page.name, page.with_overrides(settings)
    of = build(name, _texts(settings))
    if claim.ratio_to is None:
        return ClaimRun(of)
    other, over = qualified_name(module, claim.ratio_to.experiment), dict(claim.ratio_to.set)
    if not other:
        over = {**claim.set, **over}
        over = over if claim.experiment or page is None else page.with_overrides(over)
    return ClaimRun(of, build(other or name, _texts(over)))


NUDGE = 0.0005
"""Relative change of the delay that gives an independent run, below the precision of any figure."""


def seeds(claim: Claim, first: ClaimRun, at_least: int = 1) -> Iterator[ClaimRun]:
    """Yield the experiments for each seed, at least `at_least`; once if no run is needed."""
    for more in range(max(claim.seeds, at_least) if is_measured(claim) else 1):
        yield ClaimRun(*(each and another(each, more) for each in first))


def another(experiment: Experiment, more: int) -> Experiment:
    """Return the experiment with its own seed for 0, and an independent repetition for each number above.

    On a path without random numbers the seed has no effect, yet chance decides which segments a full queue
    drops: a minimally longer delay gives an independent outcome.
    """
    path = experiment.path
    drawn = (path.loss, path.jitter, path.duplicate, path.reorder, path.reverse_loss)
    if not more or any(drawn) or any(change.name in ("loss", "jitter") for change in path.changes):
        return replace(experiment, seed=experiment.seed + more)
    nudge = 1 + NUDGE * more
    nudged = (
        replace(path, delay=path.delay * nudge)
        if path.delay
        else replace(path, rate=path.rate and path.rate * nudge)
    )
    return replace(experiment, seed=experiment.seed + more, path=nudged)


def is_measured(claim: Claim) -> bool:
    """Return True if judging the claim takes a run."""
    return any(subject in MEASURED_SUBJECTS for subject in claim.subjects)


def runs(claim: Claim, compared: ClaimRun) -> Iterator[Experiment]:
    """Yield the experiments that have to run."""
    if compared.of is not None and claim.quantity in MEASURED_SUBJECTS:
        yield compared.of
    if compared.per is not None and claim.subjects[-1] in MEASURED_SUBJECTS:
        yield compared.per


def _texts(settings: Mapping[str, Setting]) -> dict[str, str]:
    return {name: str(value) for name, value in settings.items()}


def evaluate(formula: str) -> float:
    """Evaluate `formula` in base units.

    Raises:
        UsageError: The formula is not arithmetic.
    """
    for written in reversed(quantities(formula)):
        formula = f"{formula[: written.start]}{written.value!r}{formula[written.end :]}"
    return expression(formula).value({})


def in_one_line(text: str) -> str:
    """Remove line breaks, bold marks and the targets of page references."""
    return " ".join(without_links(text).replace("**", "").split())


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
        if claim.quantity == PUBLISHED:
            return _judge_published(claim)
        value = _figure(claim, claim.quantity, claim.flow, compared.of, find)
        if claim.ratio_to is not None:
            base = _figure(claim, claim.subjects[-1], claim.ratio_to.flow, compared.per, find)
            value = value / base if base else math.inf
    except UsageError as error:
        return Judgement(False, str(error))
    return Judgement(agrees(claim, value), units.rounded(value, stated(claim).kind), value)


def _judge_published(claim: Claim) -> Judgement:
    """Compare a published figure with the nearest number of its entry. Raises UsageError for a missing entry."""
    claimed = stated(claim)
    value = min(published_values(claim.source), key=lambda each: abs(each - claimed.value))
    return Judgement(agrees(claim, value), units.rounded(value, claimed.kind), value)


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
