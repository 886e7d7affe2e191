"""The check at a module's end: many questions on one page, one after the other, in a small terminal."""

from __future__ import annotations

import pytest

from tcptutor.course.activities.choice import Alternative, MultipleChoice, Order, OrderedEvent, SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activity import Question
from tcptutor.ui.widgets.page.entries import Entry
from tcptutor.ui.widgets.page.page import Page

from .made import MODULE, one_page
from .screen import keys, text, until, until_text

HINTS = ("Think of the window.", "And of the RTT that it takes.")


def single(number: int) -> Question:
    return SingleChoice(
        id=f"single-{number}",
        prompt=f"Question number {number}: what does a loss do to the congestion window of one flow among several?",
        hints=HINTS,
        explanation=f"Explained {number}.",
        page="page",
        choices=(
            Alternative(
                text="It halves it, and the others go on as before", correct=True, feedback="Yes.", fixed=True
            ),
            Alternative(
                fixed=True,
                text="It sets it to one segment, as a timeout would",
                feedback="No timeout is needed here.",
            ),
            Alternative(
                fixed=True,
                text="Nothing: the receiver repairs it",
                feedback="The receiver cannot know the bytes.",
            ),
        ),
    )


QUESTIONS: tuple[Question, ...] = (
    single(1),
    Numeric(
        id="window",
        prompt="A window of {window} in each RTT of 8 ms: what throughput?",
        unit="rate",
        answer="window * 8 / 0.008",
        hints=HINTS,
        feedback="Divide by the RTT.",
        draw={"window": ("10 kB", "20 kB", "30 kB")},
    ),
    single(3),
    MultipleChoice(
        id="several",
        prompt="Which grow?",
        hints=HINTS,
        choices=(
            Alternative(text="The window", correct=True, feedback="Yes.", fixed=True),
            Alternative(text="The queue", correct=True, feedback="Yes.", fixed=True),
            Alternative(text="The link", feedback="It stays.", fixed=True),
        ),
    ),
    Order(
        id="order",
        prompt="What comes first?",
        hints=HINTS,
        events=tuple(
            OrderedEvent(text=each, feedback="Look again.") for each in ("A loss", "Its repair", "The ACK")
        ),
    ),
    single(6),
    Numeric(
        id="delay", prompt="What is the RTT?", answer="20 ms", unit="time", hints=HINTS, feedback="The delay."
    ),
    single(8),
)
PAGE = one_page(*QUESTIONS)


def is_whole(app) -> bool:
    """Whether the box that has the focus is on the screen from its first to its last line."""
    page = app.screen.query_one(Page)
    box = page.active_box()
    return box is not None and page.scrollable_content_region.contains_region(box.region)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
async def test_tab_goes_through_the_open_questions_each_whole_on_the_screen(make_app, size) -> None:
    async with make_app(MODULE, of=PAGE).run_test(size=size) as pilot:
        await until_text(pilot, "0 of 8 right")
        await pilot.press("tab")
        await until(pilot, lambda: is_whole(pilot.app))
        await pilot.press("1", "enter")
        await until_text(pilot, "1 of 8 right")
        await until_text(pilot, "Explained 1.")
        # A drawn number, not yet right: it stays in front of the student.
        await pilot.press("tab", *keys("3"), "enter")
        await until_text(pilot, "✗ Not yet.")
        await until(pilot, lambda: is_whole(pilot.app))
        await pilot.press("escape", "tab")
        assert isinstance(pilot.app.focused, Entry), "Esc may have been for a hint: Tab leads back"
        await pilot.press("tab")
        await until_text(pilot, "Question number 3")
        await until(pilot, lambda: is_whole(pilot.app))
        await pilot.press("2", "enter")
        await until_text(pilot, "It is explained on page 1, “A page”.")
        await until(pilot, lambda: is_whole(pilot.app))
        assert "1 of 8 right" in text(pilot.app)


async def test_a_page_with_few_questions_does_not_count_them(make_app) -> None:
    async with make_app(MODULE, of=one_page(*QUESTIONS[:3])).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Question number 1")
        assert "of 3 right" not in text(pilot.app)
