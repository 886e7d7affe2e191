"""What the find box knows of the course and of the student: no answer that was not given or shown yet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Response
from tcptutor.course.step import Step
from tcptutor.journal import Journal
from tcptutor.study.matching import Hit, search
from tcptutor.ui.find_index import FindIndex
from tcptutor.ui.screens.find import FindScreen, IndexedEntry
from tcptutor.ui.screens.lesson import LessonScreen
from tests.chosen import chosen

from .screen import keys, press_at_once, text, until, until_text
from .test_paths import course

ASKED = SingleChoice(
    id="q",
    prompt="Who halves its *window*?",
    choices=(
        Alternative(text="the sender", correct=True, feedback="This is right."),
        Alternative(text="the receiver", feedback="That is wrong."),
    ),
    explanation="A sender halves cwnd after a loss, as politeness asks.",
)


def asking() -> Course:
    """The course of two paths; page c asks a question, and is about a zigzag."""
    whole = course()
    first = whole.modules[0]

    def changed(step: Step) -> Step:
        prose = "An idea comes first. A flow draws a **zigzag** then. It goes on."
        return msgspec.structs.replace(step, activities=(ASKED,), prose=prose) if step.id == "c" else step

    first = msgspec.structs.replace(first, steps=tuple(map(changed, first.steps)))
    return msgspec.structs.replace(whole, modules=(first, *whole.modules[1:]))


class Student:
    def __init__(self, app: Any, journal: Journal) -> None:
        self.index, self.journal = FindIndex(app), journal

    def finds(self, query: str) -> list[Hit]:
        return search(query, self.index.update(self.journal.record))


@pytest.fixture
def student(make_app: Any, journal: Journal) -> Student:
    return Student(make_app(of=asking()), journal)


def test_a_question_is_found_on_visited_pages_its_explanation_once_it_was_shown(student: Student) -> None:
    assert not student.finds("halves")
    student.journal.visit("first", "c")
    (found,) = student.finds("halves")
    assert found.entry.kind == "question 1.3"
    assert not student.finds("politeness") and not student.finds("the sender halves")
    student.journal.respond("first", "c", "q", Response(chosen(ASKED, 1), False))
    (found,) = student.finds("halves")
    assert "the receiver" in found.about
    assert not student.finds("politeness")
    student.journal.respond("first", "c", "q", Response(chosen(ASKED, 0), True))
    (found,) = student.finds("halves")
    assert "the sender" in found.about
    assert [hit.entry for hit in student.finds("politeness")] == [found.entry]


def test_a_reset_page_gives_no_answer_away(student: Student) -> None:
    student.journal.visit("first", "c")
    student.journal.respond("first", "c", "q", Response(chosen(ASKED, 0), True))
    assert student.finds("politeness")
    student.journal.reset("first", "c")
    assert not student.finds("halves")


def test_a_page_is_found_by_its_text_with_the_sentence(student: Student) -> None:
    (found,) = student.finds("zigzag")
    assert found.about.startswith("A flow draws a zigzag")
    ((start, end),) = found.about_spans
    assert found.about[start:end] == "zigzag"


def test_formulas_are_found(student: Student) -> None:
    hits = student.finds("bandwidth-delay product")
    assert ("formulas", "Bandwidth-delay product") in [(hit.group, hit.entry.title) for hit in hits]
    assert student.finds("padhye")[0].group == "formulas"


async def test_slash_finds_without_commands_and_goes(make_app: Any, journal: Journal) -> None:
    app = make_app("first", of=asking())
    journal.visit("first", "a")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_complete)
        press_at_once(app, "slash", *keys("zigzag"))
        await until_text(pilot, "In the text")
        await until_text(pilot, "A flow draws a zigzag")
        assert "Now" not in text(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.step.id == "c")


@pytest.mark.usefixtures("folding")
async def test_a_question_opens_at_its_box_with_the_answer_and_explanation(
    make_app: Any, journal: Journal
) -> None:
    whole = asking()
    first = whole.modules[0]
    long = "\n\n".join(f"Paragraph {number}." for number in range(40))
    steps = tuple(
        msgspec.structs.replace(step, prose=long) if step.id == "c" else step for step in first.steps
    )
    whole = msgspec.structs.replace(whole, modules=(msgspec.structs.replace(first, steps=steps),))
    journal.visit("first", "c")
    journal.respond("first", "c", "q", Response(chosen(ASKED, 0), True))
    journal.visit("first", "a")
    app = make_app("first", of=whole)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_complete)
        press_at_once(app, "slash", *keys("politeness"), "enter")
        await until_text(pilot, "as politeness asks")
        assert "Paragraph 1." not in text(app)


async def test_runs_that_are_read_while_the_box_closes_are_left_alone(make_app: Any) -> None:
    async def find_runs() -> Sequence[IndexedEntry]:
        reading.set()
        while box.query("#find-about"):  # noqa: ASYNC110  # the box is taken apart before its workers are stopped
            await asyncio.sleep(0)
        return []

    reading = asyncio.Event()
    box = FindScreen([], find_runs, "pages")
    app = make_app("first", of=asking())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_complete)
        app.push_screen(box)
        await reading.wait()
        await pilot.press("x", "escape")
        await until(pilot, lambda: isinstance(app.screen, LessonScreen))
        await pilot.pause()
