"""Questions and prompts of activities in the dialogue, and the parsing of typed answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import get_args

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.choice import ChoiceQuestion, Order
from tcptutor.course.activities.example import Example
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activities.read_off import ReadOff
from tcptutor.course.activities.run import RunActivity, SweepActivity
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activities.sender_question import SenderQuestion
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity
from tcptutor.course.page_record import Given, Sureness
from tcptutor.course.setting_line import experiment_line
from tcptutor.plain.prose import Paragraph, inline_text, paragraphs

Numbered = ChoiceQuestion | Order | ShapePrediction
"""Activities answered with numbers from a list."""
Typed = Numeric | ReadOff | Predict | Example
"""Activities answered with a quantity, including examples with a gap."""


_TITLES: tuple[tuple[type[Activity], str], ...] = (
    (Predict, "Prediction"),
    (ShapePrediction, "Prediction"),
    (Example, "Example"),
    (SenderQuestion, "You are the sender"),
    (RunQuestion, "Observation"),
    (RunActivity, "Experiment"),
    (SweepActivity, "Sweep"),
    (ChallengeActivity, "Challenge"),
    (ShellActivity, "By hand"),
)


def title(activity: Activity) -> str:
    """Return the name of an activity's kind."""
    return next((name for kind, name in _TITLES if isinstance(activity, kind)), "Question")


def question(activity: Activity, order: Sequence[int]) -> Iterator[Paragraph]:
    """Yield the question and the list of its choices.

    Args:
        activity: The activity as posed.
        order: Lesson-file indexes of the listed entries in the student's order.
    """
    first, *rest = [*_wording(activity)] or [Paragraph("")]
    yield Paragraph(f"{title(activity)}: {first.text}", first.is_exact)
    yield from rest
    match activity:
        case ChoiceQuestion() | Order() | ShapePrediction():
            for number, index in enumerate(order, start=1):
                yield Paragraph(f"{number}. {inline_text(activity.listed[index])}")
        case Example(gap_index=int(at)):
            for number, step in enumerate(activity.steps[: at + 1], start=1):
                yield Paragraph(f"Step {number}: {inline_text(step.text)}")


def _wording(activity: Activity) -> Iterator[Paragraph]:
    match activity:
        case RunActivity(experiment=experiment):
            yield Paragraph(f"{experiment.seconds:g} s of TCP on {experiment_line(experiment)}.")
        case SweepActivity():
            axis = activity.axis.replace("_", " ")
            yield Paragraph(
                f"{activity.title}, {len(activity.cells())} runs with {axis} {activity.values_in_words()}."
            )
        case ShellActivity():
            how = " in this order" if activity.in_order else ""
            yield Paragraph(
                f"Reach these goals{how} in the lab's shell, on {', '.join(activity.hosts)}. The kernel's state ticks"
                " them."
            )
            yield from (Paragraph(f"- {inline_text(goal.text)}") for goal in activity.goals)
            for command in activity.commands:
                yield Paragraph(f"On {command.host} you can type: {command.run}")
        case ChallengeActivity():
            yield from paragraphs(activity.prompt)
            yield from (Paragraph(f"Goal: {inline_text(goal.text)}.") for goal in activity.goals)
        case _:
            yield from paragraphs(getattr(activity, "prompt", ""))


def how_to_answer(activity: Activity) -> str:
    """Return a line that explains how to answer an activity."""
    if isinstance(activity, ChoiceQuestion | Order | ShapePrediction):
        return _how_to_choose(activity)
    if isinstance(activity, Example) and activity.gap is None:
        return "Enter for the next step"
    if isinstance(activity, Numeric | ReadOff | Example | Predict):
        is_prediction = isinstance(activity, Predict)
        return f"Your {'prediction' if is_prediction else 'answer'}{_unit(activity)}{', or skip' * is_prediction}"
    match activity:
        case ChallengeActivity():
            return "NAME = VALUE sets a knob, run runs it"
        case ShellActivity():
            return "terminal opens the shell"
        case _:
            return "run starts it"


def _how_to_choose(activity: Numbered) -> str:
    number = len(activity.listed)
    match activity:
        case Order():
            return f"All {number} numbers in the right order, such as {_example(number)}"
        case ChoiceQuestion(several=True):
            return "The numbers of all that are true, such as 1 3"
        case ShapePrediction():
            return f"The number of a drawing, 1 to {number}, or skip"
        case RunQuestion():
            return f"A number from 1 to {number}, or skip"
        case _:
            return f"A number from 1 to {number}"


def _example(number: int) -> str:
    return " ".join(map(str, [2, 1, *range(3, number + 1)]))


def _unit(activity: Typed) -> str:
    asked = activity.gap if isinstance(activity, Example) else activity
    unit = asked.plain_unit if asked is not None else ""
    return f", a number (without a unit it is in {unit})" if unit else ", a number"


_SURENESS: dict[str, Sureness] = {each: each for each in get_args(Sureness)}


def split_sureness(line: str) -> tuple[str, Sureness | None]:
    """Split "2 sure" into the answer and how sure the student is; None if not stated."""
    answer, _, last = line.rpartition(" ")
    known = _SURENESS.get(last.lower())
    return (answer.strip(), known) if known and answer.strip() else (line, None)


def response(activity: Activity, order: Sequence[int], line: str) -> Given:
    """Parse a typed line as a response.

    Args:
        activity: The activity as posed.
        order: Lesson-file indexes of the listed entries in the student's order.
        line: The line, not empty.

    Raises:
        UsageError: The line is not an answer; the message explains how to answer.
    """
    match activity:
        case ChoiceQuestion() | Order() | ShapePrediction():
            return _chosen(activity, order, line)
        case Numeric() | ReadOff() | Predict():
            return line
        case Example() if activity.gap is not None:
            return line
        case _:
            raise UsageError(unknown(activity, line))


def unknown(activity: Activity | None, line: str) -> str:
    """Return the error message for a line that is neither an answer nor a command."""
    what = f" {how_to_answer(activity)}." if activity is not None else ""
    page = f" go {line} opens a page." if re.fullmatch(r"\d{1,3}\.\d{1,3}", line) else ""
    return f"{line[:60]!r} is not possible here.{what}{page} Type ? for all commands."


def _chosen(activity: Numbered, order: Sequence[int], line: str) -> tuple[str, ...]:
    words = [word for word in re.split(r"[\s,;]+", line) if word]
    if (
        isinstance(activity, Order)
        and len(words) == 1
        and len(words[0]) == len(order)
        and words[0].isdecimal()
    ):
        words = list(words[0])  # "312"
    numbers = [int(word) if word.isascii() and word.isdecimal() else 0 for word in words]
    if not all(1 <= number <= len(order) for number in numbers):
        raise UsageError(unknown(activity, line))
    if len(set(numbers)) < len(numbers):
        raise UsageError(f"{line!r} names a number twice. {how_to_answer(activity)}.")
    return tuple(activity.entry_ids[order[number - 1]] for number in numbers)
