"""Rules of a graded course on home and pages, for enrolled students alone."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.journal import Journal

from .made import MODULE, STEP, one_page
from .screen import text, until, until_text

RULE = "1 mark; each wrong try halves it; a hint takes a fifth"
CHOICE = SingleChoice(
    id="which",
    prompt="Which?",
    choices=(
        Alternative(text="This", correct=True, feedback="Yes."),
        Alternative(text="That", feedback="No."),
        Alternative(text="Neither", feedback="No."),
    ),
    hints=("Think.", "Think again."),
    explanation="So.",
)
PAGE = one_page(CHOICE)


async def test_who_studies_alone_reads_of_no_marks(make_app, journal: Journal) -> None:
    async with make_app(MODULE, of=PAGE).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "h: hint 1 of 2")
        assert "mark" not in text(pilot.app)
        await pilot.press("M", "h")
        await until_text(pilot, "hint 1 of 2: Think.")


async def test_an_enrolled_student_reads_the_costs_before_they_arise(make_app, journal: Journal) -> None:
    journal.enrol("ada", "ABCD-EFGH-2345-WXQG")
    async with make_app(MODULE, of=PAGE).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, f"h: hint 1 of 2   {RULE}")
        await pilot.press("h")
        await until_text(pilot, "Take hint 1 of 2?")
        await until_text(pilot, "takes a fifth")
        await pilot.press("escape")
        await until(pilot, lambda: "Take hint" not in text(pilot.app))
        assert journal.page(MODULE, STEP).activity("which").hints == 0
        await pilot.press("h", "y")
        await until_text(pilot, "hint 1 of 2: Think.")
        assert journal.page(MODULE, STEP).activity("which").hints == 1
        await pilot.press("M")
        await until_text(pilot, "ada, in the course ABCD-EFGH-2345-WXQG")


async def test_a_page_that_does_not_count_promises_no_marks(make_app, journal: Journal) -> None:
    journal.enrol("ada", "ABCD-EFGH-2345-WXQG")
    marks = msgspec.structs.replace(PAGE.marks, path="essential")
    module = PAGE.modules[0]
    deeper = msgspec.structs.replace(module.steps[0], path="deeper", teaser="more")
    course = msgspec.structs.replace(
        PAGE, marks=marks, modules=(msgspec.structs.replace(module, steps=(deeper,)),)
    )
    async with make_app(MODULE, of=course).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "h: hint 1 of 2")
        assert RULE not in text(pilot.app)
        await pilot.press("h")
        await until_text(pilot, "hint 1 of 2: Think.")


@pytest.mark.parametrize("deadline", ["2020-01-31T23:59+00:00", "2999-01-31T23:59+00:00"])
async def test_home_shows_a_deadline_also_before_enrolling(make_app, journal: Journal, deadline: str) -> None:
    course = msgspec.structs.replace(PAGE, marks=msgspec.structs.replace(PAGE.marks, deadline=deadline))
    async with make_app(of=course).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "was due" if deadline < "2900" else "· due")
        await pilot.press("M")
        await until_text(pilot, "You are not enrolled")
