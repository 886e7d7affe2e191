"""The box of an activity whose response is typed into a field."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Static

from tcptutor.course.page_record import Given
from tcptutor.journal.drafts import Draft
from tcptutor.ui.widgets.page.box import A, ActivityBox
from tcptutor.ui.widgets.page.entry import Entry


class EntryBox(ActivityBox[A]):
    """One activity with a field, what stands before it, and the unit behind it."""

    LABEL: ClassVar[str] = "Your answer "

    def placeholder(self) -> str:
        """What stands in the empty field: never a value that might be the page's."""
        return "a number"

    def unit(self) -> str:
        """The unit of a plain number, which stands behind the field; empty for none."""
        return ""

    def compose_entry(self) -> ComposeResult:
        with Horizontal(classes="entry"):
            yield Static(self.LABEL, classes="label")
            yield Entry(self.placeholder(), self._enter_pressed, self.leave)
            if self.unit():
                yield Static(f" {self.unit()}", classes="unit", markup=False)

    def open_again(self, given: Given) -> None:
        super().open_again(given)
        if isinstance(given, str):
            self.restore_draft(given)

    def to_entry(self) -> None:
        if not self.final:
            self.screen.set_focus(self.query_one(Entry))

    def begin(self, text: str) -> bool:
        """A number, or its first digit."""
        if self.final:
            return False
        entry = self.query_one(Entry)
        self.screen.set_focus(entry)
        entry.insert_text_at_cursor(text)
        return True

    def answer(self) -> None:
        self.query_one(Entry).enter()

    def show_given(self, given: Given) -> None:  # noqa: ARG002  # it stands in what is told
        self.query_one(".entry").display = not self.final

    @property
    def draft(self) -> Draft | None:
        typed = self.query_one(Entry).value.strip()
        return typed if typed and not self.final else None

    def restore_draft(self, draft: Draft) -> None:
        if isinstance(draft, str) and not self.final:
            entry = self.query_one(Entry)
            entry.value, entry.cursor_position = draft, len(draft)

    def on_input_changed(self) -> None:
        self.post_message(self.DraftChanged())

    def clear(self) -> None:
        self.query_one(Entry).clear()
        self.query_one(".entry").display = True

    def leave(self) -> None:
        """Esc was pressed in the field."""
        around = (each for each in self.ancestors if isinstance(each, Widget) and each.focusable)
        self.screen.set_focus(next(around, None), scroll_visible=False)

    def _enter_pressed(self) -> None:
        if not self.final:
            self.submit(self.query_one(Entry).value.strip())

    def submit(self, text: str) -> None:
        """Enter was pressed in the field."""
        if text:
            self.respond(text)
