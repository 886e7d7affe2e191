"""Runs that claims need: the page's own experiment, or a named experiment, with overrides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from tcptutor.base.errors import UsageError
from tcptutor.course.activity import Setting
from tcptutor.course.claim import ARITHMETIC, MEASURED_SUBJECTS, Claim, PageSetup, Subject
from tcptutor.course.experiments import qualified_name
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
    if claim.quantity == ARITHMETIC:
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


def subject_per(claim: Claim) -> Subject:
    """Return the subject of a ratio's denominator."""
    return (claim.ratio_to.quantity if claim.ratio_to else None) or claim.quantity


def runs(claim: Claim, compared: ClaimRun) -> Iterator[Experiment]:
    """Yield the experiments that have to run."""
    if compared.of is not None and claim.quantity in MEASURED_SUBJECTS:
        yield compared.of
    if compared.per is not None and subject_per(claim) in MEASURED_SUBJECTS:
        yield compared.per


def _texts(settings: Mapping[str, Setting]) -> dict[str, str]:
    return {name: str(value) for name, value in settings.items()}
