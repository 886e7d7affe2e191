"""Boxes with a text field: predictions, and numbers calculated or read off a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tcptutor.base import units
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.read_off import ReadOff
from tcptutor.course.page_record import Given
from tcptutor.journal.fold import CLOSE_FACTOR
from tcptutor.journal.saved import Draft
from tcptutor.run import Run
from tcptutor.study import words
from tcptutor.study.marking import MarkedResponse
from tcptutor.ui.widgets.page.box import A, ActivityBox
from tcptutor.ui.widgets.page.text import paragraphs


class EntryBox(ActivityBox[A]):
    """Activity with a text field, a label before and a unit behind."""

    LABEL: ClassVar[str] = "Your answer "

    def placeholder(self) -> str:
        """Return the placeholder of the empty field; never a plausible value."""
        return "a number"

    def unit(self) -> str:
        """Return the unit assumed for a plain number; empty for none."""
        return ""

    def compose_entry(self) -> ComposeResult:
        with Horizontal(classes="entry"):
            yield Static(self.LABEL, classes="label")
            yield Entry(self.placeholder(), self._enter_pressed, self.leave)
            if self.unit():
                yield Static(f" {self.unit()}", classes="unit", markup=False)

    def reopen(self, given: Given) -> None:
        super().reopen(given)
        if isinstance(given, str):
            self.restore_draft(given)

    def focus_entry(self) -> None:
        if not self.is_locked:
            self.screen.set_focus(self.query_one(Entry))

    def start_typing(self, text: str) -> bool:
        """Put a digit or number into the field."""
        if self.is_locked:
            return False
        entry = self.query_one(Entry)
        self.screen.set_focus(entry)
        entry.insert_text_at_cursor(text)
        return True

    def answer(self) -> None:
        self.query_one(Entry).enter()

    def show_answer(self, given: Given) -> None:  # noqa: ARG002  # the feedback repeats it
        self.query_one(".entry").display = not self.is_locked

    @property
    def draft(self) -> Draft | None:
        typed = self.query_one(Entry).value.strip()
        return typed if typed and not self.is_locked else None

    def restore_draft(self, draft: Draft) -> None:
        if isinstance(draft, str) and not self.is_locked:
            entry = self.query_one(Entry)
            entry.value, entry.cursor_position = draft, len(draft)

    def on_input_changed(self) -> None:
        self.post_message(self.DraftChanged())

    def clear(self) -> None:
        self.query_one(Entry).clear()
        self.query_one(".entry").display = True

    def leave(self) -> None:
        """Leave the field, on Esc."""
        around = (each for each in self.ancestors if isinstance(each, Widget) and each.focusable)
        self.screen.set_focus(next(around, None), scroll_visible=False)

    def _enter_pressed(self) -> None:
        if not self.is_locked:
            self.submit(self.query_one(Entry).value.strip())

    def submit(self, text: str) -> None:
        """Submit the text of the field, on Enter."""
        if text:
            self.respond(text)


class Entry(Input):
    """Text field that takes keys directly from the screen, in order; calls `entered` for Enter, `left` for Esc.

    Textual sends a key to the field first, and an unused key up to the app: later keys that the screen handles
    at once would overtake it.
    """

    def __init__(self, placeholder: str, entered: Callable[[], None], left: Callable[[], None]) -> None:
        # With a selection the second typed digit would replace the first.
        super().__init__(placeholder=placeholder, select_on_focus=False, compact=True)
        # A blinking cursor writes to the terminal all day.
        self.cursor_blink = False
        self._entered, self._left = entered, left
        self._submitted = ""
        """Text when Enter was pressed last."""

    async def take(self, event: events.Key | events.Paste) -> bool:
        """Apply a key or paste to the field at once; return whether the field uses it."""
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
        """Act as if Enter was pressed."""
        self._submitted = self.value
        self._entered()

    def insert_text_at_cursor(self, text: str) -> None:
        # A digit after a response starts a new number; a unit may continue the old one.
        if self._submitted == self.value and self.cursor_at_end and text[:1].isdigit():
            self.clear()
        super().insert_text_at_cursor(text)


class NumericBox(EntryBox[Numeric]):
    """Question answered with a number and its unit."""

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt)

    def unit(self) -> str:
        return self.activity.plain_unit


class ReadOffBox(EntryBox[ReadOff]):
    """Question about a value of the student's own run; names the run it is marked against."""

    def __init__(self, activity: ReadOff) -> None:
        super().__init__(activity)
        # Held rather than queried: a run may finish loading while the page is being left.
        self._against = Static("", classes="against", markup=False)

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt)

    def unit(self) -> str:
        return self.activity.plain_unit

    def compose_entry(self) -> ComposeResult:
        yield from super().compose_entry()
        yield self._against

    def show_run(self, run: Run) -> None:
        started, seconds = run.started[:16].replace("T", " "), units.seconds(run.experiment_s)
        self._against.update(
            Content.styled(f"Marked against your run of {started}, {seconds} long.", "$text-muted")
        )

    def show_answer(self, given: Given) -> None:
        super().show_answer(given)
        self._against.display = not self.is_locked


