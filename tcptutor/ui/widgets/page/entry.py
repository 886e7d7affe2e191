"""The field that a response is typed into, also by a hand that is quicker than the screen."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widgets import Input


class Entry(Input):
    """Calls `entered` for Enter and `left` for Esc itself, so that the key after them finds what they have done.

    As bindings they would first travel up to the app, and be overtaken by the keys that follow.
    """

    def __init__(self, placeholder: str, entered: Callable[[], None], left: Callable[[], None]) -> None:
        # With a selection the second digit of what is typed would replace the first.
        super().__init__(placeholder=placeholder, select_on_focus=False, compact=True)
        # A blinking cursor writes to the terminal all day.
        self.cursor_blink = False
        self._entered, self._left = entered, left
        self._answered = ""
        """What stood here when Enter was pressed last."""

    def on_key(self, event: events.Key) -> None:
        if self.screen.focused is not self:
            # It was on its way here when the key before it took the focus away: it is for the page.
            self.app.post_message(events.Key(event.key, event.character))
        elif event.key == "enter":
            self.enter()
        elif event.key == "escape":
            self._left()
        else:
            return
        event.stop()
        event.prevent_default()

    def enter(self) -> None:
        """As Enter does."""
        self._answered = self.value
        self._entered()

    def insert_text_at_cursor(self, text: str) -> None:
        # Another number after an answer is another try. A unit may still belong to what stands there.
        if self._answered == self.value and self.cursor_at_end and text[:1].isdigit():
            self.clear()
        super().insert_text_at_cursor(text)
