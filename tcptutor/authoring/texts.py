"""What a student reads on a page: the texts of its activities, and which of them stand there before the run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from tcptutor.course.activity import Activity, Stage
from tcptutor.course.model import Step

_TEXTS = frozenset({"ask", "hints", "explanation", "feedback", "text"})
"""Fields of activities, and of what these consist of, that a student reads."""


def texts(activity: Activity) -> Iterator[tuple[str, str]]:
    """Key and text of all that an activity may show."""
    return _texts(activity, "")


def _texts(part: msgspec.Struct, key: str) -> Iterator[tuple[str, str]]:
    for field in _fields(type(part)):
        value, here = getattr(part, field.name), f"{key}.{field.encode_name}".lstrip(".")
        if isinstance(value, str) and field.name in _TEXTS:
            yield here, value
        elif isinstance(value, tuple):
            for number, entry in enumerate(value, start=1):
                if isinstance(entry, msgspec.Struct):
                    yield from _texts(entry, f"{here}[{number}]")
                elif isinstance(entry, str) and field.name in _TEXTS:
                    yield f"{here}[{number}]", entry


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """msgspec works them out of the annotations at each call, which was a fifth of what the linter took."""
    return msgspec.structs.fields(kind)


def texts_after(step: Step) -> list[tuple[str, str]]:
    """Key and text of all that a page shows once its run has ended, and not before."""
    return [
        ("after", step.after),
        *(
            (f"{where(activity)}{key}", text)
            for activity in step.activities
            for key, text in _later(activity)
        ),
    ]


def texts_by_key(step: Step) -> Iterator[tuple[str, str]]:
    """Key and text of all that a page ever shows."""
    yield "title", step.title
    yield "prose", step.prose
    yield "after", step.after
    for activity in step.activities:
        yield from ((f"{where(activity)}{key}", text) for key, text in texts(activity))


def all_texts(step: Step) -> list[str]:
    """All that a page ever shows."""
    return [text for _, text in texts_by_key(step)]


def _later(activity: Activity) -> Iterator[tuple[str, str]]:
    """What an activity shows only when the run has ended: all of what is asked then, what a prediction is told, and why
    a challenge is reached as it is."""
    told = {Stage.BEFORE_RUN: "feedback", Stage.RUN: "explanation"}.get(activity.stage)
    for key, text in texts(activity):
        if activity.about_run or (told and key.endswith(told)):
            yield key, text


def where(activity: Activity) -> str:
    """What its keys begin with: "question how-many: ", "predict."."""
    return f"{activity.table} {activity.id}: " if activity.many else f"{activity.table}."


def texts_before(step: Step) -> Iterator[tuple[str, str]]:
    """Key and text of all that a page shows before its run."""
    yield "title", step.title
    yield "prose", step.prose
    for activity in step.activities:
        later = dict(_later(activity))
        yield from ((f"{where(activity)}{key}", text) for key, text in texts(activity) if key not in later)
