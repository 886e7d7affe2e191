"""Runs of a page, made as students make them: each has to be valid, or the page has marks that nobody can earn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tcptutor import spec
from tcptutor.authoring.claims import FindRun, Judgement, another
from tcptutor.base.errors import UsageError
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.outline import Pages
from tcptutor.course.step import Step
from tcptutor.spec import Experiment

RUN_SEEDS = 3
"""Runs of each experiment, each with its own seed, as several students make them."""
_TABLE = re.compile(r"\s*\[\s*(experiment|sweep)\s*\]\s*(#.*)?")


class PageRuns(NamedTuple):
    """The run of a page, or all runs of its sweep, judged like a claim."""

    module: str
    step: str
    file: Path
    """Relative to the course's parent folder."""
    line: int
    """First line of the experiment's or sweep's table, counted from 1."""
    variant: Step
    """The page, or a variant of it."""
    seeds: int

    @property
    def page(self) -> str:
        """Name of the page, MODULE/PAGE."""
        return f"{self.module}/{self.step}"

    @property
    def _experiments(self) -> tuple[tuple[str, Experiment], ...]:
        """Each experiment with its place in the sweep: "delay 10 ms"."""
        sweep = self.variant.sweep
        if sweep is None:
            return tuple(("", each) for each in self.variant.experiments)
        return tuple((f"{sweep.axis} {sweep.values[at]}", each) for at, each in sweep.cells())

    @property
    def runs(self) -> tuple[Experiment, ...]:
        """Experiments to run."""
        return tuple(another(each, more) for more in range(self.seeds) for _, each in self._experiments)

    @property
    def text(self) -> str:
        """Description of the runs."""
        return "each run of the sweep" if self.variant.sweep else "the run"

    @property
    def is_measured(self) -> bool:
        """Always true."""
        return True

    @property
    def expectation(self) -> str:
        """Expected outcome."""
        return "is valid, so that its marks can be earned"

    def judge(self, find: FindRun) -> tuple[Judgement, ...]:
        """Judge the runs for each seed."""
        return tuple(self._judge(more, find) for more in range(self.seeds))

    def _judge(self, more: int, find: FindRun) -> Judgement:
        """Report the first run that is not valid, with what to change."""
        for place, experiment in self._experiments:
            tried = another(experiment, more)
            try:
                fidelity = find(tried).run.fidelity
            except UsageError as error:
                return Judgement(False, str(error))
            if fidelity.status != "valid":
                where = f"{fidelity.status} at {place}" if place else fidelity.status
                reason = next(iter(fidelity.reasons), "no reason given")
                return Judgement(False, f"{where} with seed {tried.seed}: {reason}")
        return Judgement(True, "valid")

    @property
    def document(self) -> dict[str, object]:
        """The runs as plain JSON."""
        first = self.runs[0]
        return {
            "text": self.text,
            "quantity": "fidelity",
            "value": self.expectation,
            "experiment": first.name,
            "settings": spec.settings(first),
            "seeds": [each.seed for each in self.runs],
        }


def page_runs(root: Path, chosen: Pages, at_least: int = 1) -> Iterator[PageRuns]:
    """Yield the runs of the chosen pages and of their variants, in course order, with at least `at_least` seeds."""
    for module in chosen.modules:
        for step in module.steps:
            if not step.experiments:
                continue
            file = chosen.files[module.id, step.id]
            lines = LessonFile(file, root).text().split("\n")
            line = next((number for number, each in enumerate(lines, 1) if _TABLE.fullmatch(each)), 1)
            where = file.relative_to(root.parent)
            for variant in (step, *step.variants):
                yield PageRuns(module.id, step.id, where, line, variant, max(RUN_SEEDS, at_least))
