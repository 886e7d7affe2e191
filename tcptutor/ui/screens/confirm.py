"""A question before something that cannot be taken back."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.widgets.bars import KeyBar


class ConfirmScreen(ModalScreen[bool]):
    """y is yes; Esc, n and Enter are no: Enter is pressed without reading."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "yes", id="confirm.yes"),
        Binding("escape,n,enter", "dismiss(False)", "no", id="confirm.no"),
    ]

    def __init__(self, question: str, reason: str, yes: str) -> None:
        super().__init__()
        self._question, self._reason, self._yes = question, reason, yes

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm") as box:
            box.border_title = self._question
            yield Static(self._reason, markup=False)
            answers = KeyBar()
            answers.show_keys(
                (
                    FooterKey((("y", "y"),), self._yes),
                    FooterKey((("Esc", "escape"), ("Enter", "enter")), "go back"),
                )
            )
            yield answers