NO_PREDICTION = Content("You ran this without a prediction.")


def locked_how(response: MarkedResponse) -> str:
    """Describe a locked prediction: its sureness, and how to unlock it."""
    sureness = f", {words.SURENESS[response.sureness]}" if response.sureness else ""
    return f"locked{sureness}; u unlocks it" if response.can_withdraw else f"locked{sureness}"


class PredictionBox(ActivityBox[A]):
    """Prediction: editable until locked, with feedback after the run."""

    TITLE: ClassVar[str] = "Predict"
    SIGN, HUE, KIND = "◆", "$you", "predict"
    _awaits_run = False
    """Whether the prediction was locked just now, with no run since."""

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        answered = bool(response.mark.feedback)
        # After a run the page scrolls to the text after it: the feedback must be seen first.
        super().show(response, just_now=answered and self._awaits_run)
        self._awaits_run = not answered and (just_now or self._awaits_run)

    def is_right(self, response: MarkedResponse) -> bool | None:
        """Return whether a predicted number is close to the measurement, once it exists."""
        mark = response.mark
        if mark.correct is not None or not mark.measured or not mark.value:
            return mark.correct
        return max(mark.value / mark.measured, mark.measured / mark.value) <= CLOSE_FACTOR


class PredictBox(PredictionBox[Predict], EntryBox[Predict]):
    """Prediction of a number with its unit."""

    LABEL: ClassVar[str] = "Your prediction "

    def __init__(self, activity: Predict) -> None:
        super().__init__(activity)
        self._doubted = ""
        """Doubtful input awaiting confirmation by Enter; empty for none."""

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt)

    def unit(self) -> str:
        return self.activity.plain_unit

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        self._doubted = ""
        super().show(response, just_now)

    def feedback(self, response: MarkedResponse) -> Content:
        if not isinstance(response.answer, str) or not response.answer:
            return NO_PREDICTION
        written = self.activity.written(response.answer)
        how = locked_how(response)
        understood = self.activity.interpret(response.answer)
        how = f"{understood}; {how}" if understood else how
        locked = Content.assemble("Your prediction  ", (written, "bold"), f"  ({how})")
        lesson_feedback = response.mark.feedback
        return Content("\n").join([locked, *([paragraphs(lesson_feedback)] if lesson_feedback else [])])

    def demand_response(self) -> None:
        """Demand a prediction before the run."""
        super().demand_response()
        self.show_feedback(
            Content("Predict first: type a value, Enter locks it in. (Esc, then x, runs without.)")
        )

    def show_error(self, reason: str) -> None:
        super().demand_response()
        super().show_error(reason)

    def ask_confirmation(self, given: Given, doubt: str) -> None:
        self._doubted = str(given)
        super().demand_response()
        self.show_feedback(
            Content.assemble(("? ", "$warning bold"), doubt, " Enter locks it as it is, Esc goes back.")
        )

    def leave(self) -> None:
        if self._doubted:
            self._clear_doubt()
        else:
            super().leave()

    def on_input_changed(self) -> None:
        super().on_input_changed()
        # The change may be that of text typed before Enter, reported only now.
        if self._doubted and self.query_one(Entry).value.strip() != self._doubted:
            self._clear_doubt()

    def submit(self, text: str) -> None:
        if text:
            self.respond(text, confirmed=text == self._doubted)
        else:
            self.demand_response()

    def _clear_doubt(self) -> None:
        self._doubted = ""
        self.show_feedback(Content(""))
