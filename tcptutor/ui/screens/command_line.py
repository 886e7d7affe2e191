"""The line for a shell that does what the screen does, to be read or copied."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.widgets.bars import KeyBar


class CommandLineScreen(ModalScreen[None]):
    """Enter sends it to the terminal's clipboard by OSC 52, which terminals may be set to refuse."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,c", "copy", "copy", id="command.copy"),
        Binding("escape,space,a", "dismiss", "close", id="command.close"),
    ]

    def __init__(self, line: str, remark: str = "") -> None:
        super().__init__()
        self._line, self._remark = line, remark

    def compose(self) -> ComposeResult:
        with Vertical(id="command") as box:
            box.border_title = "As a command"
            with VerticalScroll():
                yield Static(Content(self._line), id="command-line", markup=False)
            yield Static(self._remark, id="command-said", markup=False)
            answers = KeyBar()
            answers.show_keys(
                (FooterKey((("Enter", "enter"),), "copies it"), FooterKey((("Esc", "escape"),), "back"))
            )
            yield answers

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._line)
        self.query_one("#command-said", Static).update(
            "Sent to your terminal's clipboard. Where it takes nothing from programs, mark the line with the mouse."
        )
