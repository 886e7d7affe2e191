"""Where a page leads: onward along the path, to deeper pages, by links, and past the end of a module."""

from __future__ import annotations

from tcptutor.base.key_names import key_name
from tcptutor.course.paths import PRETEST
from tcptutor.study import pages
from tcptutor.study.pages import ModulePage
from tcptutor.ui.screens.lesson_overlays import LessonOverlays
from tcptutor.ui.screens.module_end import module_end
from tcptutor.ui.widgets.page.onward import OnwardLines
from tcptutor.ui.widgets.page.track import PageTrack


class LessonPath(LessonOverlays):
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

    async def action_follow(self) -> None:
        """Open the page that this page names; of several, ask which."""
        named = self._page.linked_pages()
        if not named:
            self.notify("This page names no other page.")
            return
        if len(named) == 1:
            self._open_named(next(iter(named)))
            return
        from tcptutor.ui.screens.workbench_lists import Choice, ChooseScreen  # noqa: PLC0415  # seldom needed

        listing = ChooseScreen("Go to a page named here", "")
        await self.app.push_screen(listing, self._open_named)
        listing.put([Choice(page, words) for page, words in named.items()])

    def _open_named(self, page: str | None) -> None:
        if page:
            # Not within this screen's own handler, which would wait for its own end.
            self.app.call_later(self.tutor.action_open_page, page)

    async def action_return_from_link(self) -> None:
        await self.tutor.return_from_link()

    def on_page_track_chosen(self, message: PageTrack.Chosen) -> None:
        self.app.call_later(self.tutor.open_step, self.module, self.module.steps[message.number])

    def on_onward_lines_chosen(self, message: OnwardLines.Chosen) -> None:
        # Not within this screen's own handler, which would wait for its own end.
        self.app.call_later(self.tutor.open_step, *message.place)
