"""In place of a screen that would not fit."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static

MINIMUM = (80, 24)


class TooSmall(ModalScreen[None]):
    """Says how large the terminal is and should be; the app takes it away when it is."""

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def on_mount(self) -> None:
        self._say()

    def on_resize(self) -> None:
        self._say()

    def _say(self) -> None:
        width, height = self.app.size
        self.query_one(Static).update(
            f"the terminal is {width} x {height}: make it at least {MINIMUM[0]} x {MINIMUM[1]}\n"
            "(a run goes on meanwhile; ctrl+q leaves)"
        )
