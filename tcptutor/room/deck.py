"""Default lecture of a module or a course, with a slide per page.

A slide opens with the page's situation and its figures, then asks for a prediction, runs, explains the limit of the
run, asks the page's best question, and ends with the main idea. The page's prose becomes the speaker's notes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator

import msgspec

from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.activities.predict import Predict
from tcptutor.course.outline import Course, Module
from tcptutor.course.step import Step
from tcptutor.room.excerpts import plain
from tcptutor.room.page_notes import speakers_notes
from tcptutor.room.page_steps import default_steps, is_check, read_step
from tcptutor.room.slides import (
    Answer,
    AnyStep,
    Ask,
    CurveShown,
    FigureShown,
    FlowsShown,
    Lecture,
    NetworkShown,
    OwnText,
    RunShown,
    Sentence,
    Slide,
    VerdictShown,
)
from tcptutor.room.talk import LecturePlace

_MINUTES: dict[type[AnyStep], float] = {
    Sentence: 0.5,
    OwnText: 0.5,
    FigureShown: 0.5,
    Ask: 2.5,
    NetworkShown: 0.5,
    RunShown: 1.0,
    CurveShown: 0.5,
    VerdictShown: 1.0,
    Answer: 0.5,
    FlowsShown: 5.0,
}
"""Planned minutes by kind of step; a question includes the discussion and the second vote."""
_PREDICTION_MINUTES = 1.5
_BY_HAND_MINUTES = 3.0
"""Minutes for typing a page's commands while the room watches."""


def default_lecture(course: Course, target: str = "") -> tuple[Lecture, LecturePlace]:
    """Return the lecture of MODULE or MODULE/PAGE (ids or numbers, or 1.9), and the place where it begins.

    An empty target gives the lecture of the complete course. A page that default lectures leave out is in the lecture
    if the target names it.

    Raises:
        UsageError: The module or page does not exist.
    """
    if not target:
        slides = [slide for module in course.modules for slide in module_slides(course, module)]
        return lecture_of(course, course.title, slides), LecturePlace()
    name, _, wanted = target.strip("/").partition("/" if "/" in target else ".")
    module = find_module(course, name)
    if not wanted:
        return lecture_of(course, module.title, module_slides(course, module)), LecturePlace()
    page = find_step(module, wanted)
    slides = list(module_slides(course, module, [page.id]))
    at = next(number for number, slide in enumerate(slides) if slide.page == page.id)
    return lecture_of(course, module.title, slides), LecturePlace(slide=at)


def lecture_of(course: Course, title: str, slides: Iterable[Slide]) -> Lecture:
    """Return a lecture of these slides, with a digest that identifies it."""
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


def module_slides(course: Course, module: Module, added: Collection[str] = ()) -> Iterator[Slide]:
    """Yield a title slide, then the slides of the essential pages except checks, and of the added pages."""
    goals = "\n".join(f"- {each}" for each in module.objectives)
    yield Slide(
        headline=module.title,
        steps=(Sentence(text=f"{course.title}, module {module.number}"),),
        minutes=2.0,
        notes=f"At the end, students can:\n\n{goals}" if goals else "",
    )
    for step in module.steps:
        if step.id in added or (step.is_on("essential") and not is_check(step)):
            yield page_slide(module, step)


def page_slide(module: Module, step: Step) -> Slide:
    """Return the default slide of a page."""
    return slide_of(module, step, default_steps(step))


def slide_of(module: Module, step: Step, words: Iterable[str]) -> Slide:
    """Return the slide of a page with these steps, as `room.page_steps` names them.

    Raises:
        UsageError: The page has no such step.
    """
    given = [*words]
    steps = tuple(read_step(step, each) for each in given)
    by_hand = _BY_HAND_MINUTES if "commands" in given else 0.0
    return Slide(
        headline=plain(step.title),
        module=module.id,
        page=step.id,
        steps=steps,
        minutes=planned_minutes(steps) + by_hand,
        notes=speakers_notes(module.id, step),
    )


def step_of(course: Course, slide: Slide) -> Step | None:
    """Return the page of a slide; None for a custom slide or a page that the course no longer has."""
    for module in course.modules:
        if module.id == slide.module:
            return next((step for step in module.steps if step.id == slide.page), None)
    return None


def planned_minutes(steps: Iterable[AnyStep]) -> float:
    """Return the planned time of these steps in front of a room, min."""
    return round(sum(map(_minutes, steps)), 1)


def _minutes(step: AnyStep) -> float:
    if isinstance(step, Ask) and step.activity == Predict.table:
        return _PREDICTION_MINUTES
    return _MINUTES[type(step)]


def _texts(step: Step) -> Iterator[str]:
    for activity in step.activities:
        yield from (activity.id, str(getattr(activity, "prompt", "")), *activity.listed)
