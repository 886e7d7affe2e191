"""Review: due questions, shown singly for two minutes; or practice, which is not recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tcptutor.base.errors import JournalError, UsageError
from tcptutor.base.key_names import key_name
from tcptutor.course.activity import Activity
from tcptutor.course.page_record import Given
from tcptutor.course.setting_line import experiment_line
from tcptutor.review import ReviewCard, Reviews
from tcptutor.review.cards import CardId
from tcptutor.study.reviews import ReviewQuestion, find_now, recall_run
from tcptutor.ui import bindings
from tcptutor.ui.bindings import Entries, FooterKey, priority
from tcptutor.ui.messages import HintWanted
from tcptutor.ui.screens.activities import BOXES
from tcptutor.ui.screens.base import SavingScreen
from tcptutor.ui.screens.lesson_keys import enter_key, typing_footer
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.entries import Entry
from tcptutor.ui.widgets.page.lists import ObserveBox
from tcptutor.ui.widgets.page.scrolling import ScrollRequested
from tcptutor.ui.widgets.page.text import Feedback
from tcptutor.ui.workers import start_worker


class ReviewScreen(SavingScreen):
    """Review of due questions, or practice of other questions if no question is due."""

    AUTO_FOCUS = None
    BINDINGS: ClassVar[list[BindingType]] = [
        priority("enter", "onward", "next", "review.next", "the next question, or the end of the review"),
        priority("h", "hint", "hint", "review.hint", "the next hint"),
        priority("f2", "sureness", "how sure", "review.sureness", "how sure you are of your answer"),
        priority("g", "open_page", "page", "review.page", "the page that the question is from"),
        priority("p", "practice", "practice", "review.practice", "questions that are not due; not recorded"),
        priority("escape", "stop", "stop", "review.stop", "stop here; what you have answered counts"),
        *(
            Binding(f"{n}", f"digit('{n}')", show=False, priority=True, id=f"review.choice-{n}")
            for n in range(10)
        ),
    ]
    FOOTER: ClassVar[Entries] = (
        ("review.hint", "hint"),
        ("review.sureness", "how sure"),
        ("review.practice", "practice"),
        ("review.page", "page"),
        ("review.stop", "stop"),
        ("app.keys", "keys"),
    )
    OTHER_KEYS = (("↑ ↓", "move among the choices, or scroll"), ("Enter", "answer the question"))

    def __init__(self, reviews: Reviews) -> None:
        super().__init__()
        self._reviews = reviews
        self._cards = reviews.session
        self._at = 0
        """Index of the question on the screen; the number of questions at the end."""
        self._question: ReviewQuestion | None = None
        """The question on the screen; None while it is loaded, and at the end."""
        self._box: ActivityBox[Any] | None = None
        self._marks: list[bool] = []
        """True for each right answer so far."""
        self._is_practice = False
        self._practiced: dict[CardId, int] = {}
        """Number of times each question was practiced on this screen."""
        self._unreadable: set[CardId] = set()
        """Questions with an unreadable run."""
        self._bar = TopBar()
        self._view = VerticalScroll(id="review")

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self._view
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        for changing in ("scroll_y", "virtual_size"):
            self.watch(self._view, changing, self._schedule_more)
        self._go_on()

    # Asking

    def _go_on(self) -> None:
        """Show the question at hand, or the end."""
        self._question = self._box = None
        start_worker(self, self._show, exclusive=True)

    async def _show(self) -> None:
        if self._is_at_end:
            await self._show_end()
        else:
            await self._show_question()

    async def _show_question(self) -> None:
        card, number = self._cards[self._at], f"{self._at + 1} of {len(self._cards)}"
        self._bar.show_place("Practice" if self._is_practice else "Review", count=number)
        context = await recall_run(self.tutor.journal, card)
        if not self.app.is_running:  # left meanwhile
            return
        identity = ""
        with self._reporting():
            identity = self.tutor.journal.identity
        question = ReviewQuestion(card, identity, context, self._practiced.get(card.id, 0))
        if not question.can_be_asked:
            missing = f"The run of a question on {card.place} cannot be read: run it again there."
            self.notify(missing, severity="warning", timeout=10, markup=False)
            self._unreadable |= {card.id}
            self._cards = (*self._cards[: self._at], *self._cards[self._at + 1 :])
            await self._show()
            return
        box = BOXES[type(question.activity)](question.activity)
        box.answer_handler = self._respond
        box.pulses = lambda: not self.tutor.motion.off_because
        box.order = question.order
        if isinstance(box, ObserveBox):
            box.can_skip = False
        setting = _setting(card)
        await self._replace([*([Static(setting, classes="setting", markup=False)] if setting else []), box])
        if context.run is not None:
            box.show_run(context.run)
        self._question, self._box = question, box
        self._offer_hint()
        box.focus_entry()
        self.schedule_keys()

    async def _replace(self, widgets: list[Widget]) -> None:
        with self.app.batch_update():
            await self._view.remove_children()
            await self._view.mount(*widgets)
            self._view.scroll_home(animate=False)

    def _respond(self, _activity: Activity, given: Given, _confirmed: bool) -> None:
        question, box = self._question, self._box
        if question is None or box is None or question.response is not None:
            return
        try:
            marked = question.answer(given, box.sureness)
        except UsageError as error:
            box.show_error(str(error))
            return
        self._marks.append(bool(marked.mark.correct))
        if self._is_practice:
            self._practiced[question.card.id] = self._practiced.get(question.card.id, 0) + 1
        else:
            self._record(question)
        box.show(marked, just_now=True)
        if not _setting(question.card):
            source = Content.assemble(
                _source(question.card), (f"   {key_name('review.page')} opens it", "$text-muted")
            )
            self._view.mount(Static(source, classes="source", markup=False))
        if isinstance(self.focused, Entry):  # it is hidden now
            self.set_focus(self._view, scroll_visible=False)
        self.schedule_keys()

    def _record(self, question: ReviewQuestion) -> None:
        assert question.response is not None
        with self._reporting():
            self.tutor.journal.review(*question.card.id, question.response, question.hints)
        self.show_saved()

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Report a failure of the journal, and go on."""
        try:
            yield
        except JournalError as error:
            self.notify(str(error), severity="error", markup=False)

    # The end

    async def _show_end(self) -> None:
        with self._reporting():
            found = await find_now(self.tutor.course, self.tutor.journal)
            cards = (card for card in found.cards if card.id not in self._unreadable)
            self._reviews = found._replace(cards=tuple(cards))
        if not self.app.is_running:  # left meanwhile
            return
        self._bar.show_place("Practice" if self._is_practice else "Review")
        await self._replace([Static(Content("\n").join(self._end_lines()), markup=False)])
        self.set_focus(self._view, scroll_visible=False)
        self.schedule_keys()

    def _end_lines(self) -> Iterator[Content]:
        asked = len(self._marks)
        if asked:
            sign = ("✓ ", "bold $success") if all(self._marks) else ("● ", "bold $primary")
            yield Content.assemble(sign, (f"{sum(self._marks)} of {asked} right", "bold"))
            yield Content("")
        for card, right in zip(self._cards, self._marks, strict=False):
            mark = ("✓ ", "bold $success") if right else ("✗ ", "bold $error")
            yield Content.assemble("  ", mark, card.place)
        if asked:
            yield Content("")
        due, following = len(self._reviews.due), self._reviews.next_due
        if due:
            yield Content(f"{_questions(due)} {'is' if due == 1 else 'are'} still due: Enter goes on.")
        elif following is not None:
            day, number = following
            yield Content.assemble(
                "The next review is due ", (_when(day), "bold"), f": {_questions(number)}."
            )
        else:
            yield Content("No review is due.")
        if not due and self._reviews.cards:
            practice = (
                f"p practices {'more' if asked else 'now'}. Practice isn't recorded and changes no review."
            )
            yield Content.styled(practice, "$text-muted")

    @property
    def _is_at_end(self) -> bool:
        return self._at >= len(self._cards)

    # Keys

    async def take(self, event: events.Key | events.Paste) -> bool:
        if isinstance(self.focused, Entry):
            return await self.focused.take(event)
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        box, is_open = self._box, self._is_open
        is_typing = isinstance(self.focused, Entry)
        match action:
            case "onward":
                works = self._is_at_end or (self._question is not None and not is_open)
            case "hint":
                works = is_open and not is_typing and self._hints_left
            case "sureness":
                works = is_open and box is not None and box.can_state_sureness
            case "open_page":
                works = self._question is not None and not is_open
            case "practice":
                works = self._is_at_end and not self._reviews.due and bool(self._reviews.cards)
            case "digit":
                works = is_open and not is_typing
            case _:
                return super().check_action(action, parameters)
        return works

    @property
    def _is_open(self) -> bool:
        """Whether the question on the screen waits for an answer."""
        return self._question is not None and self._question.response is None

    @property
    def _hints_left(self) -> bool:
        question = self._question
        return question is not None and question.hints < len(question.activity.hints)

    def footer_keys(self) -> tuple[FooterKey, ...]:
        if isinstance(self.focused, Entry):
            return typing_footer(self, self._box)
        if self._is_open:
            return enter_key(self._box), *bindings.footer_entries(self, self.FOOTER)
        following = "next" if self._at + 1 < len(self._cards) else "end"
        footer = self.FOOTER
        if self._is_at_end:
            following = "more" if self._reviews.due else "home"
            home = (("review.stop", "home"),) if self._reviews.due else ()
            footer = (("review.practice", "practice"), *home, ("app.keys", "keys"))
        return FooterKey((("Enter", "enter"),), following, is_next=True), *bindings.footer_entries(
            self, footer
        )

    def on_descendant_focus(self) -> None:
        self.schedule_keys()

    def action_onward(self) -> None:
        if not self._is_at_end:
            self._at += 1
            self._go_on()
        elif self._reviews.due:
            self._begin(self._reviews.session)
        else:
            self.dismiss()

    def action_practice(self) -> None:
        cards = self._reviews.practice(frozenset(self._practiced))
        self._is_practice = True
        self._begin(cards)

    def _begin(self, cards: tuple[ReviewCard, ...]) -> None:
        self._cards, self._at, self._marks = cards, 0, []
        self._go_on()

    def action_stop(self) -> None:
        self.dismiss()

    def action_open_page(self) -> None:
        if self._question is not None:
            self.tutor.open_step(self._question.card.module, self._question.card.step)

    @on(HintWanted)
    def action_hint(self) -> None:
        if self._question is not None and self._box is not None and self._hints_left:
            self._question.hints += 1
            self._box.show_hints(self._question.hints, just_now=True)
            self._offer_hint()

    def _offer_hint(self) -> None:
        if self._question is not None and self._box is not None:
            self._box.offer_hint(self._question.hints + 1 if self._hints_left else 0)

    def action_sureness(self) -> None:
        if self._box is not None:
            self._box.cycle_sureness()

    def action_digit(self, digit: str) -> None:
        if self._box is not None and not self._box.start_typing(digit):
            self._box.pick(int(digit))

    @on(ScrollRequested)
    def _scroll_to_box(self, event: ScrollRequested) -> None:
        event.stop()
        if self._is_open:
            event.scroll(self._view)
        else:
            self._view.scroll_to_widget(event.box.query_one(Feedback), animate=False)

    def _schedule_more(self) -> None:
        self.call_after_refresh(self._show_more)  # once the new height is known

    def _show_more(self) -> None:
        """Show that text follows below."""
        for bar in self.query(KeyBar):
            bar.show_more("▼ more" if self._view.scroll_offset.y < self._view.max_scroll_y else "")


def _source(card: ReviewCard) -> Content:
    return Content.assemble(("From ", "$text-muted"), card.place)


def _setting(card: ReviewCard) -> Content | None:
    """Return where a question about a run is from; None for others, which name their page after the answer."""
    step = card.step
    if not card.question.about_run or step.network is None:
        return None
    setting = experiment_line(step.network)
    if step.sweep is not None:
        setting = f"{step.sweep.axis.replace('_', ' ')}: {'; '.join(step.sweep.values)}"
    return Content("\n").join([_source(card), Content.styled(setting, "$text-muted")])


def _questions(number: int) -> str:
    return f"{number} question{'' if number == 1 else 's'}"


def _when(day: int) -> str:
    """Return when a UTC day begins here: "later today", "tomorrow" or "in 6 days, on Thursday 3 December"."""
    here = datetime.combine(date.fromordinal(day), time(), UTC).astimezone().date()
    days = (here - date.today()).days
    if days <= 1:
        return "tomorrow" if days == 1 else "later today"
    return f"in {days} days, on {here:%A %-d %B}"
