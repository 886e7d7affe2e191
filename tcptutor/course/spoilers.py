"""What a page gives away before it is asked for: the run's result, and a question's own answer."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tcptutor import units
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Activity, Stage
from tcptutor.course.claims import least_limit
from tcptutor.course.model import Step
from tcptutor.course.quantities import in_words, quantities
from tcptutor.spec import Experiment

NEAR = 0.03
"""A rate so near to what the page's formulas make of the run is its result, rounded."""


_TEXTS = frozenset({"ask", "hints", "explanation", "feedback", "text"})
"""Fields of activities, and of what these consist of, that a student reads."""


def texts(activity: Activity) -> Iterator[tuple[str, str]]:
    """Key and text of all that an activity may show."""
    return _texts(activity, "")


def _texts(part: msgspec.Struct, key: str) -> Iterator[tuple[str, str]]:
    for field in msgspec.structs.fields(part):
        value, here = getattr(part, field.name), f"{key}.{field.encode_name}".lstrip(".")
        if isinstance(value, str) and field.name in _TEXTS:
            yield here, value
        elif isinstance(value, tuple):
            for number, entry in enumerate(value, start=1):
                if isinstance(entry, msgspec.Struct):
                    yield from _texts(entry, f"{here}[{number}]")
                elif isinstance(entry, str) and field.name in _TEXTS:
                    yield f"{here}[{number}]", entry


def texts_after(step: Step) -> list[tuple[str, str]]:
    """Key and text of all that a page shows once its run has ended, and not before."""
    return [
        ("after", step.after),
        *((f"{_of(activity)}{key}", text) for activity in step.activities for key, text in _later(activity)),
    ]


def all_texts(step: Step) -> list[str]:
    """All that a page ever shows."""
    shown = (text for activity in step.activities for _, text in texts(activity))
    return [step.title, step.prose, step.after, *shown]


def _later(activity: Activity) -> Iterator[tuple[str, str]]:
    """What an activity shows only when the run has ended: all of what is asked then, and what a prediction is told."""
    for key, text in texts(activity):
        if activity.about_run or (activity.stage is Stage.BEFORE_RUN and key.endswith("feedback")):
            yield key, text


def _of(activity: Activity) -> str:
    return f"{activity.table} {activity.id}: " if activity.many else f"{activity.table}."


def spoilers(step: Step) -> Iterator[tuple[str, str]]:
    """Key and reason of each text that says too much too early."""
    for asked in step.of(Numeric):
        answer = quantities(asked.answer)
        for key, text in texts(asked):
            if key.startswith("hints") and answer and _prints(text, answer[0].value, answer[0].kind, 0.001):
                reason = f"prints the answer, {asked.answer}: leave the last step to the student"
                yield f"question {asked.id}: {key}", reason
    experiment = _asked_about(step)
    if experiment is None:
        return
    result = least_limit(experiment)
    for key, text in _texts_before(step):
        if _prints(text, result, "rate", NEAR):
            yield key, f"stands there before the run, and prints what it gives: {units.rate(result)}"


def _asked_about(step: Step) -> Experiment | None:
    """The experiment whose throughput is to be found out: of a sweep only where the prediction is of one value."""
    if step.sweep is None:
        return step.experiment.experiment if step.experiment else None
    asked = [predict.at for predict in step.of(Predict) if predict.at in step.sweep.values]
    if not asked or step.sweep.measure != "throughput":
        return None
    return step.sweep.experiments[step.sweep.values.index(asked[0])]


def _texts_before(step: Step) -> Iterator[tuple[str, str]]:
    yield "title", step.title
    yield "prose", step.prose
    for activity in step.activities:
        later = dict(_later(activity))
        yield from ((f"{_of(activity)}{key}", text) for key, text in texts(activity) if key not in later)


def _prints(text: str, value: float, kind: str, near: float) -> bool:
    """Whether a quantity of `text` is that value."""
    return any(
        written.kind == kind and abs(written.value - value) <= near * value
        for written in quantities(in_words(text))
    )
