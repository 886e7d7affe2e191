"""Base of screens with a list that typed words filter: the field, the chosen entry, and their keys."""

from __future__ import annotations

from typing import Generic, TypeVar

from textual import on
from textual.events import Key, Paste
from textual.widgets import Input

from tcptutor.study.matching import moved
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.page.entries import Entry

T = TypeVar("T")


class FilteredListScreen(TutorScreen, Generic[T]):
    """Screen with a filtered list. Subclasses list the entries that match `_words`, and open the chosen entry."""

    AUTO_FOCUS = ""

    def __init__(self, placeholder: str, verb: str) -> None:
        """Create the screen.

        Args:
            placeholder: Text of the empty field.
            verb: Effect of Enter, for the footer.
        """
        super().__init__()
        self._verb = verb
        self._words = Entry(placeholder, self._open_typed, self.action_back)
        self._words.display = False
        self._shown: list[T] = []
        """Entries that pass the filters."""
        self._at = 0
        """Index of the chosen entry among the shown."""

    def _filter(self, wanted: T | None) -> None:
        """List the entries that match the typed words, with the cursor on `wanted` if it is listed."""
        raise NotImplementedError

    def _choose(self) -> None:
        """Mark the entry at `_at` as chosen."""
        raise NotImplementedError

    def action_open_chosen(self) -> None:
        raise NotImplementedError

    def _close(self) -> None:
        raise NotImplementedError

    @property
    def _chosen(self) -> T | None:
        return self._shown[self._at] if self._at < len(self._shown) else None

    @property
    def _is_typing(self) -> bool:
        return self.focused is self._words

    @property
    def _typing_keys(self) -> tuple[FooterKey, ...]:
        return (
            FooterKey((("Enter", "enter"),), self._verb, is_next=True),
            FooterKey((("↑", "up"), ("↓", "down")), "choose"),
            FooterKey((("Esc", "escape"),), "clear"),
        )

    async def take(self, event: Key | Paste) -> bool:
        return await self._words.take(event) if self._is_typing else False

    def _open_typed(self) -> None:
        self._filter(self._chosen)
        self.action_open_chosen()

    def action_move(self, by: int) -> None:
        if self._shown:
            self._at = moved(self._at, by, len(self._shown))
            self._choose()

    def action_type(self) -> None:
        self._words.display = True
        self.set_focus(self._words)
        self.schedule_keys()

    def action_back(self) -> None:
        if self._is_typing:
            self._filter(self._chosen)  # with all typed words
            self._words.value, self._words.display = "", False
            self.set_focus(None)
            self._filter(self._chosen)
        else:
            self._close()

    @on(Input.Changed)
    def _typed(self) -> None:
        self._filter(self._chosen)
