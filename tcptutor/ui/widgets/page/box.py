"""What the box of every activity does on the page, and the entry field or the list that most of them have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tcptutor.course.activity import Activity
from tcptutor.course.record import Given
from tcptutor.run import Run
from tcptutor.ui.messages import HintWanted, OtherNumbersWanted
from tcptutor.ui.study import MarkedResponse
from tcptutor.ui.widgets.page.entry import Entry
from tcptutor.ui.widgets.page.text import Feedback, Hints, Offers, paragraphs

A = TypeVar("A", bound=Activity)


class ActivityBox(Vertical, Generic[A]):
    """One activity. Hands on what is given; is told what became of it. Knows nothing of the journal."""

    TITLE: ClassVar[str] = "Question"
    HOW: ClassVar[str] = "Enter answers"
    """How a response is given, for who looks at it."""

    class InView(Message):
        """It has become larger, or the focus: it should be whole on the screen, or its end where it is too long."""

        def __init__(self, box: ActivityBox[Any], end: bool) -> None:
            self.box, self.end = box, end
            super().__init__()

    def __init__(self, activity: A) -> None:
        super().__init__(classes="box")
        self.activity = activity
        self.responded: Callable[[A, Given, bool], None] = lambda _activity, _given, _sure: None
        """Called with a response; True where it was asked about and given again. The page's screen sets it."""
        self.final = False
        """What was given stays as it is."""
        self.number = ""
        """Of a question among many, from 1; empty where they are few."""
        self._hint = 0
        self._again = False
        """Whether it may be asked once more, with other numbers."""
        self._said = False
        """Whether something new stands at its end."""

    # For subclasses

    def ask(self) -> Content:
        """What the student is asked."""
        raise NotImplementedError

    def compose_entry(self) -> ComposeResult:
        """What a response is given with."""
        yield from ()

    def to_entry(self) -> None:
        """Take the focus."""
        # At once, not with the next message: the next key may be there already.
        self.screen.set_focus(self)

    def enter(self) -> None:
        """It is wanted before something else can be done: take the focus."""
        self.to_entry()

    def begin(self, text: str) -> bool:  # noqa: ARG002
        """`text` was typed or pasted without having gone here; whether it is the beginning of a response."""
        return False

    def pick(self, number: int) -> None:
        """The key of a number, from 1, was pressed."""

    def show_given(self, given: Given) -> None:
        """A response, just now or from the journal; `final` says if it may be changed."""

    def clear(self) -> None:
        """Open it for another response."""

    def saw_run(self, run: Run) -> None:
        """The latest whole run of the page."""

    # The same for all

    def compose(self) -> ComposeResult:
        yield Static("", classes="later", markup=False)
        yield Static(self._asked, classes="ask")
        yield from self.compose_entry()
        yield Feedback()
        yield Hints(self.activity.hints)
        yield Offers()

    def on_mount(self) -> None:
        self._offer()

    @property
    def _asked(self) -> Content:
        title = " ".join(filter(None, (self.TITLE, self.number)))
        return Content.assemble((f"{title}  ", "bold $primary"), self.ask())

    def pose(self, activity: A) -> None:
        """Ask it with other numbers, as if it had never been answered."""
        self.activity, self.final, self._again = activity, False, False
        self.query_one(".ask", Static).update(self._asked)
        hints = self.query_one(Hints)
        hints.texts = activity.hints
        hints.show(0)
        self.query_one(Feedback).display = False
        self.clear()
        self._offer()

    @property
    def at_hand(self) -> bool:
        """Whether it has the focus."""
        return self.has_focus or self.has_focus_within

    def respond(self, given: Given, sure: bool = False) -> None:
        # No message: the key after Enter may be there already, and means the page after the answer.
        self.responded(self.activity, given, sure)

    def reveal(self, revealed: bool) -> None:
        """Whether it is asked yet; until then it says what comes first."""
        self.set_class(not revealed, "-later")
        if not revealed:
            later = Content.assemble((f"{self.TITLE}  ", "bold $primary"), "About your run: r runs it first.")
            self.query_one(".later", Static).update(later)

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        """A response and what it is told."""
        self.final, self._again = response.final, response.again
        self.show_given(response.given)
        self.say(self.told(response), go_there=just_now)
        self._offer()

    def told(self, response: MarkedResponse) -> Content:
        """The words under a response."""
        mark, typed = response.mark, f"{response.given}: " if isinstance(response.given, str) else ""
        if mark is None:
            more = "" if response.final else " Until then you may change it."
            return Content.assemble(("● Kept. ", "bold"), typed, f"Marks come at the end.{more}")
        wrong = "✗ Wrong. " if response.final else "✗ Not yet. "
        verdict = ("✓ Right. ", "$success bold") if mark.correct else (wrong, "$error bold")
        told = Content.assemble(verdict, typed, paragraphs(mark.feedback))
        lines = [told, *([paragraphs(response.explanation)] if response.explanation else [])]
        if response.read:
            lines.append(Content(f"It is explained on {response.read}."))
        return Content("\n").join(lines)

    def complain(self, reason: str) -> None:
        """What was given cannot be marked."""
        self.say(Content.assemble(("✗ ", "$error bold"), reason))

    def wonder(self, given: Given, doubt: str) -> None:  # noqa: ARG002  # for those that can be locked
        """What was given looks like a slip: ask before it is locked."""
        self.complain(doubt)

    def show_hints(self, level: int, just_now: bool = False) -> None:
        """The first `level` hints."""
        self.query_one(Hints).show(level)
        if just_now:
            self.bring(end=True)

    def offer_hint(self, level: int) -> None:
        """Which hint h would show, from 1; 0 for none."""
        self._hint = level
        self._offer()

    def _offer(self) -> None:
        # Where letters are typed into a field, h is one of them.
        key = "Esc, then h" if self.has_focus_within and self.screen.focused is not self else "h"
        hint = f"{key}: hint {self._hint} of {len(self.activity.hints)}" if self._hint else ""
        how = "Enter locks it in" if self.activity.locked else self.HOW
        answer = how if self.at_hand else ""
        again = "a: once more, with other numbers" if self.final and self._again else ""
        self.query_one(Offers).show("" if self.final else answer, "" if self.final else hint, again)

    def on_offers_chosen(self, event: Offers.Chosen) -> None:
        event.stop()
        if event.offer == "again":
            self.post_message(OtherNumbersWanted(self.activity))
            return
        self.enter()
        if event.offer == "answer":
            self.answer()
        else:
            self.post_message(HintWanted(self.activity))

    def answer(self) -> None:
        """Give what stands there as the response."""

    def say(self, content: Content, go_there: bool = True) -> None:
        self.query_one(Feedback).say(content)
        if go_there:
            self.bring(end=True)

    # Whole on the screen

    def bring(self, end: bool = False) -> None:
        """Have it whole on the screen, now and as it grows by what was just said."""
        self._said = end
        self.call_after_refresh(self._wish)

    def on_resize(self) -> None:
        # Only now is it laid out with what was said.
        if self._said or self.at_hand:
            self._wish()

    def _wish(self) -> None:
        self.post_message(self.InView(self, self._said))

    def on_focus(self) -> None:
        self._focused()

    def on_descendant_focus(self) -> None:
        self._focused()

    def on_descendant_blur(self) -> None:
        self._blurred()

    def on_blur(self) -> None:
        self._blurred()

    def _focused(self) -> None:
        self._offer()
        self.bring(self._said)

    def _blurred(self) -> None:
        self._said = False
        self._offer()


