"""The course's pages behind a lecture's slides."""

from __future__ import annotations

from functools import cached_property

from tcptutor.course.outline import Course, OpenedCourse
from tcptutor.room.slide_runs import slide_run
from tcptutor.room.slides import Lecture, RunShown
from tcptutor.room.talk import Place
from tcptutor.spec import Experiment


class LecturePages:
    """Pages of the chosen course, read when a slide first needs them. Its methods block."""

    def __init__(self, lecture: Lecture) -> None:
        self._lecture = lecture

    @cached_property
    def _course(self) -> Course:
        return OpenedCourse().course

    def experiment(self, shown: Place) -> Experiment | None:
        """Return the experiment of a step; None if it has none, or the course has it no longer."""
        slide = self._lecture.slides[shown.slide]
        step = slide.steps[shown.step]
        run = slide_run(self._course, slide, step) if isinstance(step, RunShown) else None
        return run.experiment if run is not None else None
