"""Checks of the two paths: teasers, terms of essential pages, pre-tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tcptutor.authoring.texts import texts_by_key
from tcptutor.base.errors import unknown
from tcptutor.course.activities.choice import SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activity import Question
from tcptutor.course.glossary import Term
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_references import REFERENCE
from tcptutor.course.paths import PRETEST
from tcptutor.course.pretest import QUESTIONS
from tcptutor.course.step import Step

LONGEST_TEASER = 60
"""Columns of the longest teaser: with "Deeper: " and the minutes it fits into a line of 80."""
_CODE = re.compile(r"```.*?```|~~~.*?~~~|`[^`]*`|(?<!\w)\w+_\w+", re.DOTALL)
"""Code blocks, code spans, and identifiers such as fq_codel."""
_READ_BY_ALL = ("prose", "after_run", "prompt", "explanation")
"""Last parts of the keys of texts that every student reads."""


def teaser_problems(step: Step) -> Iterator[str]:
    """Yield the reasons a page cannot be offered to students who follow the essentials."""
    if step.path == "essential":
        if step.teaser:
            yield 'is never shown on an essential page: remove it, or set path = "deeper"'
    elif not step.teaser.strip():
        yield 'is missing: complete the line "Deeper: ...", such as "why autotuning stops at half"'
    elif step.teaser != step.teaser.strip() or step.teaser.endswith((".", "!")):
        yield "completes a line: remove blanks around it and the full stop"
    elif len(step.teaser) > LONGEST_TEASER:
        yield f"has {len(step.teaser)} characters: at most {LONGEST_TEASER}"


def unexplained_terms(terms: tuple[Term, ...], course: Course) -> Iterator[tuple[str, str, str]]:
    """Yield page, key and reason of each term on an essential page that only a deeper page explains.

    The word of a term with an abbreviation is the abbreviation spelled out, and needs no explanation.
    """
    pages = {f"{module.id}/{step.id}": step for module in course.modules for step in module.steps}
    deeper = [
        (term, re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, _short_forms(term)))})s?(?!\w)"))
        for term in terms
        if term.page in pages and pages[term.page].path == "deeper"
    ]
    for page, step in pages.items():
        if step.path == "deeper":
            continue
        for key, text in texts_by_key(step):
            if not key.endswith(_READ_BY_ALL):
                continue
            plain = _CODE.sub(" ", REFERENCE.sub(_words_of_earlier, text))
            for term, form in deeper:
                if found := form.search(plain):
                    reason = f"{found[0]!r} is explained only on {term.page!r}, a deeper page"
                    yield page, key, f"{reason}: spell it out, or explain it"


def _short_forms(term: Term) -> tuple[str, ...]:
    return (term.abbreviation,) if term.abbreviation else (term.word, *term.synonyms)


def _words_of_earlier(reference: re.Match[str]) -> str:
    """Leave out the words of references to later pages, which may name later terms."""
    return " " if reference["scheme"] == "later" else reference["words"]


def pretest_problems(module: Module) -> Iterator[tuple[str, str]]:
    """Yield key and reason of each mistake in the structure of a module's pre-test."""
    step = module.pretest
    if step is None:
        return
    asked = step.activities_of(Question)
    if len(asked) != QUESTIONS or len(step.activities) != QUESTIONS:
        yield "question", f"{len(asked)} questions: a pre-test has {QUESTIONS}, and nothing else"
    ids = [each.id for each in module.steps]
    for question in asked:
        key = f"question {question.id}"
        if not isinstance(question, SingleChoice | Numeric):
            yield f"{key}: kind", 'must be "single" or "numeric" in a pre-test'
        if not question.skips:
            yield f"{key}: skips", "is empty: name the pages that a right answer makes unnecessary"
        for page in question.skips:
            if page not in ids:
                yield f"{key}: skips", unknown("page", page, ids)


def misplaced_skips(step: Step) -> Iterator[tuple[str, str]]:
    """Yield key and reason of each question that skips pages outside a pre-test."""
    for question in step.activities_of(Question):
        if question.skips and step.id != PRETEST:
            yield (
                f"question {question.id}: skips",
                "works in a pre-test only: remove it, or move the question",
            )
