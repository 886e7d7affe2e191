"""Marking: an answer to a question in, a Mark out.

An answer that cannot be marked (no unit, nothing chosen) is no attempt: it raises a UsageError whose line
the student reads, and may be given again.
"""

from __future__ import annotations

import math

from tcptutor import units
from tcptutor.course.model import Mark, Question
from tcptutor.errors import UnitError, UsageError

Answer = str | tuple[int, ...]
"""numeric: the text as typed; else the numbers of the chosen choices, from 0."""

_ROUNDING = 1e-9
"""A value exactly on the edge of the tolerance counts, whatever binary fractions make of it."""


def mark(question: Question, answer: Answer) -> Mark:
    """Whether `answer` is right, and what to tell the student (the explanation is the caller's to show).

    Raises UnitError for a number without its unit, UsageError for a choice that is not there or none at all.
    """
    if question.kind == "numeric":
        if not isinstance(answer, str):
            raise UsageError(f"this question asks for a number: write it like {_example(question)!r}")
        return _mark_number(question, answer)
    if isinstance(answer, str):
        raise UsageError("this question asks for a choice, not a text: choose one of its answers")
    return _mark_choices(question, frozenset(answer))


def solution(question: Question) -> Answer:
    """The answer that is marked as right."""
    if question.kind == "numeric":
        return question.answer
    return tuple(index for index, choice in enumerate(question.choices) if choice.correct)


def contradiction(question: Question) -> tuple[str, str] | None:
    """`(key, reason)` why `question` could not be marked; None when it can."""
    if question.kind == "numeric":
        return _numeric_contradiction(question)
    right = len(solution(question))
    for key, given in (("answer", question.answer), ("unit", question.unit)):
        if given:
            return key, f"belongs to a numeric question, this one is {question.kind}"
    if len(question.choices) < 2:
        return "choice", "a question needs at least two choices"
    if not right:
        return "choice", "no choice is correct: give the right one `correct = true`"
    if question.kind == "single" and right > 1:
        return "choice", f"{right} choices are correct, a single question has one: make it multiple"
    return None


def _numeric_contradiction(question: Question) -> tuple[str, str] | None:
    if question.choices:
        return "choice", "a numeric question has no choices"
    if question.unit is None:
        return "unit", "is missing: a numeric question says what it asks for, such as 'rate'"
    if not 0 <= question.tolerance < 1:
        return (
            "tolerance",
            f"{question.tolerance:g} is out of bounds: a relative difference, 0 to 0.99",
        )
    try:
        units.parse(question.answer, question.unit)
    except UnitError as error:
        return "answer", str(error)
    return None


def _mark_choices(question: Question, chosen: frozenset[int]) -> Mark:
    if not chosen:
        raise UsageError("nothing is chosen yet: choose an answer first")
    if question.kind == "single" and len(chosen) > 1:
        raise UsageError("one answer only: choose the best one")
    if not chosen <= set(range(len(question.choices))):
        raise UsageError(f"there is no such choice: choose from 1 to {len(question.choices)}")
    right = frozenset(solution(question))
    # On the way to the right set, what is wrong with a choice helps more than praise for the others.
    told = sorted(chosen - right or chosen)
    feedback = [question.choices[index].feedback for index in told]
    if right - chosen and question.kind == "multiple":
        missed = len(right - chosen)
        feedback.append(f"{missed} right {'answer is' if missed == 1 else 'answers are'} not chosen yet.")
    return Mark(correct=chosen == right, feedback="\n\n".join(feedback))


def _mark_number(question: Question, answer: str) -> Mark:
    kind = question.unit or "count"
    value, right = units.parse(answer, kind), units.parse(question.answer, kind)
    if math.isclose(value, right, rel_tol=0, abs_tol=abs(right) * (question.tolerance + _ROUNDING)):
        return Mark(correct=True, feedback=f"Right: {question.answer}.")
    return Mark(correct=False, feedback=f"{_slip(value, right, kind)}{question.feedback}".strip())


def _slip(value: float, right: float, kind: str) -> str:
    """A sentence for the two slips that a quantity off by a round factor gives away, else nothing."""
    if not value or not right or kind == "count":
        return ""
    factor = max(value / right, right / value)
    if not 1 < factor < 1e12:
        return ""
    if math.isclose(factor, 8, rel_tol=0.02) and kind in ("rate", "size"):
        return "That is off by a factor of 8: bits or bytes? "
    power = round(math.log10(factor))
    if power >= 1 and math.isclose(factor, 10**power, rel_tol=0.02):
        return f"That is off by a factor of {10**power}: look at the decimal point and the prefix. "
    return ""


def _example(question: Question) -> str:
    return units.EXAMPLES.get(question.unit or "count", "4")
