"""Screens about a page that open over it: its network, past answers, reference and note."""

from __future__ import annotations

from tcptutor.ui.screens.answers import AnswersScreen
from tcptutor.ui.screens.dialogs import NetworkScreen
from tcptutor.ui.screens.lesson_actions import LessonActions
from tcptutor.ui.screens.note import NoteScreen


class LessonOverlays(LessonActions):
    """Screen of a page that opens others over it."""

    def action_network(self) -> None:
        if self._body.network is None:
            self.notify("This page has no network.")
        else:
            self.app.push_screen(NetworkScreen(lambda: self._body.network))

    def action_answers(self) -> None:
        """Show all answers given on this page."""
        if answers := self._study.past_answers():
            self.app.push_screen(AnswersScreen(answers, self.step.title))
        else:
            self.notify("You haven't answered a question on this page yet.")

    def action_reference(self) -> None:
        """Show the finished page as a reference."""
        from tcptutor.notebook.content import NotebookSource, notebook_page  # noqa: PLC0415  # loads the analysis
        from tcptutor.ui.screens.reference import ReferenceScreen  # noqa: PLC0415

        source = NotebookSource.of(self.tutor.course, self.tutor.journal, (self.module.id, self.step.id))
        page = notebook_page(self.module, 1 + self.module.step_ids.index(self.step.id), source)
        self.app.push_screen(ReferenceScreen(self.step, page))

    def action_note(self) -> None:
        """Open the editor of the page's note."""

        def show(_closed: None) -> None:
            self._page.note.show(self._study.note)

        editor = NoteScreen(self.tutor.journal, self.module.id, self.step.id, self.step.title)
        self.app.push_screen(editor, show)
