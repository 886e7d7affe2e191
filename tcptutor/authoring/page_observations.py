"""Observation questions, tried on new runs: with every seed, exactly one choice has to hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tcptutor import spec
from tcptutor.authoring.claims import FindRun, Judgement, another
from tcptutor.base.errors import UsageError
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activity import MarkContext
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.outline import Pages
from tcptutor.course.step import Step
from tcptutor.spec import Experiment

OBSERVED_SEEDS = 2
"""Runs of the page, each with its own seed."""
_KIND = re.compile(r'\s*kind\s*=\s*["\'](observe|sender)["\']\s*(#.*)?')


class PageObservation(NamedTuple):
    """Observation question of a page, judged like a claim."""

    module: str
    step: str
    file: Path
    """Relative to the course's parent folder."""
    line: int
    """Line of its kind, counted from 1."""
    variant: Step
    """The page, or a variant of it."""
    question: RunQuestion
    seeds: int

    @property
    def page(self) -> str:
        """Name of the page, MODULE/PAGE."""
        return f"{self.module}/{self.step}"

    @property
    def _experiments(self) -> tuple[Experiment, ...]:
        sweep = self.variant.sweep
        return tuple(each for _, each in sweep.cells()) if sweep else self.variant.experiments

    @property
    def runs(self) -> tuple[Experiment, ...]:
        """Experiments to run."""
        return tuple(another(each, more) for more in range(self.seeds) for each in self._experiments)

    @property
    def text(self) -> str:
        """The question."""
        return self.question.prompt

    @property
    def is_measured(self) -> bool:
        """Always true: an observation takes runs."""
        return True

    @property
    def expectation(self) -> str:
        """Expected outcome."""
        return "exactly one choice holds"

    def judge(self, find: FindRun) -> tuple[Judgement, ...]:
        """Judge the choices for each seed."""
        return tuple(self._judge(more, find) for more in range(self.seeds))

    def _judge(self, more: int, find: FindRun) -> Judgement:
        try:
            context = self._context(more, find)
            holding, evidence = self.question.outcome(context)
        except UsageError as error:
            return Judgement(False, str(error))
        numbers = " and ".join(f"choice {index + 1}" for index in holding) or "no choice"
        is_one = len(holding) == 1
        return Judgement(is_one, numbers if is_one else f"{numbers} ({evidence.rstrip('.')})")

    def _context(self, more: int, find: FindRun) -> MarkContext:
        from tcptutor.course.page_sweep import page_cell  # noqa: PLC0415  # imports the analysis

        runs = [find(another(each, more)).run for each in self._experiments]
        for run in runs:
            if run.fidelity.status == "invalid":
                raise UsageError(f"invalid: {next(iter(run.fidelity.reasons), 'no reason given')}")
        sweep = self.variant.sweep
        if sweep is None:
            return MarkContext(run=runs[0])
        measured: list[list[float]] = [[] for _ in sweep.values]
        for (at, _), run in zip(sweep.cells(), runs, strict=True):
            if (figure := page_cell(sweep, at, run).figure) is None:
                raise UsageError(f"the run at {sweep.values[at]} lacks the quantity of the sweep")
            measured[at].append(figure)
        return MarkContext(curve=sweep.curve(measured))

    @property
    def document(self) -> dict[str, object]:
        """The question as plain JSON."""
        first = self._experiments[0]
        return {
            "text": self.text,
            "quantity": "observation",
            "value": self.expectation,
            "experiment": first.name,
            "settings": spec.settings(first),
            "seeds": [each.seed for each in self.runs],
        }


def page_observations(root: Path, chosen: Pages, at_least: int = 1) -> Iterator[PageObservation]:
    """Yield the observations of the chosen pages, in course order, with at least `at_least` seeds."""
    seeds = max(OBSERVED_SEEDS, at_least)
    for module in chosen.modules:
        for step in module.steps:
            if not step.activities_of(RunQuestion) or not step.experiments:
                continue
            file = chosen.files[module.id, step.id]
            lines = LessonFile(file, root).text().split("\n")
            heads = [number for number, line in enumerate(lines, 1) if _KIND.fullmatch(line)]
            where = file.relative_to(root.parent)
            for variant in (step, *step.variants):
                for line, observe in zip(heads, variant.activities_of(RunQuestion), strict=False):
                    yield PageObservation(module.id, step.id, where, line, variant, observe, seeds)
