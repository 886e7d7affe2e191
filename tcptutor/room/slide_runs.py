"""Runs of a lecture's slides: the experiment of each step, with its seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.course.activities.run import ChartName
from tcptutor.course.experiments import Catalogue
from tcptutor.course.outline import Course
from tcptutor.room.deck import step_of
from tcptutor.room.flows import plan_flows
from tcptutor.room.slides import SOLVED, CurveShown, FlowsShown, Lecture, NetworkShown, RunShown, Slide
from tcptutor.spec import Experiment


class SlideRun(NamedTuple):
    """Experiment that a step of a slide shows."""

    name: str
    """Full name, `module/experiment`."""
    experiment: Experiment
    model: str = ""
    """Model that the page is about, by its name in `analysis.ThroughputModel`."""
    chart: ChartName = "cwnd"
    """Quantity of the chart over time."""


def run_shown(slide: Slide, step: int) -> RunShown | None:
    """Return the run on screen with `step` steps revealed after the first; None before the first run."""
    shown = [each for each in slide.steps[: step + 1] if isinstance(each, RunShown)]
    return shown[-1] if shown else None


def slide_run(course: Course, slide: Slide, shown: RunShown | NetworkShown) -> SlideRun | None:
    """Return the experiment of a step of this slide; None if the course no longer has it."""
    page = step_of(course, slide)
    if page is None:
        return None
    if page.experiment is not None:
        run = page.experiment
        return SlideRun(run.name, run.experiment, run.model, run.chart)
    if page.sweep is not None and shown.setting in page.sweep.values:
        number = page.sweep.values.index(shown.setting)
        return SlideRun(page.sweep.name, page.sweep.experiments[number], page.sweep.model)
    if page.challenge is not None:
        values = page.challenge.solution if shown.setting == SOLVED else {}
        return SlideRun(page.challenge.name, page.challenge.experiment_with(values))
    return None


def flows_run(catalogue: Catalogue, shown: FlowsShown) -> Experiment:
    """Return the experiment of the students' flows without any picks.

    Raises:
        UsageError: The course has no such experiment, or its path cannot be shared.
    """
    base = catalogue.build(shown.experiment)
    return plan_flows(base, shown.algorithms, {}, base.seed).experiment


def lecture_runs(course: Course, lecture: Lecture) -> Iterator[tuple[int, Experiment | None]]:
    """Yield the index of the slide and the experiment of each run of a lecture.

    The experiment is None if the course no longer has it.
    """
    catalogue = Catalogue(course.root or places.lessons())
    for number, slide in enumerate(lecture.slides):
        for step in slide.steps:
            if isinstance(step, RunShown):
                run = slide_run(course, slide, step)
                yield number, run.experiment if run is not None else None
            elif isinstance(step, FlowsShown):
                try:
                    yield number, flows_run(catalogue, step)
                except UsageError:
                    yield number, None


def curve_runs(course: Course, slide: Slide) -> tuple[Experiment, ...]:
    """Return the experiments behind the curve of a slide; empty without a curve."""
    page = step_of(course, slide)
    if page is None or page.sweep is None or not any(isinstance(step, CurveShown) for step in slide.steps):
        return ()
    return tuple(experiment for _, experiment in page.sweep.cells())
