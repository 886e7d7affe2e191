"""Checks of observation questions: on the recorded run, exactly one choice holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tcptutor.authoring.claim_problems import condition_problems
from tcptutor.backends import replay
from tcptutor.base.errors import TutorError
from tcptutor.course.activities.observe import Observe
from tcptutor.course.activities.run import SweepActivity
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activity import MarkContext
from tcptutor.course.claim import KNOWN_SUBJECTS, RunCondition
from tcptutor.course.step import Step
from tcptutor.run import Run, load
from tcptutor.spec import Experiment


def observation_problems(step: Step, module: str) -> Iterator[tuple[str, str]]:
    """Yield key and reason of every mistake in the conditions of a page's observations."""
    for question in step.activities_of(RunQuestion):
        wrong = False
        observed = question.choices if isinstance(question, Observe) else ()
        for number, choice in enumerate(observed, start=1):
            for condition in choice.when:
                for key, reason in (*condition_problems(condition), *_of_page(condition, step)):
                    wrong = True
                    yield f"question {question.id}: choice[{number}].when.{key}", reason
        context = None if wrong else recorded_context(step, module)
        if context is None:
            continue
        holding, evidence = question.outcome(context)
        if len(holding) != 1:
            numbers = " and ".join(str(index + 1) for index in holding) or "none"
            yield (
                f"question {question.id}: choice",
                f"{numbers} of the choices hold on the recorded run, exactly one must. {evidence}",
            )


def _of_page(condition: RunCondition, step: Step) -> Iterator[tuple[str, str]]:
    """Yield the questions that the page's run or sweep cannot decide."""
    if condition.quantity in KNOWN_SUBJECTS:
        yield "quantity", f"{condition.quantity} is known before the run: ask for a measured quantity"
    other = condition.ratio_to
    if other is not None and other.experiment:
        yield "ratio_to.experiment", "has no effect: an observation is about the page's own run"
    sides = [("set", condition.set), *([("ratio_to.set", other.set)] if other else [])]
    for key, settings in sides:
        if step.sweep is None and settings:
            yield key, "has no effect: an observation is about the page's own run"
        elif step.sweep is not None and (
            list(settings) != [step.sweep.axis] or str(settings[step.sweep.axis]) not in step.sweep.values
        ):
            yield key, f"must select a point of the sweep: {step.sweep.axis} and one of its values"


def recorded_context(step: Step, module: str) -> MarkContext | None:
    """Return the recorded run, or the recorded sweep, of a page; None without a recording."""
    folder = replay.recordings_folder() / module
    if step.sweep is not None:
        return _recorded_sweep(step.sweep, _recordings(folder, f"{step.id}/*.tcprun"))
    if step.experiment is None:
        return None
    run = _matching(step.experiment.experiment, _recordings(folder, f"{step.id}*.tcprun"))
    run = run or _matching(step.experiment.experiment, _recordings(folder, "*.tcprun"))
    return MarkContext(run=run) if run else None


def _recorded_sweep(sweep: SweepActivity, recorded: Iterator[Run]) -> MarkContext | None:
    from tcptutor.course.page_sweep import curve_of  # noqa: PLC0415  # imports the analysis, which lint rarely needs

    curve = curve_of(sweep, recorded)
    return MarkContext(curve=curve) if curve and len(curve.values) == len(sweep.values) else None


def _recordings(folder: Path, pattern: str) -> Iterator[Run]:
    for path in sorted(folder.glob(pattern)):
        with suppress(TutorError):
            yield load(path)


def _matching(experiment: Experiment, runs: Iterator[Run]) -> Run | None:
    return next((run for run in runs if replay.same_experiment(run.experiment, experiment)), None)
