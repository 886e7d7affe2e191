"""What a term means, over the page that is read: nobody has to leave it for a word."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from tcptutor.course.glossary import Term
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.widgets.bars import KeyBar
from tcptutor.ui.widgets.page.text import paragraphs


class TermScreen(ModalScreen[bool]):
    """Enter goes to the page that explains it, Esc back to where one was. True for the page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "dismiss(True)", "read on", id="term.read"),
        Binding("escape,space", "dismiss(False)", "close", id="term.close"),
    ]

    def __init__(self, term: Term, page: str) -> None:
        super().__init__()
        self._term, self._page = term, page

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm") as box:
            box.border_title = self._term.title
            yield Static(paragraphs(self._term.text), markup=False)
            answers = KeyBar()
            answers.show_keys(
                (
                    FooterKey((("Esc", "escape"),), "back"),
                    FooterKey((("Enter", "enter"),), f"read on: {self._page}"),
                )
            )
            yield answers
