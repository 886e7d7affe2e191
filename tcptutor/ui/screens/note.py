"""The student's own note on a page: a field that is saved while it is written."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static, TextArea

from tcptutor.base.errors import TutorError
from tcptutor.base.key_names import key_name
from tcptutor.journal import Journal
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.widgets.bars import KeyBar

_PAUSE_S = 2.0
"""Seconds without a key after which the note is saved."""


class NoteScreen(ModalScreen[None]):
    """Editor of a page's note. It is saved in pauses and at the end; dismissed once it is closed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+s", "close", "save and close", priority=True, id="note.close"),
    ]

    def __init__(self, journal: Journal, module: str, step: str, title: str) -> None:
        super().__init__()
        self._journal, self._page, self._title = journal, (module, step), title
        self._saved = journal.page(module, step).note
        self._field = TextArea(self._saved, id="note-text", compact=True)
        self._state = Static(
            f"Markdown if you like. It goes into your notebook ({key_name('app.notebook')} writes it).",
            id="note-state",
        )
        self._pause: Timer | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="note") as box:
            box.border_title = f"Your note on {self._title}"
            yield self._field
            yield self._state
            yield KeyBar(FooterKey((("Esc", "escape"),), "save and close", is_next=True))

    def on_mount(self) -> None:
        self._field.move_cursor(self._field.document.end)
        self._field.focus()

    def on_unmount(self) -> None:
        self._save()

    @on(TextArea.Changed)
    def _changed(self) -> None:
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(_PAUSE_S, self._save)

    def _save(self) -> bool:
        """Save the note if it has changed, and return whether it is in the journal."""
        text = self._field.text.rstrip()
        if text == self._saved:
            return True
        try:
            self._journal.note(*self._page, text)
        except TutorError as error:
            self._state.update(str(error))
            return False
        self._saved = text
        return True

    def action_close(self) -> None:
        if self._save():
            self.dismiss()
