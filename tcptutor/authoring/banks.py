"""Checks that questions make sense without their page, since question banks export them alone."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.authoring.texts import texts, where
from tcptutor.course.activity import Question
from tcptutor.course.pointers import ALONE, EVERYWHERE, find_pointers, without_pointers
from tcptutor.course.step import Step


def bank_problems(step: Step) -> Iterator[tuple[str, str]]:
    """Yield the texts of questions that make no sense in a question bank.

    Feedback and explanations may point at the page in sentences of their own, since banks leave these out.
    """
    if step.shell is not None:
        return
    for question in step.activities_of(Question):
        if question.against_run or not question.bank:
            continue
        kinds = EVERYWHERE if question.about_run else ALONE
        for key, text in texts(question):
            if key == "prompt" or key.endswith(".text"):
                for phrase, reason in find_pointers(text, kinds):
                    yield f"{where(question)}{key}", f"{phrase!r} {reason}, or set bank = false"
            elif key.endswith("feedback") and text and not without_pointers(text, kinds):
                yield (
                    f"{where(question)}{key}",
                    "points at the page in every sentence: write one that stands alone",
                )
