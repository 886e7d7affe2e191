"""The student's own note at the end of a page."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class NoteText(Static):
    """Note of the page; hidden if empty."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False

    def show(self, note: str) -> None:
        """Show the note; an empty text hides it."""
        self.display = bool(note)
        self.update(Content.assemble(("Your note\n", "bold $primary"), note))
