"""A list over the screen, for choosing an entry or ticking several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.widgets.bars import KeyBar

TICKED, OPEN = "[x] ", "[ ] "


class Choice(NamedTuple):
    """An entry of the list."""

    id: str
    text: str
    ticked: bool | None = None
    """None if choosing the entry closes the list."""
    removable: bool = False
    """True if x removes the entry for good."""


class ChooseScreen(ModalScreen[str]):
    """A list of choices, dismissed with the id of the chosen entry, or "" if closed.

    `tick` and `take_out` are called with an id and return an error message, or an empty string on success.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "tick", show=False, id="choose.tick"),
        Binding("x", "take_out", "take out", show=False, id="choose.out"),
        Binding("escape", "dismiss('')", "close", id="choose.close"),
    ]

    def __init__(
        self,
        title: str,
        empty: str,
        *,
        tick: Callable[[str], str] | None = None,
        take_out: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__()
        self._title, self._empty = title, empty
        self._tick, self._take_out = tick, take_out
        self._choices: list[Choice] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="choose") as box:
            box.border_title = self._title
            yield OptionList(compact=True, markup=False)
            yield Static(self._empty, id="choose-said", markup=False)
            keys = KeyBar()
            enter = "ticks" if self._tick else "takes it"
            entries = [
                FooterKey((("↑", "up"), ("↓", "down")), "move"),
                FooterKey((("Enter", "enter"),), enter),
            ]
            if self._take_out:
                entries.append(FooterKey((("x", "x"),), "deletes a saved one"))
            keys.show_keys((*entries, FooterKey((("Esc", "escape"),), "closes")))
            yield keys

    def put(self, choices: Sequence[Choice]) -> None:
        """Append choices that are not in the list yet."""
        known = {each.id for each in self._choices}
        # Two files may hold the same run.
        choices = [each for each in {each.id: each for each in choices}.values() if each.id not in known]
        if not self.is_attached or not choices:
            return
        self._choices += choices
        listing = self.query_one(OptionList)
        listing.add_options([Option(_prompt(each), id=each.id) for each in choices])
        self._say("")
        if listing.highlighted is None:
            listing.highlighted = 0

    def say(self, text: str) -> None:
        """Show a line below the list."""
        if self.is_attached:
            self._say(text)

    def _say(self, text: str) -> None:
        self.query_one("#choose-said", Static).update(Content(text))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        choice = self._choices[event.option_index]
        if choice.ticked is None:
            self.dismiss(choice.id)
        else:
            self._toggle(event.option_index)

    def action_tick(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and self._choices[at].ticked is not None:
            self._toggle(at)

    def untick(self, id: str, why: str) -> None:
        """Untick a choice that could not be loaded."""
        at = next((at for at, each in enumerate(self._choices) if each.id == id), None)
        if at is not None and self.is_attached:
            self._mark(at, False)
            self._say(why)

    def _toggle(self, at: int) -> None:
        choice = self._choices[at]
        assert self._tick is not None
        refused = self._tick(choice.id)
        self._say(refused)
        if not refused:
            self._mark(at, not choice.ticked)

    def _mark(self, at: int, ticked: bool) -> None:
        self._choices[at] = self._choices[at]._replace(ticked=ticked)
        self.query_one(OptionList).replace_option_prompt_at_index(at, _prompt(self._choices[at]))

    def action_take_out(self) -> None:
        listing = self.query_one(OptionList)
        at = listing.highlighted
        if at is not None and self._take_out is not None and self._choices[at].removable:
            refused = self._take_out(self._choices[at].id)
            self._say(refused)
            if not refused:
                del self._choices[at]
                listing.remove_option_at_index(at)


def _prompt(choice: Choice) -> Content:
    mark = "" if choice.ticked is None else TICKED if choice.ticked else OPEN
    return Content(mark + choice.text)
