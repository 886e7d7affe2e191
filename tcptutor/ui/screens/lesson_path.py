"""Where a page leads: onward along the student's path, to deeper pages, and past the end of a module."""

from __future__ import annotations

from tcptutor.base.key_names import key_name
from tcptutor.course.paths import PRETEST
from tcptutor.study import pages
from tcptutor.study.pages import ModulePage
from tcptutor.ui.screens.lesson_actions import LessonActions
from tcptutor.ui.screens.module_end import module_end
from tcptutor.ui.widgets.page.onward import OnwardLines
from tcptutor.ui.widgets.page.track import PageTrack


class LessonPath(LessonActions):
    """Screen of a page that leads to others."""

    _is_leaving_unfinished = False
    """True after Enter on an unfinished page: the next Enter leaves it."""

    async def action_onward(self) -> None:
        """Go to the next page of the path; from an unfinished page only after a second Enter."""
        target = pages.next_on_path(self.tutor.course, self.module, self.step, self.tutor.journal)
        if target is None and self._is_module_finished:
            self._end_module("home", None)
        elif target is None:
            todo = f", and not finished: {key_name('lesson.field')} goes to the next question"
            self.notify(f"This is the last page of your path{todo * self._is_unfinished}.")
        elif self._is_unfinished and not self._is_leaving_unfinished:
            self._is_leaving_unfinished = True
            field, onward = key_name("lesson.field"), key_name("lesson.onward")
            self.notify(
                f"This page is not finished: {field} goes to the next question, {onward} again leaves it."
            )
        elif target.module.id != self.module.id and self._is_module_finished:
            self._end_module(f"{target.module.number} {target.module.title}", target)
        else:
            if self._is_leaving_unfinished:
                self.app.clear_notifications()  # the question whether to leave would cover the next page
            await self.tutor.open_step(*target)

    @property
    def _is_module_finished(self) -> bool:
        """True if the student has completed the module's pages on the path."""
        journal = self.tutor.journal
        found = journal.progress(self.tutor.course)[self.module.id]
        of_path = pages.path_progress(self.module, found, journal.record.path)
        return of_path is not None and of_path.total > 0 and not of_path.minutes_left

    def _end_module(self, onward: str, target: ModulePage | None) -> None:
        """Show the end of the module; then continue, or return home from the last module."""

        def go_on(wanted: bool | None) -> None:
            if wanted and target is not None:
                # Not within this screen's own handler, which would wait for its own end.
                self.app.call_later(self.tutor.open_step, *target)
            elif wanted:
                self.app.call_later(self.run_action, "home")

        self.app.push_screen(module_end(self.tutor, self.module, onward), go_on)

    @property
    def _is_unfinished(self) -> bool:
        record = self._study.record
        return self.step.id != PRETEST and not all(each.is_done(record) for each in self.step.activities)

    async def action_deeper(self) -> None:
        if self._deeper:
            await self.tutor.open_step(self.module, self._deeper[0])

    def on_page_track_chosen(self, message: PageTrack.Chosen) -> None:
        self.app.call_later(self.tutor.open_step, self.module, self.module.steps[message.number])

    def on_onward_lines_chosen(self, message: OnwardLines.Chosen) -> None:
        # Not within this screen's own handler, which would wait for its own end.
        self.app.call_later(self.tutor.open_step, *message.place)
