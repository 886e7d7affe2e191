"""The two paths through the course, and the pre-test that proposes what to skip."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.activity import text_id
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import Response
from tcptutor.course.paths import PRETEST
from tcptutor.course.step import Step
from tcptutor.journal import Journal
from tcptutor.study.pages import branch, next_on_path, path_progress, resume
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.widgets.page.lists import ChoiceBox
from tcptutor.ui.widgets.page.onward import OnwardLines

from .screen import click, page_states, press_at_once, text, until, until_text

SIZES = [(80, 24), (120, 36)]


def page(id: str, teaser: str = "") -> Step:
    return Step(
        id=id,
        title=f"Page {id}",
        prose="Words.",
        path="deeper" if teaser else "essential",
        teaser=teaser,
    )


def question(id: str, *skips: str) -> SingleChoice:
    choices = (
        Alternative(text="this", correct=True, feedback="This is right."),
        Alternative(text="that", feedback="That is wrong."),
    )
    return SingleChoice(id=id, prompt=f"Which, {id}?", choices=choices, skips=skips)


def course() -> Course:
    """Essential pages a, c, d and f, deeper pages b and e; a pre-test about a and c."""
    steps = (page("a"), page("b", "why b"), page("c"), page("d"), page("e", "how e"), page("f"))
    pretest = Step(
        id=PRETEST,
        title="What you know",
        prose="Skip it by n.",
        activities=(question("qa", "a"), question("qc", "c"), question("qac", "c")),
    )
    first = Module(
        id="first",
        number=1,
        title="First",
        objectives=(),
        sources=(),
        steps=steps,
        read_pretest=lambda: pretest,
    )
    second = Module(id="second", number=2, title="Second", objectives=(), sources=(), steps=(page("g"),))
    return Course(title="Two paths", modules=(first, second))


def answered(journal: Journal, id: str, *, correct: bool = True) -> None:
    journal.respond("first", PRETEST, id, Response((text_id("this" if correct else "that"),), correct))


def path_from(course: Course, journal: Journal, step: str) -> list[str]:
    """Ids of the pages that Enter visits."""
    module = course.modules[0]
    here = next(each for each in module.steps if each.id == step)
    found = []
    while (place := next_on_path(course, module, here, journal)) is not None:
        module, here = place
        found.append(here.id)
    return found


def test_the_essentials_leave_out_the_deeper_pages(journal: Journal) -> None:
    assert path_from(course(), journal, "a") == ["c", "d", "f", "g"]
    journal.choose_path("everything")
    assert path_from(course(), journal, "a") == ["b", "c", "d", "e", "f", "g"]


def test_a_deeper_page_leads_back_to_the_essentials(journal: Journal) -> None:
    assert path_from(course(), journal, "e") == ["f", "g"]


def test_a_page_is_known_when_every_question_about_it_was_right_at_once(journal: Journal) -> None:
    journal.visit("first", PRETEST)
    answered(journal, "qa")
    answered(journal, "qc")
    answered(journal, "qac", correct=False)
    answered(journal, "qac")
    found = journal.progress(course())["first"]
    assert found.known == (True, False, False, False, False, False)


def test_known_pages_are_passed_over_and_cost_no_time(journal: Journal) -> None:
    whole = course()
    module = whole.modules[0]
    before = path_progress(module, journal.progress(whole)["first"], "essential")
    for id in ("qa", "qc", "qac"):
        answered(journal, id)
    journal.visit("first", PRETEST)
    assert path_from(whole, journal, "a") == ["d", "f", "g"]
    known = journal.progress(whole)["first"]
    after = path_progress(module, known, "essential")
    assert before is not None and after is not None
    assert (before.done, before.total) == (after.done, after.total) == (0, 4)
    assert [each.id for each in branch(whole, module, module.pretest, journal).passed_over] == ["a", "c"]


def test_a_hint_leaves_a_page_unknown(journal: Journal) -> None:
    journal.visit("first", PRETEST)
    journal.hint("first", PRETEST, "qa", 1)
    answered(journal, "qa")
    assert not journal.progress(course())["first"].known


def test_a_module_opens_with_its_pretest_once(journal: Journal) -> None:
    module = course().modules[0]
    assert resume(journal, module) is module.pretest
    journal.visit("first", "a")
    journal.visit("second", "g")
    assert resume(journal, module) == module.steps[2]


def shown(app: Any) -> str:
    screen = app.screen
    return screen.step.id if isinstance(screen, LessonScreen) and screen.is_seen else ""


@pytest.mark.parametrize("size", SIZES)
async def test_shift_p_changes_the_path_and_enter_follows_it(
    make_app: Any, journal: Journal, size: tuple[int, int]
) -> None:
    app = make_app(of=course())
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "▸ Essentials  5 pages")
        await pilot.press("P")
        await until_text(pilot, "▸ Everything  7 pages")
        assert journal.record.path == "everything"
        await pilot.press("P")
        await until_text(pilot, "▸ Essentials")
        await pilot.press("enter")
        await until(pilot, lambda: shown(app) == PRETEST)
        await until_text(pilot, "pre-test")
        for id in ("a", "c", "d", "f"):
            await pilot.press("enter")
            await until(pilot, lambda id=id: shown(app) == id)


@pytest.mark.parametrize("size", SIZES)
async def test_a_branch_offers_the_deeper_page_and_the_arrows_reach_every_page(
    make_app: Any, journal: Journal, size: tuple[int, int]
) -> None:
    journal.visit("first", "a")
    app = make_app("first", of=course())
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "D      Deeper: why b, 1 min")
        await until_text(pilot, "Enter  Page c")
        await pilot.press("D")
        await until_text(pilot, "Enter  back to the essentials: Page c")
        assert shown(app) == "b"
        for key, id in (("left", "a"), ("left", PRETEST), ("right", "a"), ("]", "b"), ("right", "c")):
            await pilot.press(key)
            await until(pilot, lambda id=id: shown(app) == id)


async def test_a_click_opens_the_deeper_page_and_the_next(make_app: Any, journal: Journal) -> None:
    journal.visit("first", "a")
    app = make_app("first", of=course())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Deeper: why b")
        await click(pilot, "Deeper: why b")
        await until(pilot, lambda: shown(app) == "b")
        await until_text(pilot, "back to the essentials: Page c")
        await click(pilot, "Page c")
        await until(pilot, lambda: shown(app) == "c")


async def test_right_answers_of_the_pretest_are_passed_over_by_enter(make_app: Any) -> None:
    app = make_app("first", of=course())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: shown(app) == PRETEST and app.screen.is_complete)
        right = app.screen.query(ChoiceBox).first().order.index(0) + 1
        await pilot.press("tab", str(right), "enter")
        await until_text(pilot, "you know “Page a”")
        await pilot.press("escape", "enter")
        await until(pilot, lambda: shown(app) == "c")
        assert page_states(app) == ["known", "open", "[done]", "open", "open", "open"]


async def test_an_unfinished_page_asks_for_a_second_enter(make_app: Any, journal: Journal) -> None:
    whole = course()
    first = whole.modules[0]
    asked = msgspec.structs.replace(first.steps[0], activities=(question("q"),))
    first = msgspec.structs.replace(first, steps=(asked, *first.steps[1:]))
    journal.visit("first", "a")
    app = make_app("first", of=msgspec.structs.replace(whole, modules=(first, *whole.modules[1:])))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: shown(app) == "a" and app.screen.is_complete)
        await pilot.press("enter")
        await until_text(pilot, "This page is not finished")
        assert shown(app) == "a"
        press_at_once(app, "enter")
        await until(pilot, lambda: shown(app) == "c")
        await until(pilot, lambda: "This page is not finished" not in text(app))


def test_links_that_wrap_continue_below_their_words(journal: Journal) -> None:
    module = course().modules[0]
    long = page("b", "why a long name of a page has to wrap in a narrow column")
    module = msgspec.structs.replace(module, steps=(module.steps[0], long, *module.steps[2:]))
    lines = OnwardLines(module)
    lines.show(branch(Course(title="One", modules=(module,)), module, module.steps[0], journal))
    rows = [row.plain for row in lines.rows(40)]
    assert len(rows) > 2 and all(len(row) <= 40 for row in rows)
    first = rows[0].index("Deeper")
    assert all(row[:first].strip() in ("", "D", "Enter") and row[first] != " " for row in rows)
