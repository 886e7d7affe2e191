"""App with a student's journal and course: opens pages, follows enrollments, and retries failed saves."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from textual.screen import ModalScreen

from tcptutor.course.outline import Course, Module
from tcptutor.journal import Journal
from tcptutor.journal.fold import Enrolment
from tcptutor.journal.saved import Drafts, Settings
from tcptutor.study import pages
from tcptutor.study.own_course import OwnCourse
from tcptutor.study.pages import ModulePage
from tcptutor.ui.choosing_app import ChoosingApp
from tcptutor.ui.workers import start_worker

if TYPE_CHECKING:
    from tcptutor.course.step import Step
    from tcptutor.ui.screens.lesson import LessonScreen


class StudyApp(ChoosingApp):
    """App in which a student reads and works on the pages of a course."""

    def __init__(self, course: Course, journal: Journal, enrolment: Enrolment | None) -> None:
        folder = journal.run_folder
        super().__init__(Settings(folder.parent if folder else None))
        self.journal, self._own_course = journal, OwnCourse(course, journal, enrolment)
        self.drafts = Drafts(folder.parent if folder else None)
        """Unsubmitted input on pages."""
        self._has_unsaved, self._was_persistent = bool(journal.unsaved), journal.is_persistent
        self._link_sources: list[ModulePage] = []
        """Pages with followed links, to return to; the latest last."""

    @property
    def course(self) -> Course:
        """The course with the pages that this student sees."""
        return self._own_course.course

    @property
    def has_marks(self) -> bool:
        """True if the student is enrolled, or the course has a deadline."""
        return self._own_course.enrolment is not None or bool(self.course.marks.deadline)

    @property
    def is_saved(self) -> bool:
        """True if all of the student's work is on disk."""
        return self.journal.is_persistent and not self.journal.unsaved

    def _save_again(self) -> None:
        """Retry failed writes. A later write of the student's may already have saved them."""
        if self.journal.unsaved:
            self._has_unsaved = True
            self.journal.save_waiting()
        if self._has_unsaved:
            self._has_unsaved = bool(self.journal.unsaved)
            if not self._has_unsaved:
                self.notify("Everything is saved again.", timeout=10)
            if self.journal.is_persistent and not self._was_persistent and self.journal.notice:
                self.notify(self.journal.notice, severity="warning", timeout=30, markup=False)
            self._was_persistent = self.journal.is_persistent
            for screen in self.mounted_screens():
                screen.show_saved()

    # Pages

    def open_module(self, module: str) -> None:
        """Open the page where the student left the module, or its first unfinished page."""
        self._link_sources.clear()
        found = next(each for each in self.course.modules if each.id == module)
        step = pages.resume(self.journal, found)
        if step is None:
            self.notify(
                "No page of this module can be read: `tcptutor lint` shows the errors.", severity="error"
            )
        else:
            self.open_step(found, step)

    def make_page(self, module: Module, step: Step, notice: str) -> LessonScreen:
        """Return the screen of a page; `notice` is a line to show once the page is complete."""
        raise NotImplementedError

    def open_step(self, module: Module, step: Step) -> Awaitable[object]:
        """Show a page, replacing the current page."""
        from tcptutor.ui.screens.lesson import LessonScreen  # noqa: PLC0415  # Markdown is slow to import

        self._keep_drafts()
        notice = self._take_enrolment()
        lesson = self.make_page(*self._own_course.page(module, step), notice)
        if self._lesson_screens:
            # Close screens opened from the old page too. A page must be open only once, or its runs would
            # count twice.
            while not isinstance(self.screen, LessonScreen):
                self.pop_screen()
            return self.switch_screen(lesson)
        return self.push_screen(lesson)

    def open_activity(self, module: Module, step: Step, activity: str) -> None:
        """Show a page at the box of an activity."""
        from tcptutor.ui.screens.lesson import LessonScreen  # noqa: PLC0415  # Markdown is slow to import

        async def show() -> None:
            await self.open_step(module, step)
            if isinstance(self.screen, LessonScreen):
                await self.screen.show_activity(activity)

        start_worker(self, show)

    def action_open_page(self, page: str) -> None:
        """Follow a link to the page MODULE/PAGE."""
        target = pages.find_page(self.course, page)
        if target is None:
            self.notify(f"There is no page {page} in this course.", severity="warning", markup=False)
            return
        while isinstance(self.screen, ModalScreen):
            self.pop_screen()
        self._link_sources += [here] if (here := self._open_page) else []
        self.open_step(*target)

    @property
    def can_return(self) -> bool:
        """True if a link led to the current page, and the page with the link can be opened again."""
        return bool(self._link_sources)

    def return_from_link(self) -> Awaitable[object]:
        """Open the page with the link that was followed last."""
        return self.open_step(*self._link_sources.pop())

    def prepare_exit(self) -> None:
        self._keep_drafts()

    def _keep_drafts(self) -> None:
        for screen in self.mounted_screens():
            screen.keep_drafts()

    @property
    def _open_page(self) -> ModulePage | None:
        """The page on the screen, or below it."""
        return next((ModulePage(each.module, each.step) for each in self._lesson_screens), None)

    @property
    def _lesson_screens(self) -> Sequence[LessonScreen]:
        """Open pages, the topmost first."""
        from tcptutor.ui.screens.lesson import LessonScreen  # noqa: PLC0415  # Markdown is slow to import

        return [each for each in reversed(self.screen_stack) if isinstance(each, LessonScreen)]

    @property
    def _module_here(self) -> Module:
        """The student's module, or the first."""
        position = self.journal.position()
        visited = (each for each in self.course.modules if position and each.id == position[0])
        return next(visited, self.course.modules[0])

    # Enrollment

    def follow_enrolment(self) -> bool:
        """Start the open page again if the student has enrolled since it was opened; return True if so."""
        here = self._open_page
        is_covered = here is not None and self.screen not in self._lesson_screens
        if is_covered or not self._own_course.is_outdated:
            return False  # the next key on a covered page comes here again
        if here is not None:
            self.open_step(*here)
            return True
        self.notify(self._take_enrolment(), timeout=15)
        for screen in self.mounted_screens():
            screen.enrolment_changed()
        return False

    def _take_enrolment(self) -> str:
        """Adopt an enrollment made by a different program, and return a line about it; empty if unchanged."""
        return self._own_course.update()
