"""List of a lecture's slides, for navigation by number or with the arrow keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option


class SlideList(ModalScreen[int]):
    """Result: the index of the chosen slide; None if none was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,g", "dismiss", "back", id="slides.close"),
    ]

    def __init__(self, headlines: Sequence[str], current: int) -> None:
        super().__init__()
        self._headlines, self._current, self._typed = headlines, current, ""

    def compose(self) -> ComposeResult:
        digits = len(str(len(self._headlines)))
        slides = OptionList(
            *(
                Option(Content(f"{number:>{digits}}  {headline}"))
                for number, headline in enumerate(self._headlines, start=1)
            ),
            id="slides",
        )
        slides.border_title = "Go to a slide"
        slides.border_subtitle = "number, Enter"
        yield slides

    def on_mount(self) -> None:
        slides = self.query_one(OptionList)
        slides.focus()
        slides.highlighted = self._current

    def on_key(self, event: events.Key) -> None:
        if event.key.isdecimal():
            longer = int(self._typed + event.key)
            self._typed = str(longer if longer <= len(self._headlines) else int(event.key))
            if 1 <= int(self._typed) <= len(self._headlines):
                self.query_one(OptionList).highlighted = int(self._typed) - 1
            event.stop()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)
