"""Grades with the pages' texts in another language, for sheets; the marks stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.course import personal
from tcptutor.course.activity import Activity, Question
from tcptutor.course.outline import Course
from tcptutor.course.page_references import without_links
from tcptutor.course.step import Step
from tcptutor.grading.grade import ActivityMark, GivenAnswer, Grade

_Places = Mapping[tuple[str, str], Step]


def in_language(grade: Grade, original: Course, shown: Course) -> Grade:
    """Translate a grade: replace titles, questions, answers and feedback by the texts of `shown`.

    Args:
        grade: The grade, with the texts of `original`.
        original: The course that marked it.
        shown: The same course in another language.
    """
    name = grade.enrolled_as or grade.student
    identity = personal.identity(grade.course, name) if grade.course else ""
    before, after = _steps(original, identity), _steps(shown, identity)
    return msgspec.structs.replace(grade, marks=tuple(_mark(each, before, after) for each in grade.marks))


def _steps(course: Course, identity: str) -> _Places:
    return {
        (module.id, step.id): step.for_student(module.id, identity)
        for module in course.modules
        for step in module.steps
    }


def _mark(mark: ActivityMark, before: _Places, after: _Places) -> ActivityMark:
    place = mark.module, mark.page
    if place not in before or place not in after:
        return mark
    original, shown = _activity(before[place], mark.activity), _activity(after[place], mark.activity)
    answers = mark.answers
    if original is not None and shown is not None and original != shown:
        answers = tuple(_answer(each, original, shown) for each in answers)
    title = after[place].title if mark.title == before[place].title else mark.title
    return msgspec.structs.replace(mark, title=title, answers=answers)


def _activity(step: Step, id: str) -> Activity | None:
    return next((each for each in step.activities if each.id == id), None)


def _answer(given: GivenAnswer, original: Activity, shown: Activity) -> GivenAnswer:
    with suppress(UsageError):  # numbers of another edition: the texts stay as they were marked
        original, shown = original.with_numbers(given.draw), shown.with_numbers(given.draw)
        feedback = given.feedback
        for before, after in sorted(_pairs(original, shown), key=lambda pair: -len(pair[0])):
            feedback = feedback.replace(before, after)
        asked = without_links(shown.prompt) if given.asked and isinstance(shown, Question) else given.asked
        text = shown.in_words(given.chosen) if given.chosen else given.text
        return msgspec.structs.replace(given, text=text, feedback=feedback, asked=asked)
    return given


def _pairs(original: Activity, shown: Activity) -> Iterator[tuple[str, str]]:
    """Yield the texts of feedback in both languages."""
    for before, after in zip(_entries(original), _entries(shown), strict=False):
        if before != after and before:
            yield before, after


def _entries(activity: Activity) -> Iterator[str]:
    """Yield the feedback of an activity and of its choices, events and mistakes, in order."""
    for each in (activity, *(entry for name in _LISTS for entry in getattr(activity, name, ()))):
        yield without_links(str(getattr(each, "feedback", "")))


_LISTS = ("choices", "events", "mistakes", "shapes")