class EntryBox(ActivityBox[A]):
    """One whose response is typed into a field."""

    LABEL: ClassVar[str] = "Your answer "

    def placeholder(self) -> str:
        """What stands in the empty field: never a value that might be the page's."""
        return "a number"

    def unit(self) -> str:
        """The unit of a plain number, which stands behind the field; empty for none."""
        return ""

    def compose_entry(self) -> ComposeResult:
        with Horizontal(classes="entry"):
            yield Static(self.LABEL, classes="label")
            yield Entry(self.placeholder(), self._enter_pressed, self.leave)
            if self.unit():
                yield Static(f" {self.unit()}", classes="unit", markup=False)

    def to_entry(self) -> None:
        if not self.final:
            self.screen.set_focus(self.query_one(Entry))

    def begin(self, text: str) -> bool:
        """A number, or its first digit."""
        if self.final:
            return False
        entry = self.query_one(Entry)
        self.screen.set_focus(entry)
        entry.insert_text_at_cursor(text)
        return True

    def answer(self) -> None:
        self.query_one(Entry).enter()

    def show_given(self, given: Given) -> None:  # noqa: ARG002  # it stands in what is told
        self.query_one(".entry").display = not self.final

    def clear(self) -> None:
        self.query_one(Entry).clear()
        self.query_one(".entry").display = True

    def leave(self) -> None:
        """Esc was pressed in the field."""
        around = (each for each in self.ancestors if isinstance(each, Widget) and each.focusable)
        self.screen.set_focus(next(around, None), scroll_visible=False)

    def _enter_pressed(self) -> None:
        if not self.final:
            self.submit(self.query_one(Entry).value.strip())

    def submit(self, text: str) -> None:
        """Enter was pressed in the field."""
        if text:
            self.respond(text)


