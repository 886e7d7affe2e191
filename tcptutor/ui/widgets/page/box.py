"""Base of the boxes that show an activity on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, Generic, TypeVar, get_args

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tcptutor.base.key_names import key_name
from tcptutor.course.activity import Activity
from tcptutor.course.page_record import Given, Sureness
from tcptutor.journal.saved import Draft
from tcptutor.run import Run
from tcptutor.study.marking import MarkedResponse
from tcptutor.ui.messages import HintWanted, RedrawWanted
from tcptutor.ui.widgets.page.feedback import feedback_on, source_line
from tcptutor.ui.widgets.page.folded import FoldingBox, FoldTitle
from tcptutor.ui.widgets.page.text import Feedback, Hints, Offers

A = TypeVar("A", bound=Activity)

_PULSE_S = 0.5
"""Time for which a right answer changes the box's ground, s."""


class ActivityBox(FoldingBox, Generic[A]):
    """Box of an activity: passes responses on and shows their marks; independent of the journal."""

    TITLE: ClassVar[str] = "Question"
    SIGN: ClassVar[str] = "?"
    """Character before the title, for readers who see no colors."""
    HUE: ClassVar[str] = "$secondary"
    KIND: ClassVar[str] = "question"
    """Name of the box's hue in the style sheet."""
    FOLDS: ClassVar[bool] = True
    """True if the box shrinks to a line once its activity is done."""
    HOW: ClassVar[str] = "Enter answers"
    """Instruction for giving a response."""
    TYPED: ClassVar[str] = "answer"
    """Effect of Enter in a text field of the box."""
    takes_digits: ClassVar[bool] = True
    """True if digits typed on the page start a response."""
    asks_sureness: ClassVar[bool] = True
    """True if the student may say how sure a response is."""

    class DraftChanged(Message):
        """A typed or chosen draft changed."""

    def __init__(self, activity: A) -> None:
        super().__init__(classes=f"box -{self.KIND}")
        self.activity = activity
        self.answer_handler: Callable[[A, Given, bool], None] = lambda _activity, _given, _confirmed: None
        """Called with a response and whether the student confirmed it despite a doubt; set by the screen."""
        self.pulses: Callable[[], bool] = lambda: False
        """Returns whether a right answer is shown by a short change of the ground; set by the screen."""
        self.is_locked = False
        self.sureness: Sureness | None = None
        """Sureness of the next response; None if not stated."""
        self.order = activity.shown_order("")
        """Lesson-file indexes of the listed entries, in the order shown; the screen sets the student's."""
        self.number = ""
        """Number of the question, from 1; empty if the page has few."""
        self.recalled_page = ""
        """Reference to the page that the question is from, shown after an answer; set by the screen."""
        self.rule = ""
        """Marks of the activity and their deductions; empty if it earns none. Set by the screen."""
        self._hint = 0
        self._can_redraw = False
        """Whether the question can be asked again with other numbers."""
        self._shows_error = False
        """Whether an error about the input is shown."""

    # For subclasses

    def ask(self) -> Content:
        """Return the question."""
        raise NotImplementedError

    @property
    def how(self) -> str:
        """Instruction for giving a response now."""
        return self.HOW

    def compose_entry(self) -> ComposeResult:
        """Compose the widgets for a response."""
        yield from ()

    def focus_entry(self) -> None:
        """Focus the widgets for a response."""
        # At once, not by a message: the next key may have arrived already.
        self.screen.set_focus(self)

    def demand_response(self) -> None:
        """Demand a response first: take the focus."""
        self.focus_entry()

    def start_typing(self, text: str) -> bool:  # noqa: ARG002
        """Accept typed or pasted text that went to the page; return whether it starts a response."""
        return False

    def pick(self, number: int) -> None:
        """Choose the entry of a digit key, from 1."""

    def show_answer(self, given: Given) -> None:
        """Show a response, just entered or from the journal; `is_locked` is True once it cannot change."""

    def clear(self) -> None:
        """Open the box for a new response."""

    @property
    def draft(self) -> Draft | None:
        """Unsubmitted response; None if empty."""
        return None

    def restore_draft(self, draft: Draft) -> None:
        """Restore a draft from an earlier visit of the page."""

    def show_run(self, run: Run) -> None:
        """Show facts about the page's latest complete run."""

    # Shared

    def compose(self) -> ComposeResult:
        yield Static("", classes="later", markup=False)
        yield FoldTitle(classes="summary", markup=False)
        yield Static(self._heading, classes="ask")
        yield from self.compose_entry()
        yield Feedback()
        yield Hints(self.activity.hints)
        yield Offers()

    def on_mount(self) -> None:
        self._offer()

    @property
    def _heading(self) -> Content:
        return self._title + self.ask()

    @property
    def _title(self) -> Content:
        name = " ".join(filter(None, (self.SIGN, self.TITLE, self.number)))
        return Content.styled(f"{name}  ", f"bold {self.HUE}")

    def replace_activity(self, activity: A) -> None:
        """Replace the activity by a variant with other numbers, unanswered."""
        self.unfold()
        self.remove_class("-right", "-wrong")
        self.activity, self.is_locked, self._can_redraw, self.sureness = activity, False, False, None
        self.query_one(".ask", Static).update(self._heading)
        hints = self.query_one(Hints)
        hints.texts = activity.hints
        hints.show(0)
        self.query_one(Feedback).display = False
        self.clear()
        self._offer()

    def reopen(self, given: Given) -> None:
        """Reopen a withdrawn response for editing."""
        self.unfold()
        self.is_locked = False
        self.show_feedback(Content(""), scroll=False)
        self.show_answer(given)
        self.focus_entry()
        self._offer()

    def respond(self, given: Given, confirmed: bool = False) -> None:
        # Not a message: the key after Enter may have arrived already, and means the page after the response.
        self.answer_handler(self.activity, given, confirmed)

    def reveal(self, what_comes_first: str) -> None:
        """Show the question, or a sentence on the step that must come first."""
        self.set_class(bool(what_comes_first), "-later")
        if what_comes_first:
            self.query_one(".later", Static).update(self._title + what_comes_first)

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        """Show a response and its feedback."""
        self.is_locked, self._can_redraw = response.final, response.can_redraw
        self.sureness = response.sureness if response.final else None
        self.show_answer(response.answer)
        feedback = self.feedback(response)
        if self.recalled_page:
            feedback = Content("\n").join([feedback, source_line(self.recalled_page, response.mark)])
        self.show_feedback(feedback, scroll=just_now)
        self._offer()
        self._is_touched = self._is_touched or just_now
        self._show_state(response)
        if just_now and self.is_right(response):
            self.pulse()

    def pulse(self) -> None:
        """Show for a moment that something was reached."""
        if self.pulses():
            self.add_class("-pulse")
            self.set_timer(_PULSE_S, lambda: self.remove_class("-pulse"))

    def _show_state(self, response: MarkedResponse) -> None:
        """Color the bar by the mark, and fold the box if it was done on an earlier visit."""
        is_right = self.is_right(response)
        self.update_classes({"-right": is_right is True, "-wrong": is_right is False})
        if is_right and response.final and self.FOLDS and not self._is_touched:
            title = " ".join(filter(None, (self.TITLE, self.number)))
            self._fold(title, self.summary(response))

    def is_right(self, response: MarkedResponse) -> bool | None:
        """Return the mark that colors the box; None if the response is neither right nor wrong."""
        return response.mark.correct

    def summary(self, response: MarkedResponse) -> Content:
        """Return the folded box's words after its title."""
        answer = response.answer if isinstance(response.answer, str) else ""
        return Content.assemble((answer, "bold"), "   " if answer else "", (self.ask().plain, "$text-muted"))

    def feedback(self, response: MarkedResponse) -> Content:
        """Return the feedback on a response."""
        return feedback_on(response, self.activity)

    def show_error(self, reason: str) -> None:
        """Show why the response cannot be marked."""
        self._shows_error = True
        self.show_feedback(Content.assemble(("✗ ", "$error bold"), reason))

    def show_again(self, response: MarkedResponse, reason: str) -> None:
        """Show the feedback on an earlier response again, and why the response does not count a second time."""
        reason = reason[:1].upper() + reason[1:] + "."
        self.show_feedback(
            Content("\n").join([self.feedback(response), Content.styled(reason, "$text-muted")])
        )

    def ask_confirmation(self, given: Given, doubt: str) -> None:  # noqa: ARG002  # for boxes that can be locked
        """Ask to confirm a response that looks like a slip."""
        self.show_error(doubt)

    def clear_error(self) -> None:
        """Clear the error once the input is valid."""
        if self._shows_error:
            self.show_feedback(Content(""), scroll=False)

    def show_hints(self, level: int, just_now: bool = False) -> None:
        """Show the first `level` hints."""
        self.query_one(Hints).show(level)
        if just_now:
            self.scroll_into_view(end=True)

    def offer_hint(self, level: int) -> None:
        """Offer a hint by its number, from 1; 0 for none."""
        self._hint = level
        self._offer()

    @property
    def can_state_sureness(self) -> bool:
        return self.asks_sureness and not self.is_locked

    def cycle_sureness(self) -> None:
        """Cycle through the student's sureness: not stated, guessing, fairly sure, sure."""
        if self.can_state_sureness:
            steps = (None, *get_args(Sureness))
            self.sureness = steps[(steps.index(self.sureness) + 1) % len(steps)]
            self._offer()

    def _offer(self) -> None:
        key = key_name("lesson.hint")
        if self.has_focus_within and self.screen.focused is not self:
            key = f"Esc, then {key}"  # in a text field, h is a letter
        hint = f"{key}: hint {self._hint} of {len(self.activity.hints)}" if self._hint else ""
        how = "Enter locks it in" if self.activity.locked else self.how
        answer = how if self.is_active else ""
        sureness = (
            f"{key_name('lesson.sureness')}: {self.sureness or 'how sure?'}"
            if self.is_active and self.can_state_sureness
            else ""
        )
        again = (
            f"{key_name('lesson.again')}: again, with new numbers"
            if self.is_locked and self._can_redraw
            else ""
        )
        # Closing the app blurs the box after its children may be gone.
        for offers in self.query(Offers):
            offers.show(
                answer="" if self.is_locked else answer,
                hint="" if self.is_locked else hint,
                again=again,
                sureness=sureness,
                is_stated=self.sureness is not None,
                rules=() if self.is_locked else (self.rule, *self._shorter_rules),
            )

    @property
    def _shorter_rules(self) -> Iterator[str]:
        """The rule without its last parts, for narrow lines."""
        rule = self.rule
        while "; " in rule:
            rule = rule.rpartition("; ")[0]
            yield rule

    def on_offers_chosen(self, event: Offers.Chosen) -> None:
        event.stop()
        if event.offer == "again":
            self.post_message(RedrawWanted(self.activity))
            return
        if event.offer == "sureness":
            self.cycle_sureness()
            return
        self.demand_response()
        if event.offer == "answer":
            self.answer()
        else:
            self.post_message(HintWanted(self.activity))

    def answer(self) -> None:
        """Submit the current draft."""

    def show_feedback(self, content: Content, scroll: bool = True) -> None:
        self._shows_error = self._shows_error and content.plain.startswith("✗ ")
        self.query_one(Feedback).show(content)
        if scroll:
            self.scroll_into_view(end=True)

    # Focus

    def on_focus(self) -> None:
        self._on_focus_gained()

    def on_descendant_focus(self) -> None:
        self._on_focus_gained()

    def on_descendant_blur(self) -> None:
        self._on_focus_lost()

    def on_blur(self) -> None:
        self._on_focus_lost()

    def _on_focus_gained(self) -> None:
        self._is_touched = self._is_touched or not self.is_folded
        self._offer()
        self.scroll_into_view(self._has_new_text)

    def _on_focus_lost(self) -> None:
        self._has_new_text = False
        self._offer()
