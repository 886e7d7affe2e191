"""Students' histories with one question of a small course, for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activity import Activity
from tcptutor.course.marks import MarkScheme
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import Response, Sureness
from tcptutor.course.step import Step
from tcptutor.journal.events import Hinted, JournalEvent, Responded, Reviewed
from tests.chosen import chosen

MODULE, STEP = "m", "page"
DAY_0 = datetime(2026, 3, 2, 9, tzinfo=UTC)

CHOICE = SingleChoice(
    id="which",
    prompt="What limits it?",
    hints=("Look at the link.", "Look at the losses."),
    explanation="A loss halves cwnd.",
    choices=(
        Alternative(text="The link", feedback="It is empty.", fixed=True),
        Alternative(text="Loss", correct=True, feedback="Each one does.", fixed=True),
        Alternative(text="The queue", feedback="It is empty too.", fixed=True),
    ),
)
NUMBER = Numeric(
    id="number",
    prompt="How much fits into a pipe of {rate} and {rtt}?",
    hints=("Multiply.", "Rate times RTT."),
    explanation="{rate} times {rtt} is {answer}.",
    answer="rate * rtt / 8",
    unit="size",
    feedback="Multiply rate and RTT.",
    draw={"rate": ("8 Mbit/s", "16 Mbit/s", "24 Mbit/s"), "rtt": ("10 ms", "20 ms", "30 ms", "40 ms")},
)


def course(*activities: Activity, deadline: str = "") -> Course:
    """A module of one page with these."""
    step = Step(id=STEP, title="A page", prose="Read this.", activities=activities)
    module = Module(id=MODULE, number=1, title="M", objectives=(), sources=(), steps=(step,))
    return Course(title="One page", modules=(module,), marks=MarkScheme(deadline=deadline))


def at(days: float) -> str:
    """So many days after the first."""
    return (DAY_0 + timedelta(days=days)).isoformat()


def day(number: int) -> int:
    """The day so many after the first, as cards have it."""
    return DAY_0.toordinal() + number


def answered(
    days: float, right: bool, sureness: Sureness | None = None, *, id: str = CHOICE.id
) -> JournalEvent:
    """An answer on the page."""
    return Responded(at(days), MODULE, STEP, id, response(right, sureness))


def reviewed(
    days: float, right: bool, sureness: Sureness | None = None, hints: int = 0, *, id: str = CHOICE.id
) -> JournalEvent:
    """An answer in a review."""
    return Reviewed(at(days), MODULE, STEP, id, response(right, sureness), hints)


def hinted(days: float, *, id: str = CHOICE.id) -> JournalEvent:
    """A hint on the page."""
    return Hinted(at(days), MODULE, STEP, id, 1)


def response(right: bool, sureness: Sureness | None = None) -> Response:
    return msgspec.structs.replace(Response(chosen(CHOICE, int(right)), right), sureness=sureness)
