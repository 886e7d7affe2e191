"""What the box of every activity does on the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tcptutor.course.activity import Activity
from tcptutor.course.page_record import Given
from tcptutor.journal.drafts import Draft
from tcptutor.run import Run
from tcptutor.ui.messages import HintWanted, RedrawWanted
from tcptutor.ui.study import MarkedResponse
from tcptutor.ui.widgets.page.text import Feedback, Hints, Offers, paragraphs

A = TypeVar("A", bound=Activity)

_PRAISE = re.compile(r"^(?:Right|Yes|Correct|Exactly)[:,] *(\w)")
"""How a lesson's feedback on a right answer may begin, after our own word."""


class ActivityBox(Vertical, Generic[A]):
    """One activity. Hands on what is given; is told what became of it. Knows nothing of the journal."""

    TITLE: ClassVar[str] = "Question"
    HOW: ClassVar[str] = "Enter answers"
    """How a response is given, for who looks at it."""
    TYPED: ClassVar[str] = "answers"
    """What Enter does in a field of it."""

    class DraftChanged(Message):
        """Something was typed or chosen that is not answered yet."""

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
        self._complained = False
        """Whether it says what is wrong with something that was typed."""

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

    @property
    def draft(self) -> Draft | None:
        """What stands there and was not answered; None for nothing."""
        return None

    def restore_draft(self, draft: Draft) -> None:
        """Put back what stood there when the page was left."""

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

    def open_again(self, given: Given) -> None:
        """It was taken back: what was locked stands there, to be changed."""
        self.final = False
        self.say(Content(""), go_there=False)
        self.show_given(given)
        self.to_entry()
        self._offer()

    @property
    def at_hand(self) -> bool:
        """Whether it has the focus."""
        # Of the screen: a widget that is just losing the focus still says that it has it.
        focused = self.screen.focused if self.is_attached else None
        return focused is not None and self in focused.ancestors_with_self

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
        self.final, self._again = response.final, response.can_redraw
        self.show_given(response.given)
        self.say(self.told(response), go_there=just_now)
        self._offer()

    def told(self, response: MarkedResponse) -> Content:
        """The words under a response."""
        mark, typed = response.mark, ""
        if isinstance(response.given, str):
            understood = self.activity.interpret(response.given)
            typed = f"{response.given} ({understood}): " if understood else f"{response.given}: "
        if mark is None:
            more = "" if response.final else " Until then you may change it."
            return Content.assemble(("● Kept. ", "bold"), typed, f"Marks come at the end.{more}")
        wrong = "✗ Wrong. " if response.final else "✗ Not yet. "
        verdict = ("✓ Right. ", "$success bold") if mark.correct else (wrong, "$error bold")
        feedback = mark.feedback
        if mark.correct:  # the lesson's own word for it
            feedback = _PRAISE.sub(lambda found: found[1].upper(), feedback)
        told = Content.assemble(verdict, typed, paragraphs(feedback))
        lines = [told, *([paragraphs(response.explanation)] if response.explanation else [])]
        if response.read:
            lines.append(Content(f"It is explained on {response.read}."))
        return Content("\n").join(lines)

    def complain(self, reason: str) -> None:
        """What was given cannot be marked."""
        self._complained = True
        self.say(Content.assemble(("✗ ", "$error bold"), reason))

    def wonder(self, given: Given, doubt: str) -> None:  # noqa: ARG002  # for those that can be locked
        """What was given looks like a slip: ask before it is locked."""
        self.complain(doubt)

    def take_complaint_back(self) -> None:
        """What was typed then is in order now."""
        if self._complained:
            self.say(Content(""), go_there=False)

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
        # A box is blurred as the app ends, too, when what is in it may be gone before it.
        for offers in self.query(Offers):
            offers.show("" if self.final else answer, "" if self.final else hint, again)

    def on_offers_chosen(self, event: Offers.Chosen) -> None:
        event.stop()
        if event.offer == "again":
            self.post_message(RedrawWanted(self.activity))
            return
        self.enter()
        if event.offer == "answer":
            self.answer()
        else:
            self.post_message(HintWanted(self.activity))

    def answer(self) -> None:
        """Give what stands there as the response."""

    def say(self, content: Content, go_there: bool = True) -> None:
        self._complained = self._complained and content.plain.startswith("✗ ")
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