class ListBox(ActivityBox[A], can_focus=True):
    """One with a list of entries: arrows move a cursor, Space and the numbers take what is there, Enter answers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # All with priority, as the screen's are: keys that are typed fast keep their order.
        Binding("up", "move(-1)", "up", show=False, priority=True, id="question.up"),
        Binding("down", "move(1)", "down", show=False, priority=True, id="question.down"),
        Binding("space", "pick_here", "choose", show=False, priority=True, id="question.choose"),
        Binding("enter", "submit", "answer", show=False, priority=True, id="question.answer"),
    ]

    def __init__(self, activity: A) -> None:
        super().__init__(activity)
        self.cursor = 0
        """The line that the keys speak of."""

    # For subclasses

    def lines(self) -> list[tuple[str, str, bool]]:
        """A sign that says what became of it, its text, and whether it is taken, for each entry."""
        raise NotImplementedError

    HOW: ClassVar[str] = "Space or a number chooses, Enter answers"

    def take(self) -> None:
        """The entry at the cursor was chosen."""
        raise NotImplementedError

    def move(self, target: int) -> None:
        """The cursor goes to the line `target`."""
        self.cursor = target

    def submit(self) -> None:
        """Enter was pressed."""
        raise NotImplementedError

    # The same for all

    def compose_entry(self) -> ComposeResult:
        for number, (_sign, text, _taken) in enumerate(self.lines(), start=1):
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

    def reveal(self, revealed: bool) -> None:
        self.can_focus = revealed
        super().reveal(revealed)

    def pick(self, number: int) -> None:
        if number < 1:
            return
        self.enter()
        if not self.final and number <= len(self.lines()):
            self.move(number - 1)
            self.take()
            self.draw()

    def action_move(self, by: int) -> None:
        target = self.cursor + by
        if self.final or not 0 <= target < len(self.lines()):
            raise SkipAction  # the page scrolls instead
        self.move(target)
        self.draw()

    def action_pick_here(self) -> None:
        self.pick(self.cursor + 1)

    def action_submit(self) -> None:
        if not self.final:
            self.submit()

    def draw(self) -> None:
        for index, (line, entry) in enumerate(zip(self.query(EntryLine), self.lines(), strict=True)):
            line.show(self.has_focus and not self.final and index == self.cursor, index + 1, *entry)


class EntryLine(Horizontal):
    """One of several entries: "› 2 ○ text". Shapes and words carry the meaning, colour repeats it."""

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

    def show(self, cursor: bool, number: int, sign: str, text: str, taken: bool) -> None:
        """`sign` says what became of it."""
        mark = Content.assemble(("›" if cursor else " ", "bold $primary"), f" {number} ", (sign, "bold"))
        self.query_one(".mark", Static).update(mark, layout=False)
        self.set_class(taken, "-chosen")
        if text != self._text:
            self._text = text
            self.query_one(".text", Static).update(paragraphs(text))
