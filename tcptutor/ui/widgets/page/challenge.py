"""Box of a challenge: knobs, goals, and their state by the latest run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from tcptutor.base import units
from tcptutor.base.errors import UsageError
from tcptutor.base.key_names import key_name
from tcptutor.course.activities.challenge import ChallengeActivity, count_of
from tcptutor.course.goals.target import TargetState
from tcptutor.course.knob import Knob
from tcptutor.course.page_record import ActivityRecord, Given
from tcptutor.journal.saved import Draft
from tcptutor.study.marking import MarkedResponse
from tcptutor.ui.widgets.page.entries import Entry
from tcptutor.ui.widgets.page.lists import ListBox
from tcptutor.ui.widgets.page.text import inline, paragraphs

REACHED, OPEN, LOADING = "✓", "○", "…"
CHANGED, UNCHANGED = "●", " "


class ChallengeBox(ListBox[ChallengeActivity]):
    """Challenge; owns the knobs' current values, which the screen runs."""

    TITLE: ClassVar[str] = "Challenge"
    SIGN, HUE, KIND = "★", "$accent", "challenge"
    FOLDS: ClassVar[bool] = False
    TYPED: ClassVar[str] = "set"
    asks_sureness: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("backspace", "put_back", "reset", show=False, priority=True, id="challenge.back"),
    ]

    def __init__(self, activity: ChallengeActivity) -> None:
        super().__init__(activity)
        self.values = dict(activity.start)
        """Current values by knob name, as text."""
        self.change_handler: Callable[[], None] = lambda: None
        """Called when a knob changed; set by the screen."""
        self._states = tuple(TargetState(goal.text) for goal in activity.goals)
        self._run_values: dict[str, str] | None = None
        """Knob values of the run that the goals' states are from."""
        self._record = ActivityRecord()
        self.loading_run = False
        """Whether that run is still being loaded."""
        self.needs_start = False
        """Whether the unchanged run is missing that the goals are compared with."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Backspace to the text field."""
        if action == "put_back" and isinstance(self.screen.focused, Entry):
            return False
        return super().check_action(action, parameters)

    @property
    def how(self) -> str:
        return f"Space changes it, Backspace resets it, {key_name('lesson.run')} runs"

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt)

    def compose_entry(self) -> ComposeResult:
        yield Static("", classes="line knobs", markup=False)
        with Horizontal(classes="entry"):
            yield Static("", classes="label", markup=False)
            yield Entry("a value", self._entered, self._left)
            yield Static("", classes="unit", markup=False)
        yield Static("", classes="line targets", markup=False)

    def on_mount(self) -> None:
        self.query_one(".entry").display = False
        super().on_mount()

    # State from the study

    def show_record(self, record: ActivityRecord) -> None:
        """Show earlier work; the knobs take the values of the last run."""
        if (
            record.latest is not None
            and self._record.latest is None
            and not self.activity.changed_knobs(self.values)
        ):
            self.values = self.activity.knobs_of(record.latest.answer)
        self._record = record
        self.draw()

    def show_states(self, states: tuple[TargetState, ...], values: dict[str, str]) -> None:
        """Show the goals' states after a run with the given values."""
        self._states, self._run_values = states, values
        self.draw()

    def show_answer(self, given: Given) -> None:  # noqa: ARG002  # the knobs show the latest run
        self.is_locked = False  # the score can still improve

    def feedback(self, response: MarkedResponse) -> Content:
        if not response.mark.correct:
            return Content.assemble(("✗ Not yet. ", "$error bold"), response.mark.feedback)
        standing = self.activity.describe_status(self._record)
        lines = [Content.assemble(("✓ ", "$success bold"), f"{standing[:1].upper()}{standing[1:]}.")]
        if response.explanation:
            lines.append(paragraphs(response.explanation))
        return Content("\n").join(lines)

    # Knobs

    @property
    def knob(self) -> Knob:
        """Knob at the cursor."""
        return self.activity.knobs[self.cursor]

    def lines(self) -> list[tuple[str, str, bool]]:
        changed = self.activity.changed_knobs(self.values)
        return [
            (CHANGED if knob.name in changed else UNCHANGED, knob.label, knob.name in changed)
            for knob in self.activity.knobs
        ]

    def start_typing(self, text: str) -> bool:
        if self.knob.choices:
            return False
        self._open(text)
        return True

    def pick(self, number: int) -> None:
        """Set the knob to the choice of that number."""
        choices = self.knob.values(self.activity.experiment)
        if 1 <= number <= len(choices):
            self.screen.set_focus(self)
            self._set_knob(choices[number - 1])

    def action_pick_here(self) -> None:
        self.take()

    def take(self) -> None:
        """Set the knob to its next choice, or open the field for a number."""
        choices = self.knob.values(self.activity.experiment)
        if not choices:
            self._open()
            return
        self._set_knob(choices[(choices.index(self.values[self.knob.name]) + 1) % len(choices)])

    def submit(self) -> None:
        self.take()

    def action_put_back(self) -> None:
        self._set_knob(self.activity.start[self.knob.name])

    @property
    def draft(self) -> Draft | None:
        return dict(self.values) if self.activity.changed_knobs(self.values) else None

    def restore_draft(self, draft: Draft) -> None:
        if not isinstance(draft, dict) or set(draft) != set(self.values):
            return
        with contextlib.suppress(UsageError):  # the lesson's knobs or bounds have changed since
            self.activity.experiment_with(draft)
            self.values = dict(draft)
            self.draw()
            self.change_handler()

    def _set_knob(self, value: str) -> None:
        self.values = {**self.values, self.knob.name: value}
        self.clear_error()
        self.post_message(self.DraftChanged())
        self.draw()
        self.change_handler()

    # Typed numbers

    def _open(self, text: str = "") -> None:
        knob, start = self.knob, self.activity.experiment
        entry = self.query_one(Entry)
        self.query_one(".label", Static).update(Content(f"{knob.label}, {knob.bounds(start)}: "))
        self.query_one(".unit", Static).update(Content(f" {knob.unit(start)}"))
        self.query_one(".entry").display = True
        entry.clear()
        self.screen.set_focus(entry)
        self.draw()
        if text:
            entry.insert_text_at_cursor(text)

    def _entered(self) -> None:
        text = self.query_one(Entry).value.strip()
        if not text:
            self._left()
            return
        try:
            if self.knob.unit(self.activity.experiment) and units.is_plain(text):
                text = f"{text} {self.knob.unit(self.activity.experiment)}"
            value = self.knob.read(text, self.activity.experiment)
        except UsageError as error:
            self.show_error(str(error))
            return
        self._left()
        self._set_knob(value)

    def _left(self) -> None:
        self.screen.set_focus(self, scroll_visible=False)
        self.query_one(".entry").display = False

    # Drawing

    def draw(self) -> None:
        if not self.is_mounted:
            return
        self.query_one(".knobs", Static).update(Content("\n").join(self._knob_lines()))
        self.query_one(".targets", Static).update(Content("\n").join(self._target_lines()))

    def _knob_lines(self) -> list[Content]:
        names = max(len(knob.label) for knob in self.activity.knobs)
        width = max(map(len, self.values.values()))
        start, entries = self.activity.start, self.lines()
        is_active = self.is_active
        lines = []
        for place, (knob, (sign, label, changed)) in enumerate(
            zip(self.activity.knobs, entries, strict=True)
        ):
            at_cursor = is_active and place == self.cursor
            value = self.values[knob.name].ljust(width)
            lines.append(
                Content.assemble(
                    ("› " if at_cursor else "  ", "bold $accent"),
                    (label.ljust(names), "bold" if at_cursor else ""),
                    f"  {sign} ",
                    (value, "bold" if changed else ""),
                    (f"  at first {start[knob.name]}" if changed else "", "$text-muted"),
                )
            )
        about = f"{self.knob.help}: {self.knob.bounds(self.activity.experiment)}"
        return [*lines, Content.styled(f"  {self.knob.label}: {about}", "$text-muted")]

    def _target_lines(self) -> list[Content]:
        still_open = (LOADING, "$text-muted") if self.loading_run else (OPEN, "bold")
        signs = [(REACHED, "$success bold") if state.reached else still_open for state in self._states]
        lines = [
            Content.assemble(
                sign, " ", inline(state.text), (f"  {state.found}" if state.found else "", "bold")
            )
            for sign, state in zip(signs, self._states, strict=True)
        ]
        return [*lines, Content.styled(self._standing(), "$text-muted")]

    def _standing(self) -> str:
        changes = count_of(len(self.activity.changed_knobs(self.values)))
        parts = [f"Par: {count_of(self.activity.par)}; now {changes}."]
        if self.loading_run:
            parts.append("Loading your last run …")
        elif self.needs_start and self.activity.changed_knobs(self.values):
            parts.append("Run it unchanged first: the goals compare with that run.")
        elif self._run_values is None:
            parts.append(f"{key_name('lesson.run')} runs it.")
        elif self._run_values != self.values:
            parts.append(
                f"The signs are of the previous run: {key_name('lesson.run')} runs it with these values."
            )
        return " ".join(parts)
