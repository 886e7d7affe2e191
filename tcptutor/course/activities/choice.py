"""Questions answered by choosing: the right alternatives, or the right order of events."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import ClassVar

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.course import personal
from tcptutor.course.activity import (
    NO_RUN,
    Mark,
    MarkContext,
    Problem,
    Question,
    Reference,
    entry_problems,
    text_id,
)
from tcptutor.course.page_record import Given
from tcptutor.spec import Experiment

MIN_CHOICES = 3


class Alternative(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Alternative of a question: `[[question.choice]]`."""

    text: str
    """The choice, as it is shown."""
    id: str = ""
    """Name that stored answers keep when the text is corrected; by default a digest of the text."""
    correct: bool = False
    """True for a right choice; several choices may be right."""
    feedback: str
    """Reason it is right or wrong, shown after it was chosen."""
    explanation: str = ""
    """Full explanation of a wrong choice, shown to a student who was sure of it."""
    fixed: bool = False
    """True if it keeps its place when the others are shuffled, such as "all of these"."""


class ChoiceQuestion(Question, frozen=True, kw_only=True):
    """Base of single and multiple choice. A response is the ids of the chosen alternatives."""

    several: ClassVar[bool]
    """True if several may be chosen."""

    choices: tuple[Alternative, ...] = msgspec.field(default=(), name="choice")
    few_choices: str = ""
    """Reason for fewer choices than the linter asks for; empty with enough."""

    @property
    def listed(self) -> tuple[str, ...]:
        return tuple(choice.text for choice in self.choices)

    @property
    def entry_ids(self) -> tuple[str, ...]:
        return tuple(choice.id or text_id(choice.text) for choice in self.choices)

    def shown_order(self, seed: str) -> tuple[int, ...]:
        fixed = [index for index, choice in enumerate(self.choices) if choice.fixed]
        return personal.shuffled(seed, len(self.choices), fixed)

    @property
    def right(self) -> tuple[int, ...]:
        """Indexes of the right choices in the lesson file, from 0."""
        return tuple(index for index, choice in enumerate(self.choices) if choice.correct)

    def contradiction(self) -> Problem | None:
        right = len(self.right)
        if len(self.choices) < 2:
            return "choice", "a question needs at least two choices"
        if not right:
            return "choice", "no choice is correct: set `correct = true` on the right one"
        if right > 1 and not self.several:
            return "choice", f"{right} choices are correct: set kind = 'multiple', or keep one"
        if len(set(self.entry_ids)) < len(self.choices):
            return "choice", "two choices have the same text or id: stored answers could not tell them apart"
        return None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        if len(self.choices) < MIN_CHOICES and not self.few_choices:
            yield "choice", f"{len(self.choices)} choices are too few: give {MIN_CHOICES} or more"
        yield from entry_problems("choice", tuple((choice.text, choice.feedback) for choice in self.choices))

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=tuple(self.entry_ids[index] for index in self.right), empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        chosen = frozenset(self.entry_indexes(given, "a choice"))
        if not chosen:
            raise UsageError("no answer is chosen yet: choose one first")
        if len(chosen) > 1 and not self.several:
            raise UsageError("this question has one answer: choose the best one")
        right = frozenset(self.right)
        # Feedback on a wrong choice helps more than praise for the right ones.
        shown = sorted(chosen - right or chosen)
        feedback = [self.choices[index].feedback for index in shown]
        if missed := len(right - chosen) if self.several else 0:
            missing = f"{missed} right {'answer is' if missed == 1 else 'answers are'} still missing."
            # The praise for right choices would read as what is wrong.
            feedback = [*feedback, missing] if chosen - right else [f"What you chose is right, but {missing}"]
        details = [self.choices[index].explanation for index in shown if index not in right]
        return Mark(
            correct=chosen == right,
            feedback="\n\n".join(feedback),
            detail="\n\n".join(filter(None, details)),
        )


class SingleChoice(ChoiceQuestion, frozen=True, kw_only=True, tag_field="kind", tag="single"):
    """Question with a single right choice."""

    several: ClassVar[bool] = False


class MultipleChoice(ChoiceQuestion, frozen=True, kw_only=True, tag_field="kind", tag="multiple"):
    """Question answered by the set of all correct choices."""

    several: ClassVar[bool] = True


MIN_EVENTS = 3


class OrderedEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Event of the sequence: `[[question.event]]`."""

    text: str
    """The event, as it is shown."""
    id: str = ""
    """Name that stored answers keep when the text is corrected; by default a digest of the text."""
    feedback: str
    """Reason for its position, shown while it is misplaced."""


class Order(Question, frozen=True, kw_only=True, tag_field="kind", tag="order"):
    """Question answered with the ids of all events, in the student's order."""

    entry_name: ClassVar[str] = "event"

    events: tuple[OrderedEvent, ...] = msgspec.field(default=(), name="event")
    """In the right order; the page shuffles them."""

    def contradiction(self) -> Problem | None:
        if len(self.events) < 2:
            return "event", "an order needs at least two events"
        if len(set(self.entry_ids)) < len(self.events):
            return "event", "two events have the same text or id: stored answers could not tell them apart"
        return None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        if len(self.events) < MIN_EVENTS:
            yield "event", f"{len(self.events)} events are too few: give {MIN_EVENTS} or more"
        yield from entry_problems("event", tuple((event.text, event.feedback) for event in self.events))

    @property
    def listed(self) -> tuple[str, ...]:
        return tuple(event.text for event in self.events)

    @property
    def entry_ids(self) -> tuple[str, ...]:
        return tuple(event.id or text_id(event.text) for event in self.events)

    def shown_order(self, seed: str) -> tuple[int, ...]:
        """Return the initial order of the events, which is never right."""
        order = personal.shuffled(seed, len(self.events))
        return order if list(order) != sorted(order) else order[1:] + order[:1]

    def misplaced(self, order: tuple[int, ...]) -> frozenset[int]:
        """Return the fewest events to move, outside a longest increasing subsequence."""
        ends: list[int] = []
        """Smallest last event of an increasing subsequence, by length."""
        before: dict[int, int | None] = {}
        for event in order:
            at = bisect_left(ends, event)
            before[event] = ends[at - 1] if at else None
            ends[at : at + 1] = [event]
        in_order: set[int] = set()
        last = ends[-1] if ends else None
        while last is not None:
            in_order.add(last)
            last = before[last]
        return frozenset(order) - in_order

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=self.entry_ids, empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        order = self.entry_indexes(given, "an order")
        if sorted(order) != list(range(len(self.events))):
            raise UsageError(f"put all {len(self.events)} events in order first")
        wrong = self.misplaced(order)
        feedback = [
            f"“{event.text}”: {event.feedback}" for index, event in enumerate(self.events) if index in wrong
        ]
        return Mark(correct=not wrong, feedback="\n\n".join(feedback) or "That is the right order.")


TABLES = (SingleChoice, MultipleChoice, Order)
