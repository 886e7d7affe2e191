"""A finished page as a reference: its idea, a calculator for its formula, the student's run and answers."""

from __future__ import annotations

from typing import Any

import msgspec

from tcptutor.course import Course, load
from tcptutor.course.page_record import TeacherComment
from tcptutor.journal import Journal
from tcptutor.theory.catalogue import MODELS
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.reference import calculated, example

from .made import MODULE, STEP, one_page
from .screen import keys, text, until_text
from .test_footer import question


def with_idea() -> Course:
    course = one_page(question("red"))
    (module,) = course.modules
    (step,) = module.steps
    step = msgspec.structs.replace(step, idea="Red is a color.", formula="window_limited")
    return msgspec.structs.replace(course, modules=(msgspec.structs.replace(module, steps=(step,)),))


async def test_a_finished_page_shows_the_comments_of_the_teacher(journal: Journal, lab: Any) -> None:
    journal.comment(MODULE, STEP, TeacherComment("Red is a color.", "red", by="Dr. Who"))
    app = TutorApp(one_page(question("red")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Is it red?")
        await pilot.press("tab", "1", "enter")
        await until_text(pilot, "✓ Right. It is.")
        await pilot.press("escape", "equals_sign")
        await until_text(pilot, "Your teacher  Dr. Who")
        assert "Red is a color." in text(app)


async def test_a_finished_page_shows_its_idea_and_calculates(journal: Journal, lab: Any) -> None:
    app = TutorApp(with_idea(), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Is it red?")
        await pilot.press("equals_sign")
        assert "Red is a color." not in text(app)
        journal.note(MODULE, STEP, "like a rose")
        await pilot.press("tab", "1", "enter")
        await until_text(pilot, "✓ Right. It is.")
        await pilot.press("escape", "equals_sign")
        await until_text(pilot, "Red is a color.")
        assert "8 window / rtt" in text(app) and "like a rose" in text(app) and "✓ Is it red?" in text(app)
        await pilot.press("ctrl+u", *keys("window=1MB rtt=80ms"))
        await until_text(pilot, "= 100 Mbit/s")
        await pilot.press("ctrl+u", *keys("window=1MB"))
        await until_text(pilot, "window_limited needs rtt")


def calculation(course: Course, page: str) -> str:
    step = next(step for module in course.modules for step in module.steps if step.id == page)
    model = MODELS[step.formula]
    return calculated(model, example(model, step.network)).plain


def test_the_calculator_starts_with_the_network_of_the_page() -> None:
    course = load()
    assert calculation(course, "four-lossy-flows").startswith("= 35.89 Mbit/s ")
    assert calculation(course, "larger-segments").startswith("= 55.45 Mbit/s ")
    assert calculation(course, "what-a-neighbour-keeps").startswith("= 9.564 Mbit/s ")


def test_the_calculator_says_how_it_read_each_argument() -> None:
    fraction = calculated(MODELS["mathis"], "mss=1448 rtt=50ms loss=0.1").plain
    assert "mss 1448 bytes, rtt 50 ms, loss 10 %" in fraction
    assert calculated(MODELS["mathis"], " mss = 1448 rtt= 50 ms  loss=10 % ").plain == fraction
