"""What a page gives away before it is asked for: the run's result, and a question's own answer."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor import units
from tcptutor.course.activities.choice import ChoiceQuestion
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Activity, Question, Stage
from tcptutor.course.claims import least_limit
from tcptutor.course.model import Step
from tcptutor.course.quantities import in_words, quantities
from tcptutor.spec import Experiment

NEAR = 0.03
"""A rate so near to what the page's formulas make of the run is its result, rounded."""


def texts(activity: Activity) -> Iterator[tuple[str, str]]:
    """Key and text of all that an activity may show."""
    yield "ask", str(getattr(activity, "ask", ""))
    yield from ((f"hints[{level}]", hint) for level, hint in enumerate(activity.hints, start=1))
    yield "explanation", activity.explanation
    if isinstance(activity, ChoiceQuestion):
        for number, choice in enumerate(activity.choices, start=1):
            yield f"choice[{number}]", f"{choice.text} {choice.feedback}"


def texts_after(step: Step) -> list[str]:
    """All that a page shows once its run has ended, and not before."""
    later = (activity for activity in step.of(Question) if activity.about_run)
    return [step.after, *(text for activity in later for _, text in texts(activity))]


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
        if activity.stage is Stage.BEFORE_RUN or not activity.about_run:
            where = f"{activity.table} {activity.id}: " if activity.many else f"{activity.table}."
            yield from ((f"{where}{key}", text) for key, text in texts(activity))


def _prints(text: str, value: float, kind: str, near: float) -> bool:
    """Whether a quantity of `text` is that value."""
    return any(
        written.kind == kind and abs(written.value - value) <= near * value
        for written in quantities(in_words(text))
    )
