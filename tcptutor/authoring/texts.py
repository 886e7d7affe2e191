"""Texts of a page, by key, and whether they are shown before or after the run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from tcptutor.course.activity import Activity, Stage
from tcptutor.course.model import Step

_TEXTS = frozenset({"prompt", "hints", "explanation", "feedback", "text"})
"""Visible text fields of activities and their parts."""


def texts(activity: Activity) -> Iterator[tuple[str, str]]:
    """Yield key and text of everything an activity may show."""
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
    """Cache the fields, which msgspec derives from annotations on each call (a fifth of the linter's time)."""
    return msgspec.structs.fields(kind)


def texts_after(step: Step) -> list[tuple[str, str]]:
    """Return key and text of everything a page shows only after its run."""
    return [
        ("after_run", step.after_run),
        *(
            (f"{where(activity)}{key}", text)
            for activity in step.activities
            for key, text in _later(activity)
        ),
    ]


def texts_by_key(step: Step) -> Iterator[tuple[str, str]]:
    """Yield key and text of everything a page shows."""
    yield "title", step.title
    yield "prose", step.prose
    yield "after_run", step.after_run
    for activity in step.activities:
        yield from ((f"{where(activity)}{key}", text) for key, text in texts(activity))


def all_texts(step: Step) -> list[str]:
    """Return every text of a page."""
    return [text for _, text in texts_by_key(step)]


def _later(activity: Activity) -> Iterator[tuple[str, str]]:
    """Yield the texts an activity shows only after the run: questions about it, feedback, explanations."""
    told = {Stage.BEFORE_RUN: "feedback", Stage.RUN: "explanation"}.get(activity.stage)
    for key, text in texts(activity):
        if activity.about_run or (told and key.endswith(told)):
            yield key, text


def where(activity: Activity) -> str:
    """Return the prefix of an activity's keys: "question how-many: ", "predict."."""
    return f"{activity.table} {activity.id}: " if activity.many else f"{activity.table}."


def texts_before(step: Step) -> Iterator[tuple[str, str]]:
    """Yield key and text of everything a page shows before its run."""
    yield "title", step.title
    yield "prose", step.prose
    for activity in step.activities:
        later = dict(_later(activity))
        yield from ((f"{where(activity)}{key}", text) for key, text in texts(activity) if key not in later)
