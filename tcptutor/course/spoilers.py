"""What a page gives away before it is asked for: the run's result, and a question's own answer."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor import units
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.claims import least_limit
from tcptutor.course.model import Step
from tcptutor.course.quantities import in_words, quantities
from tcptutor.course.texts import texts, texts_before
from tcptutor.spec import Experiment

NEAR = 0.03
"""A rate so near to what the page's formulas make of the run is its result, rounded."""


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
    for key, text in texts_before(step):
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


def _prints(text: str, value: float, kind: str, near: float) -> bool:
    """Whether a quantity of `text` is that value."""
    return any(
        written.kind == kind and abs(written.value - value) <= near * value
        for written in quantities(in_words(text))
    )
