"""Claims of a course by page, file and line, and trials that show each challenge needs its complete solution."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tcptutor import spec
from tcptutor.authoring.claim_problems import claim_problems
from tcptutor.authoring.claims import (
    ClaimRun,
    FindRun,
    Judgement,
    another,
    claim_run,
    is_measured,
    judge,
    runs,
    seeds,
)
from tcptutor.authoring.texts import all_texts
from tcptutor.base.errors import UsageError
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.claim import Claim
from tcptutor.course.experiments import Catalogue
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.outline import Pages
from tcptutor.course.page_references import without_links
from tcptutor.spec import Experiment

_CLAIM = re.compile(r"\s*\[\[\s*claim\s*\]\]\s*(#.*)?")


class PageClaim(NamedTuple):
    """Claim that can be judged."""

    module: str
    step: str
    file: Path
    """Relative to the course's parent folder."""
    line: int
    """First line of its table, counted from 1."""
    claim: Claim
    claim_runs: tuple[ClaimRun, ...]
    """Experiments to compare, once per seed."""

    @property
    def page(self) -> str:
        """Name of the page, MODULE/PAGE."""
        return f"{self.module}/{self.step}"

    @property
    def runs(self) -> tuple[Experiment, ...]:
        """Experiments to run, possibly with repetitions."""
        return tuple(each for one in self.claim_runs for each in runs(self.claim, one))

    @property
    def text(self) -> str:
        """Words on the page."""
        return without_links(self.claim.text)

    @property
    def is_measured(self) -> bool:
        """True if judging it takes a run."""
        return is_measured(self.claim)

    @property
    def expectation(self) -> str:
        """Claimed value with its tolerance: "90 % within 5 %"."""
        claim = self.claim
        within = f" within {claim.tolerance}" if claim.tolerance else ""
        relation = f"{claim.relation} " if claim.relation != "about" else ""
        return f"{relation}{' '.join((claim.value or claim.text).split())}{within}"

    def judge(self, find: FindRun) -> tuple[Judgement, ...]:
        """Judge the claim for each seed."""
        return tuple(judge(self.claim, one, find) for one in self.claim_runs)

    @property
    def document(self) -> dict[str, object]:
        """The claim as plain JSON."""
        claim, first = self.claim, self.claim_runs[0]
        return {
            "text": self.text,
            "quantity": claim.quantity,
            "value": claim.value or claim.text,
            "tolerance": claim.tolerance,
            "relation": claim.relation,
            "experiment": first.of.name if first.of else None,
            "settings": spec.settings(first.of) if first.of else {},
            "seeds": [one.of.seed for one in self.claim_runs if one.of and self.is_measured],
        }


def page_claims(root: Path, chosen: Pages, at_least: int = 1) -> Iterator[PageClaim]:
    """Yield the valid claims of the chosen pages, in course order; `lint` reports invalid claims.

    Args:
        root: Folder of the course.
        chosen: Pages to read.
        at_least: Fewest seeds of each measured claim, even if it requests fewer.
    """
    catalogue = Catalogue(root)
    for module in chosen.modules:
        for step in module.steps:
            file = chosen.files[module.id, step.id]
            lines = LessonFile(file, root).text().split("\n")
            heads = [number for number, line in enumerate(lines, 1) if _CLAIM.fullmatch(line)]
            for variant in (step, *step.variants):
                texts = all_texts(variant)
                for line, claim in zip(heads, variant.claims, strict=False):
                    if any(
                        claim_problems(
                            claim, texts, module.id, variant.setup, catalogue.build, formulas=False
                        )
                    ):
                        continue
                    compared = claim_run(claim, module.id, variant.setup, catalogue.build)
                    where = file.relative_to(root.parent)
                    yield PageClaim(
                        module.id, step.id, where, line, claim, tuple(seeds(claim, compared, at_least))
                    )


TRIAL_SEEDS = 3
"""Runs of the start and of the solution, each with its own seed: none may depend on luck."""
_CHALLENGE = re.compile(r"\s*\[\s*challenge\s*\]\s*(#.*)?")


