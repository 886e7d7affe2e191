"""The field that a response is typed into, also by a hand that is quicker than the screen."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widgets import Input


class Entry(Input):
    """Calls `entered` for Enter and `left` for Esc; takes its keys from the screen, one after the other.

    Textual sends a key to the field, and one that is bound on from there up to the app: the keys behind it that the
    screen takes at once would overtake it.
    """

    def __init__(self, placeholder: str, entered: Callable[[], None], left: Callable[[], None]) -> None:
        # With a selection the second digit of what is typed would replace the first.
        super().__init__(placeholder=placeholder, select_on_focus=False, compact=True)
        # A blinking cursor writes to the terminal all day.
        self.cursor_blink = False
        self._entered, self._left = entered, left
        self._answered = ""
        """What stood here when Enter was pressed last."""

    async def take(self, event: events.Key | events.Paste) -> bool:
        """Do at once what a key, or what was pasted, does in the field; whether it does anything here."""
        if isinstance(event, events.Paste):
            self._insert("".join(event.text.splitlines()[:1]))
        elif event.key == "enter":
            self.enter()
        elif event.key == "escape":
            self._left()
        elif event.is_printable:
            self._insert(event.character or "")
        else:
            bound = self.screen.active_bindings.get(event.key)
            if bound is None or bound.node is not self:
                return False
            await self.run_action(bound.binding.action)
        return True

    def _insert(self, text: str) -> None:
        if self.selection.is_empty:
            self.insert_text_at_cursor(text)
        else:
            self.replace(text, *self.selection)

    def enter(self) -> None:
        """As Enter does."""
        self._answered = self.value
        self._entered()

    def insert_text_at_cursor(self, text: str) -> None:
        # Another number after an answer is another try. A unit may still belong to what stands there.
        if self._answered == self.value and self.cursor_at_end and text[:1].isdigit():
            self.clear()
        super().insert_text_at_cursor(text)
