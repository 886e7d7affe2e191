"""The default lecture of a module or a course: each page becomes a slide, whose steps follow how a page teaches.

A slide opens with the page's situation and its figures, then asks for a prediction, runs, explains what limited the
run, asks the page's best question, and ends with the main idea. The page's prose becomes the speaker's notes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import msgspec

from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.activities.choice import SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activity import Activity, Question
from tcptutor.course.figure_places import placed
from tcptutor.course.outline import Course, Module
from tcptutor.course.step import Step
from tcptutor.room.excerpts import first_block, first_sentences, plain
from tcptutor.room.page_notes import answer_notes, prediction_notes, run_notes, speakers_notes
from tcptutor.room.slides import (
    SOLVED,
    Answer,
    AnyStep,
    Ask,
    FigureShown,
    Lecture,
    Line,
    OwnText,
    RunShown,
    Slide,
    VerdictShown,
)
from tcptutor.room.talk import Place

_CHECK_QUESTIONS = 5
"""Questions from which on a page without a run is a check, which students do alone."""
_MINUTES: dict[type[AnyStep], float] = {
    Line: 0.5,
    OwnText: 0.5,
    FigureShown: 0.5,
    Ask: 2.5,
    RunShown: 1.0,
    VerdictShown: 1.0,
    Answer: 0.5,
}
"""Planned time by kind of step; a question includes the discussion and the second vote."""
_PREDICTION_MINUTES = 1.5


def default_lecture(course: Course, target: str = "") -> tuple[Lecture, Place]:
    """Return the lecture of MODULE or MODULE/PAGE (ids or numbers, or 1.9), and the place at which it begins.

    An empty target gives the lecture of the whole course. A page that default lectures leave out is in the lecture
    if the target names it.

    Raises:
        UsageError: The module or page does not exist.
    """
    if not target:
        slides = [slide for module in course.modules for slide in module_slides(course, module)]
        return lecture_of(course, course.title, slides), Place()
    name, _, wanted = target.strip("/").partition("/" if "/" in target else ".")
    module = find_module(course, name)
    if not wanted:
        return lecture_of(course, module.title, module_slides(course, module)), Place()
    page = find_step(module, wanted)
    slides = list(module_slides(course, module, page.id))
    at = next(number for number, slide in enumerate(slides) if slide.page == page.id)
    return lecture_of(course, module.title, slides), Place(slide=at)


def lecture_of(course: Course, title: str, slides: Iterable[Slide]) -> Lecture:
    """Return a lecture of these slides, with the digest that recognizes it."""
    all_slides = tuple(slides)
    content = hashlib.sha256(msgspec.json.encode([title, all_slides]))
    for slide in all_slides:
        if step := step_of(course, slide):
            content.update(msgspec.json.encode(step.experiments, order="deterministic"))
            content.update("\0".join(_texts(step)).encode())
    return Lecture(title=title, slides=all_slides, course=course.id, digest=content.hexdigest())


def find_module(course: Course, name: str) -> Module:
    """Return the module with this id or number. Raises UsageError."""
    for module in course.modules:
        if name in (module.id, str(module.number)):
            return module
    raise UsageError(unknown("module", name, [module.id for module in course.modules]))


def find_step(module: Module, name: str) -> Step:
    """Return the page with this id or number in `module`. Raises UsageError."""
    for number, step in enumerate(module.steps, 1):
        if name in (step.id, str(number)):
            return step
    otherwise = f"`tcptutor list {module.id}` names its {len(module.steps)} pages"
    raise UsageError(unknown("page", name, [step.id for step in module.steps], otherwise))


def module_slides(course: Course, module: Module, page: str = "") -> Iterator[Slide]:
    """Yield a title slide and the slides of the essential pages, without checks; the page with this id is always in."""
    title = Line(text=f"{course.title}, module {module.number}")
    goals = "\n".join(f"- {each}" for each in module.objectives)
    steps = (title, OwnText(markdown=goals)) if goals else (title,)
    yield Slide(headline=module.title, steps=steps, minutes=2.0)
    for step in module.steps:
        if step.id == page or (step.is_on("essential") and not _is_check(step)):
            yield page_slide(module, step)


def page_slide(module: Module, step: Step) -> Slide:
    """Return the default slide of a page."""
    steps = tuple(_steps(step))
    return Slide(
        headline=plain(step.title),
        module=module.id,
        page=step.id,
        steps=steps,
        minutes=round(sum(map(_minutes, steps)), 1),
        notes=speakers_notes(step),
    )


def step_of(course: Course, slide: Slide) -> Step | None:
    """Return the page of a slide; None for an own slide, or if the course no longer has the page."""
    for module in course.modules:
        if module.id == slide.module:
            return next((step for step in module.steps if step.id == slide.page), None)
    return None


def votable(step: Step) -> Iterator[Activity]:
    """Yield the activities of a page that a room can vote on: predictions, single choices, and numbers to calculate."""
    for activity in step.activities:
        if isinstance(activity, Predict | ShapePrediction | SingleChoice | Numeric):
            yield activity


def questions(step: Step) -> list[Question]:
    """Return the questions of a page that a room can vote on, the most fruitful first.

    That is the single choice with most wrong choices that are explained at length, since these are misconceptions
    that students really have; on a page with a run it asks about the run. Questions on earlier material come last.
    """

    def merit(question: Question) -> tuple[bool, bool, bool, int]:
        choices = question.choices if isinstance(question, SingleChoice) else ()
        wrong_at_length = sum(bool(choice.explanation) for choice in choices)
        return (not question.recall, bool(choices), bool(question.about_run), wrong_at_length)

    found = [each for each in votable(step) if isinstance(each, Question)]
    return sorted(found, key=merit, reverse=True)


def _texts(step: Step) -> Iterator[str]:
    for activity in step.activities:
        yield from (activity.id, str(getattr(activity, "prompt", "")), *activity.listed)


def _is_check(step: Step) -> bool:
    own = [question for question in step.activities_of(Question) if not question.recall]
    return not step.experiments and len(own) >= _CHECK_QUESTIONS


def _steps(step: Step) -> Iterator[AnyStep]:
    if _is_check(step):
        for question in questions(step):
            yield from _asked(question)
        return
    if opening := first_sentences(step.prose):
        yield Line(text=opening)
    elif block := first_block(step.prose):
        yield OwnText(markdown=block)
    for id_ in placed(step.prose):
        yield FigureShown(figure=id_)
    prediction = next((each for each in votable(step) if isinstance(each, Predict | ShapePrediction)), None)
    if prediction is not None:
        yield Ask(activity=prediction.id, notes=prediction_notes(prediction))
    yield from _runs(step)
    if isinstance(prediction, ShapePrediction):
        yield Answer(activity=prediction.id, notes=answer_notes(prediction))
    for id_ in placed(step.after_run):
        yield FigureShown(figure=id_)
    for question in questions(step)[:1]:
        yield from _asked(question)
    if step.idea:
        yield Line(text=plain(step.idea))


def _asked(question: Question) -> Iterator[AnyStep]:
    yield Ask(activity=question.id, notes=answer_notes(question))
    yield Answer(activity=question.id)


def _runs(step: Step) -> Iterator[AnyStep]:
    """Yield the runs of a page: of a sweep the predicted point or both ends, of a challenge before and after."""
    settings: tuple[str, ...] = ()
    if step.experiment is not None:
        settings = ("",)
    elif step.sweep is not None:
        predicted = [each.at for each in step.activities_of(Predict) if each.at in step.sweep.values]
        settings = (predicted[0],) if predicted else (step.sweep.values[0], step.sweep.values[-1])
    elif step.challenge is not None:
        yield RunShown()
        yield VerdictShown()
        yield Line(text=plain(step.challenge.prompt), notes=answer_notes(step.challenge))
        settings = (SOLVED,)
    for setting in settings:
        yield RunShown(setting=setting)
    if settings:
        yield VerdictShown(notes=run_notes(step))


def _minutes(step: AnyStep) -> float:
    if isinstance(step, Ask) and step.activity == Predict.table:
        return _PREDICTION_MINUTES
    return _MINUTES[type(step)]
