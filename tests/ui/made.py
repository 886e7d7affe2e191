"""A course of one page, made of the activities that a test is about."""

from __future__ import annotations

from tcptutor.course import Course, Module, load
from tcptutor.course.activities.run import RunActivity
from tcptutor.course.activity import Activity
from tcptutor.course.step import Step

from .record import COURSE

MODULE, STEP = "m", "page"


def one_page(*activities: Activity, after: str = "") -> Course:
    """A module `m` with one step, `page`."""
    step = Step(id=STEP, title="A page", prose="Read this.", activities=activities, after_run=after)
    module = Module(id=MODULE, number=1, title="M", objectives=(), sources=(), steps=(step,))
    return Course(title="One page", modules=(module,))


def lossy() -> RunActivity:
    """The run of one lossy flow, which the fake lab knows."""
    return _runs()[0]


def eight() -> RunActivity:
    """The run of eight flows, which the fake lab knows."""
    return _runs()[1]


def _runs() -> list[RunActivity]:
    steps = (step for module in load(COURSE).modules for step in module.steps)
    return [step.experiment for step in steps if step.experiment]
