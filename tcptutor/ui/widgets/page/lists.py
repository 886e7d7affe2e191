"""Boxes with a list of entries, for single choice, multiple choice, or ordering."""

from __future__ import annotations

from typing import ClassVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tcptutor.base.key_names import key_name
from tcptutor.course.activities.choice import ChoiceQuestion, Order
from tcptutor.course.page_record import Given
from tcptutor.journal.saved import Draft
from tcptutor.study.marking import MarkedResponse
from tcptutor.ui.widgets.page.box import A, ActivityBox
from tcptutor.ui.widgets.page.text import inline, paragraphs

FREE, CHOSEN = "○", "●"
FREE_BOX, CHOSEN_BOX = "☐", "☑"
PLACED, GRABBED, MISPLACED = "·", "↕", "✗"


class ListBox(ActivityBox[A], can_focus=True):
    """List of entries: arrows move a cursor, Space and digits choose, Enter submits."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # All have priority, like the screen's own: fast typing keeps its order.
        Binding("up", "move(-1)", "up", show=False, priority=True, id="question.up"),
        Binding("down", "move(1)", "down", show=False, priority=True, id="question.down"),
        Binding("space", "pick_here", "choose", show=False, priority=True, id="question.choose"),
        Binding("enter", "submit", "answer", show=False, priority=True, id="question.answer"),
    ]

    def __init__(self, activity: A) -> None:
        super().__init__(activity)
        self.cursor = 0
        """Line of the entry at the cursor, from 0."""

    # For subclasses

    def lines(self) -> list[tuple[str, str, bool]]:
        """Return sign, text and whether it is chosen, for each entry."""
        raise NotImplementedError

    HOW: ClassVar[str] = "Space or a number chooses, Enter answers"

    def take(self) -> None:
        """Choose the entry at the cursor."""
        raise NotImplementedError

    def move(self, target: int) -> None:
        """Move the cursor to an entry."""
        self.cursor = target

    def submit(self) -> None:
        """Submit the response, on Enter."""
        raise NotImplementedError

    # Shared

    def compose_entry(self) -> ComposeResult:
        for number, (_sign, text, _chosen) in enumerate(self.lines(), start=1):
            yield EntryLine(text, number)

    def on_mount(self) -> None:
        super().on_mount()
        self.draw()

    def on_entry_line_clicked(self, event: EntryLine.Clicked) -> None:
        event.stop()
        self.pick(event.number)

    def answer(self) -> None:
        self.action_submit()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.draw()

    def reveal(self, what_comes_first: str) -> None:
        self.can_focus = not what_comes_first
        super().reveal(what_comes_first)

    def pick(self, number: int) -> None:
        if number < 1:
            return
        self.demand_response()
        if not self.is_locked and number <= len(self.lines()):
            self.move(number - 1)
            self.take()
            self.draw()
            self.post_message(self.DraftChanged())

    def action_move(self, by: int) -> None:
        target = self.cursor + by
        if self.is_locked or not 0 <= target < len(self.lines()):
            raise SkipAction  # the page scrolls instead
        self.move(target)
        self.draw()
        self.post_message(self.DraftChanged())

    def action_pick_here(self) -> None:
        self.pick(self.cursor + 1)

    def action_submit(self) -> None:
        if self.is_folded:
            self.unfold()
        elif not self.is_locked:
            self.submit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "submit" and self.is_locked and not self.is_folded:
            return False  # Enter leads on
        return super().check_action(action, parameters)

    def draw(self) -> None:
        for index, (line, entry) in enumerate(zip(self.query(EntryLine), self.lines(), strict=True)):
            line.show(self.has_focus and not self.is_locked and index == self.cursor, index + 1, *entry)


class EntryLine(Horizontal):
    """Entry of a list: "› 2 ○ text". Shapes and words carry the meaning, color repeats it."""

    class Clicked(Message):
        def __init__(self, number: int) -> None:
            self.number = number
            super().__init__()

    def __init__(self, text: str, number: int) -> None:
        super().__init__(classes="choice")
        self._text, self._number = text, number

    def on_click(self) -> None:
        self.post_message(self.Clicked(self._number))

    def compose(self) -> ComposeResult:
        yield Static(classes="mark", markup=False)
        yield Static(paragraphs(self._text), classes="text", markup=False)

    def show(self, cursor: bool, number: int, sign: str, text: str, chosen: bool) -> None:
        """Update the entry; `sign` shows its state."""
        mark = Content.assemble(("›" if cursor else " ", "bold $accent"), f" {number} ", (sign, "bold"))
        self.query_one(".mark", Static).update(mark, layout=False)
        self.set_class(chosen, "-chosen")
        if text != self._text:
            self._text = text
            self.query_one(".text", Static).update(paragraphs(text))


class ChoiceBox(ListBox[ChoiceQuestion]):
    """Choice of a single answer or of several."""

    def __init__(self, activity: ChoiceQuestion) -> None:
        super().__init__(activity)
        self._chosen: set[int] = set()
        """Lesson-file indexes of the chosen entries."""

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt) + (
            "  (choose all that are true)" if self.activity.several else ""
        )

    def lines(self) -> list[tuple[str, str, bool]]:
        free, chosen = (FREE_BOX, CHOSEN_BOX) if self.activity.several else (FREE, CHOSEN)
        return [
            (
                chosen if index in self._chosen else free,
                self.activity.choices[index].text,
                index in self._chosen,
            )
            for index in self.order
        ]

    def take(self) -> None:
        """Choose the entry at the cursor; with several answers, toggle it."""
        at_cursor = {self.order[self.cursor]}
        self._chosen = self._chosen ^ at_cursor if self.activity.several else at_cursor

    def submit(self) -> None:
        if not self._chosen and not self.activity.several:
            self.take()
        if self._chosen:
            self.draw()
            self.respond(self._chosen_ids)
        else:
            self.show_feedback(Content("Choose with Space or the numbers, then press Enter."))

    @property
    def draft(self) -> Draft | None:
        return list(self._chosen_ids) if self._chosen and not self.is_locked else None

    @property
    def _chosen_ids(self) -> tuple[str, ...]:
        return tuple(self.activity.entry_ids[index] for index in sorted(self._chosen))

    def restore_draft(self, draft: Draft) -> None:
        if isinstance(draft, list) and not self.is_locked:
            self.show_answer(tuple(draft))

    def summary(self, response: MarkedResponse) -> Content:
        chosen = inline(self.activity.in_words(response.answer)).plain
        return Content.assemble((chosen, "bold"), "   ", (self.ask().plain, "$text-muted"))

    def show_answer(self, given: Given) -> None:
        self._chosen = {index for index in self.order if self.activity.entry_ids[index] in tuple(given)}
        self.cursor = min(map(self.order.index, self._chosen), default=0)
        self.draw()


class ObserveBox(ChoiceBox):
    """Choice of the run's result."""

    TITLE: ClassVar[str] = "Observe"
    SIGN, HUE, KIND = "●", "$flow-6", "observe"
    can_skip = True
    """True until the question is answered, and on a page."""

    @property
    def how(self) -> str:
        return f"{self.HOW}, {key_name('lesson.skip')} skips" if self.can_skip else self.HOW

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        self.can_skip = False
        super().show(response, just_now)

    def feedback(self, response: MarkedResponse) -> Content:
        if not response.answer:
            return Content("Skipped. You can still answer.")
        mark = response.mark
        shown = Content(f"● {mark.feedback}") if mark.correct is None else super().feedback(response)
        return Content("\n").join([shown, Content(mark.evidence)]) if mark.evidence else shown


