"""The claims of a course where they stand: page, file and line, with the runs that each needs."""

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
from tcptutor.course.pages import Pages
from tcptutor.course.toml import PAGE
from tcptutor.spec import Experiment

_HEAD = re.compile(r"\s*\[\[\s*claim\s*\]\]\s*(#.*)?")


class PageClaim(NamedTuple):
    """A claim that can be judged."""

    module: str
    step: str
    file: Path
    """Relative to the folder that holds the course."""
    line: int
    """Where its table begins, counted from 1."""
    claim: Claim
    compared: tuple[ClaimRun, ...]
    """What is compared, once for each seed."""

    @property
    def page(self) -> str:
        """MODULE/PAGE"""
        return f"{self.module}/{self.step}"

    @property
    def runs(self) -> tuple[Experiment, ...]:
        """What has to run; an experiment may be there twice."""
        return tuple(each for one in self.compared for each in runs(self.claim, one))

    @property
    def text(self) -> str:
        """The words that are judged."""
        return self.claim.text

    @property
    def is_measured(self) -> bool:
        """Whether it takes a run to judge it."""
        return is_measured(self.claim)

    @property
    def stated(self) -> str:
        """What the page says, with its tolerance: "90 % within 5 %"."""
        claim = self.claim
        within = f" within {claim.within}" if claim.within else ""
        relation = f"{claim.relation} " if claim.relation != "about" else ""
        return f"{relation}{' '.join((claim.value or claim.text).split())}{within}"

    def judged(self, find: FindRun) -> tuple[Judgement, ...]:
        """What the runs say of it, one for each seed."""
        return tuple(judge(self.claim, one, find) for one in self.compared)

    @property
    def document(self) -> dict[str, object]:
        """What it states, as plain JSON."""
        claim, first = self.claim, self.compared[0]
        return {
            "text": claim.text,
            "of": claim.of,
            "value": claim.value or claim.text,
            "within": claim.within,
            "relation": claim.relation,
            "experiment": first.of.name if first.of else None,
            "settings": spec.settings(first.of) if first.of else {},
            "seeds": [one.of.seed for one in self.compared if one.of and self.is_measured],
        }


def page_claims(root: Path, chosen: Pages, at_least: int = 1) -> Iterator[PageClaim]:
    """Those of the pages that can be judged, in the order of the course; `lint` says what is wrong with the others.

    at_least: so many seeds for each claim of a run, also where it asks for fewer.
    """
    catalogue = Catalogue(root)
    for module in chosen.modules:
        for step in module.steps:
            file = chosen.files[module.id, step.id]
            lines = LessonFile(file, root).text(PAGE).split("\n")
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
