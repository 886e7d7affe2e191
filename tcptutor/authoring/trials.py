"""Trials of challenges: runs that show each challenge needs its complete solution."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from tcptutor import spec
from tcptutor.authoring.claims import FindRun, Judgement, another
from tcptutor.base.errors import UsageError
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.page_selection import Pages
from tcptutor.spec import Experiment

SEEDS = 3
"""Runs of the start and of the solution, each with its own seed: none may depend on luck."""
_HEAD = re.compile(r"\s*\[\s*challenge\s*\]\s*(#.*)?")


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
    seeds: int = SEEDS
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
        return f"{what}: {self.challenge.prompt}"

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
            line = next((number for number, each in enumerate(lines, 1) if _HEAD.fullmatch(each)), 1)
            where = file.relative_to(root.parent)
            knobs = tuple(step.challenge.solution)
            alone = [(knob,) for knob in knobs] if len(knobs) > 1 else []
            challenges = [variant.challenge for variant in (step, *step.variants) if variant.challenge]
            for challenge, turned in product(challenges, ((), *alone, knobs)):
                yield PageTrial(module.id, step.id, where, line, challenge, turned, max(SEEDS, at_least))