class PageTrial(NamedTuple):
    """Start, solution, or part of the solution of a challenge, judged like a claim."""

    module: str
    step: str
    file: Path
    """Relative to the course's parent folder."""
    line: int
    """First line of the challenge's table, counted from 1."""
    challenge: ChallengeActivity
    knobs: tuple[str, ...]
    """Knobs set as in the solution, none at the start. Only all of them may reach the targets."""
    seeds: int = TRIAL_SEEDS
    """Number of runs, each with its own seed."""

    @property
    def page(self) -> str:
        """Name of the page, MODULE/PAGE."""
        return f"{self.module}/{self.step}"

    @property
    def solves(self) -> bool:
        """True if it is the complete solution."""
        return len(self.knobs) == len(self.challenge.solution)

    @property
    def experiment(self) -> Experiment:
        """Experiment with the first seed."""
        return self.challenge.with_solution(self.knobs)

    @property
    def _tries(self) -> tuple[tuple[Experiment, Experiment], ...]:
        """Experiment and start, by seed."""
        return tuple(
            (another(self.experiment, more), another(self.challenge.experiment, more))
            for more in range(self.seeds)
        )

    @property
    def runs(self) -> tuple[Experiment, ...]:
        """Experiments to run, possibly with repetitions."""
        compares = self.challenge.needs_start_run
        return tuple(
            each for tried, start in self._tries for each in ((tried, start) if compares else (tried,))
        )

    @property
    def text(self) -> str:
        """Description of the trial."""
        what = (
            "the solution"
            if self.solves
            else " and ".join(self.knobs) + " alone"
            if self.knobs
            else "the start"
        )
        return f"{what}: {without_links(self.challenge.prompt)}"

    @property
    def is_measured(self) -> bool:
        """Always true: a trial takes runs."""
        return True

    @property
    def expectation(self) -> str:
        """Expected outcome."""
        return "reaches it" if self.solves else "does not reach it"

    def judge(self, find: FindRun) -> tuple[Judgement, ...]:
        """Judge the trial for each seed."""
        return tuple(self._judge(*each, find) for each in self._tries)

    def _judge(self, tried: Experiment, start: Experiment, find: FindRun) -> Judgement:
        try:
            run = find(tried).run
            first = find(start).run if self.challenge.needs_start_run else None
        except UsageError as error:
            return Judgement(False, str(error))
        if run.fidelity.status != "valid":
            return Judgement(
                False, f"{run.fidelity.status}: {next(iter(run.fidelity.reasons), 'no reason given')}"
            )
        states = self.challenge.judge(run, first)
        reached = all(state.reached for state in states)
        return Judgement(reached == self.solves, " and ".join(state.found for state in states))

    @property
    def document(self) -> dict[str, object]:
        """The trial as plain JSON."""
        return {
            "text": self.text,
            "quantity": "challenge",
            "value": self.expectation,
            "experiment": self.experiment.name,
            "settings": spec.settings(self.experiment),
            "seeds": [tried.seed for tried, _ in self._tries],
        }


def page_trials(root: Path, chosen: Pages, at_least: int = 1) -> Iterator[PageTrial]:
    """Yield the trials of the chosen pages, in course order, with at least `at_least` seeds."""
    for module in chosen.modules:
        for step in module.steps:
            if step.challenge is None or any(step.challenge.problems()):
                continue
            file = chosen.files[module.id, step.id]
            lines = LessonFile(file, root).text().split("\n")
            line = next((number for number, each in enumerate(lines, 1) if _CHALLENGE.fullmatch(each)), 1)
            where = file.relative_to(root.parent)
            knobs = tuple(step.challenge.solution)
            alone = [(knob,) for knob in knobs] if len(knobs) > 1 else []
            challenges = [variant.challenge for variant in (step, *step.variants) if variant.challenge]
            for challenge, turned in product(challenges, ((), *alone, knobs)):
                yield PageTrial(
                    module.id, step.id, where, line, challenge, turned, max(TRIAL_SEEDS, at_least)
                )
