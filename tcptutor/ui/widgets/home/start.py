"""The bright button of the home screen: where Enter leads."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static


class StartButton(Static, can_focus=True):
    """Button that opens the page where the student left off."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "press", "continue", show=False, id="home.start"),
        Binding("down", "leave(1)", show=False, id="home.first-module"),
        Binding("up", "leave(-1)", show=False, id="home.last-module"),
    ]

    class Pressed(Message):
        """The button was pressed."""

    class Left(Message):
        """An arrow moves from the button to the modules: 1 to the first, -1 to the last."""

        def __init__(self, by: int) -> None:
            self.by = by
            super().__init__()

    def __init__(self) -> None:
        super().__init__(id="start", markup=False)
        self.text = ""
        """Words on the button."""

    def show(self, verb: str, place: str, time: str) -> None:
        """Show "Continue ▸ 1.9 More than the pipe holds, 6 min"."""
        words = Content.assemble(f"{verb} ▸ ", (place, "bold"), f", {time}" if time else "")
        self.text = words.plain
        self.update(words)

    def on_click(self) -> None:
        self.action_press()

    def action_press(self) -> None:
        self.post_message(self.Pressed())

    def action_leave(self, by: int) -> None:
        self.post_message(self.Left(by))
