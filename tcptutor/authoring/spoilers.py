"""Spoilers: texts that reveal a run's result, a question's answer, or a network's fault too early."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.authoring.texts import texts, texts_before
from tcptutor.base import units
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Question
from tcptutor.course.figures.formulas import least_limit
from tcptutor.course.goals.telltales import telltale
from tcptutor.course.model import Step
from tcptutor.course.written_quantities import in_words, quantities
from tcptutor.spec import Experiment

NEAR = 0.03
"""Relative distance below which a rate counts as the rounded result of the page's formulas."""


def spoilers(step: Step) -> Iterator[tuple[str, str]]:
    """Yield key and reason of each text that reveals too much."""
    for asked in step.activities_of(Numeric):
        answer = quantities(asked.answer)
        for key, text in texts(asked):
            if key.startswith("hints") and answer and _prints(text, answer[0].value, answer[0].kind, 0.001):
                reason = f"contains the answer, {asked.answer}: leave the last step to the student"
                yield f"question {asked.id}: {key}", reason
    yield from _faults(step)
    experiment = _asked_about(step)
    if experiment is None:
        return
    result = least_limit(experiment)
    for key, text in texts_before(step):
        if _prints(text, result, "rate", NEAR):
            yield key, f"is shown before the run and contains its result, {units.rate(result)}"


def _faults(step: Step) -> Iterator[tuple[str, str]]:
    """Yield the texts that name the network's fault before the student has found it.

    Choices of a question must name it, and later hints lead to it; both are allowed.
    """
    if step.shell is None or not step.shell.fault:
        return
    shell = step.shell
    seen = [
        ("id", step.id),
        ("title", step.title),
        ("prose", step.prose),
        ("shell.hints[1]", "".join(shell.hints[:1])),
    ]
    seen += [(f"shell.goal {goal.id}: id", goal.id) for goal in shell.goals]
    seen += [(f"shell.goal {goal.id}: text", goal.text) for goal in shell.goals]
    seen += [("shell.command", command.run) for command in shell.commands]
    seen += [(f"question {asked.id}: prompt", asked.prompt) for asked in step.activities_of(Question)]
    for key, text in seen:
        if word := telltale(shell.fault, text):
            yield key, f"contains {word!r}, which reveals the fault the student should find"


def _asked_about(step: Step) -> Experiment | None:
    """Return the experiment to predict; on a sweep page, the experiment at the predicted value."""
    if step.sweep is None:
        return step.experiment.experiment if step.experiment else None
    asked = [predict.at for predict in step.activities_of(Predict) if predict.at in step.sweep.values]
    if not asked or step.sweep.measure != "throughput":
        return None
    return step.sweep.experiments[step.sweep.values.index(asked[0])]


def _prints(text: str, value: float, kind: str, near: float) -> bool:
    """Return True if `text` contains the quantity."""
    return any(
        written.kind == kind and abs(written.value - value) <= near * value
        for written in quantities(in_words(text))
    )
