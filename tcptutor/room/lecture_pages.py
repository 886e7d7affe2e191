"""The course's pages behind a lecture's slides."""

from __future__ import annotations

from functools import cached_property

from tcptutor.course.outline import Course, OpenedCourse
from tcptutor.course.step import Step
from tcptutor.room.slides import RunShown, Slide
from tcptutor.spec import Experiment


class LecturePages:
    """Pages of the chosen course, read when a slide first needs them. Its methods block."""

    @cached_property
    def _course(self) -> Course:
        return OpenedCourse().course

    def page(self, slide: Slide) -> Step | None:
        """Return the slide's page; None for an own slide, or a page that the course no longer has."""
        module = next((each for each in self._course.modules if each.id == slide.module), None)
        steps = module.steps if module is not None else ()
        return next((step for step in steps if step.id == slide.page), None)

    def experiment(self, slide: Slide) -> Experiment | None:
        """Return the experiment that the slide runs; None without one."""
        if not any(isinstance(step, RunShown) for step in slide.steps):
            return None
        page = self.page(slide)
        return page.experiment.experiment if page is not None and page.experiment is not None else None