class OrderBox(ListBox[Order]):
    """Ordering: Space grabs the event at the cursor, arrows move it, Space drops it; digits do both."""

    def __init__(self, activity: Order) -> None:
        super().__init__(activity)
        self._moved: list[int] = []
        """The student's order of the events; empty until an event is moved."""
        self._is_grabbed = False
        self._misplaced: frozenset[int] = frozenset()
        """Events that the last response had in a wrong place."""

    def ask(self) -> Content:
        how = "  (first on top; Space grabs one, ↑ ↓ or a number moves it, Enter answers)"
        return paragraphs(self.activity.prompt) + how

    @property
    def _order(self) -> list[int]:
        return self._moved or list(self.order)

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
            self._moved = self._order
            event = self._moved.pop(self.cursor)
            self._moved.insert(target, event)
            self._misplaced -= {event}
        super().move(target)

    def submit(self) -> None:
        self.respond(self._ids)

    @property
    def _ids(self) -> tuple[str, ...]:
        return tuple(self.activity.entry_ids[event] for event in self._order)

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        order = self._events(response.answer)
        self._misplaced = self.activity.misplaced(order)
        super().show(response, just_now)

    HOW: ClassVar[str] = "Space grabs, ↑ ↓ move, Enter answers"

    @property
    def draft(self) -> Draft | None:
        untouched = self._order == list(self.order)
        return None if self.is_locked or untouched else list(self._ids)

    def restore_draft(self, draft: Draft) -> None:
        if isinstance(draft, list) and not self.is_locked:
            self.show_answer(tuple(draft))

    def show_answer(self, given: Given) -> None:
        self._moved = list(self._events(given)) or self._moved
        self._is_grabbed = False
        self.draw()

    def _events(self, given: Given) -> tuple[int, ...]:
        """Return the order given; empty if the lesson's events have changed since."""
        places = {id: event for event, id in enumerate(self.activity.entry_ids)}
        return tuple(places[id] for id in given) if sorted(given) == sorted(places) else ()

    def _sign(self, line: int, event: int) -> str:
        if self._is_grabbed and line == self.cursor:
            return GRABBED
        return MISPLACED if event in self._misplaced else PLACED
