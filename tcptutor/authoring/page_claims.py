"""Claims of a course by page, file and line, with the runs each needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tcptutor import spec
from tcptutor.authoring.claims import (
    ClaimRun,
    FindRun,
    Judgement,
    claim_run,
    is_measured,
    judge,
    problems,
    runs,
    seeds,
)
from tcptutor.authoring.texts import all_texts
from tcptutor.course.claim import Claim
from tcptutor.course.experiments import Catalogue
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.page_selection import Pages
from tcptutor.spec import Experiment

_HEAD = re.compile(r"\s*\[\[\s*claim\s*\]\]\s*(#.*)?")


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
        return self.claim.text

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
            "text": claim.text,
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
            heads = [number for number, line in enumerate(lines, 1) if _HEAD.fullmatch(line)]
            for variant in (step, *step.variants):
                texts = all_texts(variant)
                for line, claim in zip(heads, variant.claims, strict=False):
                    if any(problems(claim, texts, module.id, variant.setup, catalogue.build, formulas=False)):
                        continue
                    compared = claim_run(claim, module.id, variant.setup, catalogue.build)
                    where = file.relative_to(root.parent)
                    yield PageClaim(
                        module.id, step.id, where, line, claim, tuple(seeds(claim, compared, at_least))
                    )
