"""Checks of what a finished page shows as a reference: its idea and its formula."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.base.errors import unknown
from tcptutor.course.activity import Problem, is_sentence
from tcptutor.course.paths import PRETEST
from tcptutor.course.step import Step
from tcptutor.theory.catalogue import MODELS

LONGEST_IDEA = 160
"""Characters of the longest idea: two lines of 80."""


def reference_problems(step: Step) -> Iterator[Problem]:
    """Yield the reasons why a page's idea or formula can't be shown."""
    if step.id == PRETEST:
        return
    if not step.idea.strip():
        yield "idea", "is missing: say in a sentence or two what to keep of the page"
    elif len(step.idea) > LONGEST_IDEA or not is_sentence(step.idea):
        yield "idea", f"is not a sentence or two of at most {LONGEST_IDEA} characters"
    if step.formula and step.formula not in MODELS:
        yield "formula", unknown("model", step.formula, MODELS)
