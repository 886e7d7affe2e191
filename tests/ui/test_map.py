"""The map: what is listed, what its keys do to pages, and where it leads."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tcptutor.course.activity import text_id
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Response
from tcptutor.journal import Journal
from tcptutor.ui.page_map import FILTERS, map_pages
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.widgets.page_rows import filter_line

from .screen import keys, press_at_once, text, until, until_text
from .test_paths import answered, course, question, shown

SIZES = [(80, 24), (120, 36)]


def asking() -> Course:
    """The course of two paths; page c asks a question."""
    whole = course()
    first = whole.modules[0]
    steps = tuple(
        msgspec.structs.replace(step, activities=(question("q"),)) if step.id == "c" else step
        for step in first.steps
    )
    return msgspec.structs.replace(
        whole, modules=(msgspec.structs.replace(first, steps=steps), *whole.modules[1:])
    )


def listed(app: Any) -> list[str]:
    """Signs and titles of the listed pages."""
    lines = [line.strip(" │█▁▂▃▄▅▆▇●") for line in text(app).splitlines()]
    return [
        f"{line[0]} {line.partition('Page ')[2][:1]}" for line in lines if "Page " in line and " min" in line
    ]


def test_states_and_filters(journal: Journal) -> None:
    whole = asking()
    module = whole.modules[0]
    journal.visit("first", "a")
    journal.visit("first", "c")
    answered(journal, "qa", correct=False)
    journal.skip("first", "d")
    journal.bookmark("first", "f")

    def states() -> list[str]:
        return [page.state for page in map_pages(journal.record, module)][1:]

    assert states() == ["done", "new", "read", "skipped", "new", "new"]
    journal.respond("first", "c", "q", Response((text_id("that"),), False))
    assert states()[2] == "wrong"
    assert map_pages(journal.record, module, {("first", "a")})[1].state == "due"
    found = map_pages(journal.record, module)
    names = {each.name: "".join(page.step.id for page in found[1:] if each.keeps(page)) for each in FILTERS}
    assert names == {
        "all": "abcdef",
        "path": "acdf",
        "left": "cf",
        "wrong": "c",
        "due": "",
        "skipped": "d",
        "marked": "f",
    }


@pytest.mark.parametrize("size", SIZES)
async def test_the_map_names_what_is_left_and_opens_it(
    make_app: Any, journal: Journal, size: tuple[int, int]
) -> None:
    for id in ("a", "c", "d"):
        journal.visit("first", id)
    app = make_app(of=asking())
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "Essentials")
        await pilot.press("p")
        await until_text(pilot, "2 of 4 pages of your path done")
        assert "page 3, 6" in text(app)
        assert listed(app) == ["✓ a", "· b", "○ c", "✓ d", "· e", "· f"] or size == (80, 24)
        await pilot.press("3")
        await until(pilot, lambda: listed(app) == ["○ c", "· f"])
        await pilot.press("up", "enter")
        await until(pilot, lambda: shown(app) in ("c", "f"))


async def test_the_map_of_the_module_under_the_cursor(make_app: Any) -> None:
    app = make_app(of=asking())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Essentials")
        await pilot.press("up", "p")
        await until_text(pilot, "0 of 1 pages of your path done")


async def test_words_filter_and_escape_brings_all_back(make_app: Any, journal: Journal) -> None:
    journal.visit("first", "a")
    app = make_app("first", of=asking())
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: shown(app) == "a")
        await pilot.press("p")
        await until_text(pilot, "of your path done")
        press_at_once(app, "slash", *keys("page e"))
        await until(pilot, lambda: listed(app) == ["· e"])
        await pilot.press("escape")
        await until(pilot, lambda: len(listed(app)) == 6)
        await pilot.press("right")
        await until_text(pilot, "0 of 1 pages of your path done")
        await pilot.press("escape")
        await until(pilot, lambda: shown(app) == "a")


async def test_pages_are_skipped_and_bookmarked_with_a_key(make_app: Any, journal: Journal) -> None:
    journal.visit("first", "a")
    whole = asking()
    app = make_app("first", of=whole)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: shown(app) == "a")
        await pilot.press("p")
        await until_text(pilot, "of your path done")
        await pilot.press("down", "down", "x", "b")
        await until_text(pilot, "★")
        page = journal.page("first", "c")
        assert page.skipped and page.bookmarked
        await pilot.press("escape")
        await until(pilot, lambda: shown(app) == "a" and app.screen.is_complete)
        await pilot.press("enter")
        await until(pilot, lambda: shown(app) == "d")


async def test_a_reset_is_asked_about_and_brought_back(make_app: Any, journal: Journal) -> None:
    journal.visit("first", "c")
    journal.respond("first", "c", "q", Response((text_id("this"),), True))
    app = make_app("first", of=asking())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: shown(app) == "c")
        await pilot.press("p")
        await until_text(pilot, "of your path done")
        await pilot.press("D")
        await until_text(pilot, "Reset “")
        await pilot.press("enter")  # pressed unread: nothing is reset
        await until_text(pilot, "of your path done")
        assert journal.page("first", "c").has_work
        await pilot.press("D")
        await until_text(pilot, "Reset “")
        await pilot.press("y")
        await until_text(pilot, "D brings your earlier work back")
        assert not journal.page("first", "c").has_work
        await pilot.press("D")
        await until_text(pilot, "bring back")
        await pilot.press("u")
        await until(pilot, lambda: journal.page("first", "c").has_work)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_complete)
        assert shown(app) == "c"


@pytest.mark.parametrize("width", [66, 75, 114])
def test_filters_have_their_keys_and_where_there_is_room_counts_in_brackets(
    journal: Journal, width: int
) -> None:
    journal.bookmark("first", "f")
    line = filter_line(map_pages(journal.record, asking().modules[0]), 6, width).plain
    assert len(line) <= width
    if width >= 75:
        assert line.split() == "1 all 2 path (4) 3 left (4) 4 wrong 5 due 6 skipped 7 marked (1)".split()
