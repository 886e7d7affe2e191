"""Box of a question that asks for an order of events."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content

from tcptutor.course.activities.choice import Order
from tcptutor.course.page_record import Given
from tcptutor.journal.drafts import Draft
from tcptutor.ui.study import MarkedResponse
from tcptutor.ui.widgets.page.list_box import ListBox
from tcptutor.ui.widgets.page.text import paragraphs

FREE, GRABBED, MISPLACED = "·", "↕", "✗"


class OrderBox(ListBox[Order]):
    """Ordering: Space grabs the event at the cursor, arrows move it, Space drops it; digits do both."""

    def __init__(self, activity: Order) -> None:
        super().__init__(activity)
        self._order = list(activity.mixed)
        self._is_grabbed = False
        self._misplaced: frozenset[int] = frozenset()
        """Events that the last response had in a wrong place."""

    def ask(self) -> Content:
        how = "  (first on top; Space takes one, ↑ ↓ or a number moves it, Enter answers)"
        return paragraphs(self.activity.prompt) + how

    def lines(self) -> list[tuple[str, str, bool]]:
        return [
            (
                self._sign(line, event),
                self.activity.events[event].text,
                self._is_grabbed and line == self.cursor,
            )
            for line, event in enumerate(self._order)
        ]

    def take(self) -> None:
        """Grab the event at the cursor, or drop it."""
        self._is_grabbed = not self._is_grabbed

    def move(self, target: int) -> None:
        if self._is_grabbed:
            event = self._order.pop(self.cursor)
            self._order.insert(target, event)
            self._misplaced -= {event}
        super().move(target)

    def submit(self) -> None:
        self.respond(tuple(self._order))

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        order = self._events(response.answer)
        self._misplaced = self.activity.misplaced(order) if response.mark else frozenset()
        super().show(response, just_now)

    HOW: ClassVar[str] = "Space takes one, ↑ ↓ move it, Enter answers"

    @property
    def draft(self) -> Draft | None:
        mixed = self._order == list(self.activity.mixed)
        return None if self.is_locked or mixed else list(self._order)

    def restore_draft(self, draft: Draft) -> None:
        if isinstance(draft, list) and not self.is_locked:
            self.show_answer(tuple(draft))

    def show_answer(self, given: Given) -> None:
        self._order = list(self._events(given) or self._order)
        self._is_grabbed = False
        self.draw()

    def _events(self, given: Given) -> tuple[int, ...]:
        """Return the order given; empty if the lesson's events have changed since."""
        order = tuple(index for index in given if isinstance(index, int))
        return order if sorted(order) == list(range(len(self.activity.events))) else ()

    def _sign(self, line: int, event: int) -> str:
        if self._is_grabbed and line == self.cursor:
            return GRABBED
        return MISPLACED if event in self._misplaced else FREE
