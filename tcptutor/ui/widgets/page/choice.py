"""Box of a multiple-choice question."""

from __future__ import annotations

from textual.content import Content

from tcptutor.course.activities.choice import ChoiceQuestion
from tcptutor.course.page_record import Given
from tcptutor.journal.drafts import Draft
from tcptutor.ui.widgets.page.list_box import ListBox
from tcptutor.ui.widgets.page.text import paragraphs

FREE, CHOSEN = "○", "●"
FREE_BOX, CHOSEN_BOX = "☐", "☑"


class ChoiceBox(ListBox[ChoiceQuestion]):
    """Choice of a single answer or of several."""

    def __init__(self, activity: ChoiceQuestion) -> None:
        super().__init__(activity)
        self._chosen: set[int] = set()

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt) + (
            "  (choose all that hold)" if self.activity.several else ""
        )

    def lines(self) -> list[tuple[str, str, bool]]:
        free, chosen = (FREE_BOX, CHOSEN_BOX) if self.activity.several else (FREE, CHOSEN)
        return [
            (chosen if index in self._chosen else free, choice.text, index in self._chosen)
            for index, choice in enumerate(self.activity.choices)
        ]

    def take(self) -> None:
        """Choose the entry at the cursor; with several answers, toggle it."""
        at_cursor = {self.cursor}
        self._chosen = self._chosen ^ at_cursor if self.activity.several else at_cursor

    def submit(self) -> None:
        if not self._chosen and not self.activity.several:
            self._chosen = {self.cursor}
        if self._chosen:
            self.draw()
            self.respond(tuple(sorted(self._chosen)))
        else:
            self.show_feedback(Content("Choose with Space or the numbers, then press Enter."))

    @property
    def draft(self) -> Draft | None:
        return sorted(self._chosen) if self._chosen and not self.is_locked else None

    def restore_draft(self, draft: Draft) -> None:
        if isinstance(draft, list) and not self.is_locked:
            self.show_answer(tuple(draft))

    def show_answer(self, given: Given) -> None:
        count = len(self.activity.choices)
        self._chosen = {index for index in given if isinstance(index, int) and 0 <= index < count}
        self.cursor = min(self._chosen, default=0)
        self.draw()
