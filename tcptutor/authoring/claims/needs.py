"""Which runs a claim needs: the page's own experiment, or another one, with what is set differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from tcptutor.base.errors import UsageError
from tcptutor.course.activity import Setting
from tcptutor.course.claim import ARITHMETIC, MEASURED_SUBJECTS, Claim, PageSetup, Subject
from tcptutor.course.names import qualified_name
from tcptutor.spec import Experiment


class BuildExperiment(Protocol):
    """Makes the experiment of a full or short name with settings over it, such as `Catalogue.build`."""

    def __call__(self, name: str, overrides: Mapping[str, str]) -> Experiment: ...


class ClaimRun(NamedTuple):
    """The experiments that a claim compares, with the seed of one of its runs."""

    of: Experiment | None
    """None for arithmetic."""
    per: Experiment | None = None
    """What a ratio is to."""


def claim_run(claim: Claim, module: str, page: PageSetup | None, build: BuildExperiment) -> ClaimRun:
    """With the first seed. Names without a module are those of `module`.

    Raises UsageError where nothing says what is run, and for a name or a setting that is none.
    """
    if claim.of == ARITHMETIC:
        return ClaimRun(None)
    name, settings = qualified_name(module, claim.experiment), dict(claim.set)
    if not name:
        if page is None:
            raise UsageError("this page runs nothing: name an experiment")
        name, settings = page.name, page.over(settings)
    of = build(name, _texts(settings))
    if claim.per is None:
        return ClaimRun(of)
    other, over = qualified_name(module, claim.per.experiment), dict(claim.per.set)
    if not other:
        over = {**claim.set, **over}
        over = over if claim.experiment or page is None else page.over(over)
    return ClaimRun(of, build(other or name, _texts(over)))


NUDGE = 0.0005
"""Relative change of the delay that makes another run of the same: less than any figure tells."""


def seeds(claim: Claim, first: ClaimRun, at_least: int = 1) -> Iterator[ClaimRun]:
    """What is compared with each of the claim's seeds, and with `at_least` so many; once where nothing has to run."""
    for more in range(max(claim.seeds, at_least) if is_measured(claim) else 1):
        yield ClaimRun(*(each and another(each, more) for each in first))


def another(experiment: Experiment, more: int) -> Experiment:
    """With its own seed for 0; for each number above, another run of the same.

    On a path that draws no random numbers the seed changes nothing, and yet chance decides which segments a full queue
    drops: a delay that is longer by a hair draws anew.
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
    """Whether it takes a run to judge it."""
    return any(subject in MEASURED_SUBJECTS for subject in claim.subjects)


def subject_per(claim: Claim) -> Subject:
    """What a ratio is to."""
    return (claim.per.of if claim.per else None) or claim.of


def runs(claim: Claim, compared: ClaimRun) -> Iterator[Experiment]:
    """Those of the experiments that have to run."""
    if compared.of is not None and claim.of in MEASURED_SUBJECTS:
        yield compared.of
    if compared.per is not None and subject_per(claim) in MEASURED_SUBJECTS:
        yield compared.per


def _texts(settings: Mapping[str, Setting]) -> dict[str, str]:
    return {name: str(value) for name, value in settings.items()}
