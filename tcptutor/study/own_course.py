"""The course as the student sees it, updated if a different program enrolls the student."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptutor.base.errors import JournalError
from tcptutor.base.key_names import key_name
from tcptutor.course.known_courses import course_option
from tcptutor.course.outline import Course, Module
from tcptutor.journal import Journal
from tcptutor.journal.fold import Enrolment
from tcptutor.study.pages import ModulePage

if TYPE_CHECKING:
    from tcptutor.course.step import Step


def enrolled_meanwhile() -> str:
    """Return the reason why a run seeded without the current enrollment does not begin."""
    return f"you enrolled meanwhile: press {key_name('lesson.run')} to run it with your own seed"


class OwnCourse:
    """The course with the pages of an enrolled student, initially `enrolment`."""

    def __init__(self, shared: Course, journal: Journal, enrolment: Enrolment | None) -> None:
        self._shared, self._journal, self.enrolment = shared, journal, enrolment
        self.course = self._build()

    def _build(self) -> Course:
        return self._shared.for_student(self.enrolment.identity if self.enrolment else "")

    @property
    def is_outdated(self) -> bool:
        """True if a different program has enrolled the student since `update`."""
        now = enrolment_in(self._journal)
        return now is not None and now != self.enrolment

    def update(self) -> str:
        """Take over a new enrollment, and return a line about it; empty if the enrollment is unchanged."""
        before, now = self.enrolment, enrolment_in(self._journal)
        if now is None or now == before:
            return ""
        self.enrolment = now
        self.course = self._build()
        line = f"You are enrolled as {now.student} now: your pages have your own numbers."
        if before is None and self._journal.record.has_work:
            return f"{line} What you did before may not count: `tcptutor submit{course_option()}` shows it."
        return line

    def page(self, module: Module, step: Step) -> ModulePage:
        """Return a page that was opened before an enrollment as the student sees it now."""
        own = next((each for each in self.course.modules if each.id == module.id), module)
        if own is module:
            return ModulePage(module, step)
        found = (*own.steps, *([own.pretest] if own.pretest else []))
        return ModulePage(own, next((each for each in found if each.id == step.id), step))


def enrolment_in(journal: Journal) -> Enrolment | None:
    """Return the student's enrollment; None if not enrolled, or if the journal cannot be read."""
    try:
        return journal.record.enrolment
    except JournalError:
        return None
