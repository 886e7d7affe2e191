"""Order: put events into their sequence."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.course.activity import (
    NO_RUN,
    Mark,
    MarkContext,
    Problem,
    Question,
    Reference,
    chosen_indexes,
    entry_problems,
)
from tcptutor.course.page_record import Given
from tcptutor.spec import Experiment

MIN_EVENTS = 3


class OrderedEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Event of the sequence: `[[question.event]]`."""

    text: str
    feedback: str
    """Reason for its position, shown while it is misplaced."""


class Order(Question, frozen=True, kw_only=True, tag_field="kind", tag="order"):
    """Question answered with all event indexes in the student's order."""

    events: tuple[OrderedEvent, ...] = msgspec.field(default=(), name="event")
    """In the right order; the page shuffles them."""

    def contradiction(self) -> Problem | None:
        if len(self.events) < 2:
            return "event", "an order needs at least two events"
        return None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        if len(self.events) < MIN_EVENTS:
            yield "event", f"{len(self.events)} events are too few: give {MIN_EVENTS} or more"
        yield from entry_problems("event", tuple((event.text, event.feedback) for event in self.events))

    @property
    def mixed(self) -> tuple[int, ...]:
        """Initial order on the page: the same on every machine, and never right."""
        order = list(range(len(self.events)))
        random.Random(self.id).shuffle(order)
        return tuple(order if order != sorted(order) else order[1:] + order[:1])

    def misplaced(self, given: tuple[int, ...]) -> frozenset[int]:
        """Return the fewest events to move, outside a longest increasing subsequence."""
        ends: list[int] = []
        """Smallest last event of an increasing subsequence, by length."""
        before: dict[int, int | None] = {}
        for event in given:
            at = bisect_left(ends, event)
            before[event] = ends[at - 1] if at else None
            ends[at : at + 1] = [event]
        in_order: set[int] = set()
        last = ends[-1] if ends else None
        while last is not None:
            in_order.add(last)
            last = before[last]
        return frozenset(given) - in_order

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=tuple(range(len(self.events))), empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        order = chosen_indexes(given, "an order")
        if sorted(order) != list(range(len(self.events))):
            raise UsageError(f"put all {len(self.events)} events in order first")
        wrong = self.misplaced(order)
        feedback = [
            f"“{event.text}”: {event.feedback}" for index, event in enumerate(self.events) if index in wrong
        ]
        return Mark(correct=not wrong, feedback="\n\n".join(feedback) or "That is the right order.")


TABLES = (Order,)
