"""Choices that give the answer away: by their number, their length, or their place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tcptutor.authoring.texts import texts
from tcptutor.course import personal
from tcptutor.course.activities.choice import ChoiceQuestion, SingleChoice
from tcptutor.course.activity import Problem
from tcptutor.course.outline import Module
from tcptutor.course.step import Step

ENOUGH_CHOICES = 4
MAX_LONGEST_SHARE = 0.35
"""Largest share of single-choice questions with the right choice as the longest."""
SIMULATED_STUDENTS = 200
_MOST_NAMED = 5
"""Questions that a problem names."""

_BY_NUMBER = re.compile(
    r"\b(?:choice|option|alternative)s?\s+(?:no\.\s*|number\s+)?[1-9]\b"
    r"|\b(?:first|second|third|fourth|fifth|last)\s+(?:choice|option|alternative|answer)\b",
    re.IGNORECASE,
)
_ABOUT_OTHERS = re.compile(
    r"(?:all|none|both|neither|any|either|each)\s+of\s+(?:these|them|those|the\s+(?:above|others?))\b",
    re.IGNORECASE,
)


class ChoiceStatistics(NamedTuple):
    """Shares and positions of a module's right choices, which show whether guessing pays."""

    module: str
    questions: int
    longest: tuple[str, ...]
    """Questions with no choice longer than the right choice, as PAGE/QUESTION."""
    positions: tuple[float, ...]
    """Share of simulated students and questions with the right choice first, second, and so on."""

    @property
    def longest_share(self) -> float:
        """Return the share of questions with the right choice as the longest, 0 to 1."""
        return len(self.longest) / self.questions if self.questions else 0.0


def choice_statistics(module: Module) -> ChoiceStatistics:
    """Count how often the right choice is the longest, and its positions for simulated students."""
    asked = _single_choices(module)
    counts = [0] * max((len(question.choices) for _, question in asked), default=0)
    for number in range(SIMULATED_STUDENTS):
        identity = personal.identity("simulation", f"student {number}")
        for step, question in asked:
            order = question.shown_order(personal.order_seed(identity, module.id, step.id, question.id))
            counts[order.index(question.right[0])] += 1
    shown = sum(counts)
    return ChoiceStatistics(
        module.id, len(asked), tuple(_longest(asked)), tuple(count / shown for count in counts)
    )


def module_choice_problem(module: Module) -> str:
    """Return why length reveals the right choices of a module; empty if it does not."""
    asked = _single_choices(module)
    longest = list(_longest(asked))
    if len(longest) <= max(1, MAX_LONGEST_SHARE * len(asked)):
        return ""
    more = ", ..." if len(longest) > _MOST_NAMED else ""
    return (
        f"the right choice is the longest in {len(longest)} of {len(asked)} single-choice questions, at most"
        f" {MAX_LONGEST_SHARE:.0%}: shorten it or lengthen another in {', '.join(longest[:_MOST_NAMED])}{more}"
    )


def choice_problems(step: Step) -> Iterator[Problem]:
    """Yield key and reason of each choice question of a page that gives its answer away."""
    for question in step.activities_of(ChoiceQuestion):
        where = f"question {question.id}: "
        yield from ((f"{where}{key}", reason) for key, reason in _number_problems(question))
        for number, choice in enumerate(question.choices, 1):
            if choice.correct and choice.explanation:
                reason = "is shown for wrong choices only: move it to the question's explanation"
                yield f"{where}choice[{number}].explanation", reason
            if not choice.fixed and _ABOUT_OTHERS.match(choice.text):
                reason = "is about the other choices, which are shuffled: set fixed = true"
                yield f"{where}choice[{number}].text", reason
        for key, text in texts(question):
            if found := _BY_NUMBER.search(text):
                reason = (
                    f"{found[0]!r} names a choice by its place, but choices are shuffled: quote the choice"
                )
                yield f"{where}{key}", reason


def _number_problems(question: ChoiceQuestion) -> Iterator[Problem]:
    enough = not isinstance(question, SingleChoice) or len(question.choices) >= ENOUGH_CHOICES
    if not enough and not question.few_choices:
        yield (
            "choice",
            f"{len(question.choices)} choices: give {ENOUGH_CHOICES}, or the reason for fewer in few_choices",
        )
    if enough and question.few_choices:
        yield "few_choices", "has no effect on a question with enough choices: remove it"


def _single_choices(module: Module) -> list[tuple[Step, SingleChoice]]:
    return [(step, each) for step in module.steps for each in step.activities_of(SingleChoice)]


def _longest(asked: list[tuple[Step, SingleChoice]]) -> Iterator[str]:
    for step, question in asked:
        lengths = [len(choice.text) for choice in question.choices]
        if lengths[question.right[0]] == max(lengths):
            yield f"{step.id}/{question.id}"
