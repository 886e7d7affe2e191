"""The line of keys, the list of keys, and what a box says of its keys: only what can be done now."""

from __future__ import annotations

import pytest
from textual.widgets import Static

from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.base import WIDE
from tcptutor.ui.screens.dialogs import HelpScreen
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.widgets.bars import KeyBar
from tcptutor.ui.widgets.page.text import Offers

from .made import MODULE, one_page
from .screen import keys, text, until, until_text
from .test_challenge import FULL, RecordedLab, opened
from .test_snapshots import keep_run


def question(ask: str) -> SingleChoice:
    choices = (
        Alternative(text="yes", correct=True, feedback="It is.", fixed=True),
        Alternative(text="no", feedback="It is not.", fixed=True),
    )
    return SingleChoice(id=ask, prompt=f"Is it {ask}?", choices=choices)


async def test_the_bottom_line_of_a_covered_page_has_none_of_its_keys(make_app) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "r run")
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await until(pilot, lambda: text(app).splitlines()[-1].strip() == "Esc back")
        await pilot.press("escape")
        await until_text(pilot, "r run")
        await app.bench.close()


async def test_a_second_line_of_what_a_key_does_stands_under_the_first(make_app) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "r run")
        await pilot.press("question_mark")
        await until(pilot, lambda: "this list of keys" in str(app.screen.query_one(Static).content))
        lines = str(app.screen.query_one(Static).content).splitlines()
        column = next(line.index("this list of keys") for line in lines if "this list of keys" in line)
        second = [line for line in lines if line.startswith(" " * column)]
        assert second
        assert all(line[column] != " " for line in second)
        assert max(map(len, lines)) <= 66
        await app.bench.close()


async def test_only_the_question_at_hand_says_how_it_is_answered(journal, lab) -> None:
    app = TutorApp(one_page(question("red"), question("blue")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Is it blue?")
        await pilot.press("tab")
        await until_text(pilot, "Space or a number chooses")
        await pilot.press("tab")
        await until(pilot, lambda: app.screen.query(Offers).last().display)
        assert [offers.display for offers in app.screen.query(Offers)] == [False, True]


async def test_tab_leads_from_the_last_question_to_the_first(journal, lab) -> None:
    app = TutorApp(one_page(question("red"), question("blue")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Is it blue?")
        visited = []
        for _ in range(4):
            await pilot.press("tab")
            box = app.screen._page.active_box()
            visited.append(box and box.activity.id)
        assert visited == ["red", "blue"] * 2


async def test_what_was_wrong_goes_when_the_next_value_is_taken(journal) -> None:
    async with opened(journal, FULL, RecordedLab(FULL)) as pilot:
        app = pilot.app
        await pilot.press("tab", "enter", *keys("900 GB"), "enter")
        await until_text(pilot, "✗ ")
        await pilot.press("ctrl+u", *keys("100 kB"), "enter")
        await until_text(pilot, "now 1 change.")
        assert "✗ " not in text(app)
        assert app.screen.query(KeyBar)


async def test_the_next_step_comes_first_and_stands_out(make_app, journal) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "1/2")
        await until(pilot, lambda: first_key(app) == "Enter next")
        await pilot.press("]")
        await until(pilot, lambda: first_key(app) == "Tab predict")
        await pilot.press(*keys("20"), "enter")
        await until(pilot, lambda: first_key(app) == "r run")
        await pilot.press("r")
        await until(pilot, lambda: first_key(app).startswith("Tab answer "))
        await app.bench.close()


async def test_a_question_that_has_the_focus_says_first_what_enter_does(journal, lab) -> None:
    app = TutorApp(one_page(question("red")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: first_key(app) == "Tab answer 0/1")
        await pilot.press("tab")
        await until(pilot, lambda: first_key(app) == "Enter answer")
        await pilot.press("1", "enter")
        await until(pilot, lambda: first_key(app) == "Enter next")
        assert "Tab" not in text(app).splitlines()[-1]
        assert "network" not in text(app).splitlines()[-1]


async def test_escape_leads_from_the_chart_to_the_text(make_app) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "c chart")
        await pilot.press("c")
        await until_text(pilot, "c text")
        await pilot.press("escape")
        await until_text(pilot, "c chart")


async def test_a_page_says_how_much_of_it_is_below(make_app) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "▼ 1 more screen")
        await pilot.press("end")
        await until(pilot, lambda: "▼" not in text(app).splitlines()[-1])


async def test_a_long_title_leaves_room_for_the_number_of_the_page(make_app) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "1/2")
        app.screen._bar.show_place(f"1 One flow ▸ {'long ' * 30}", f"1 ▸ {'long ' * 30}", "1/2")
        await until_text(pilot, "…   1/2")


@pytest.mark.parametrize(("size", "in_footer"), [((80, 24), True), ((120, 36), False)])
async def test_keys_of_the_panel_are_in_its_edges_or_in_the_footer(
    make_app, journal, course, size: tuple[int, int], in_footer: bool
) -> None:
    keep_run(journal, course, "many-flows", "eight-flows")
    app = make_app("many-flows")
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "c chart")
        if in_footer:
            await pilot.press("c")
        await until_text(pilot, "i look")
        await until_text(pilot, "v view")
        *lines, footer = text(app).splitlines()
        for key in ("i look", "v view", "c text" if in_footer else "c chart"):
            assert (key in footer) == in_footer
            assert any(key in line and "──" in line for line in lines) != in_footer


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_before_a_run_the_panel_names_what_will_come(make_app, size: tuple[int, int]) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "c chart")
        await pilot.press(*["c"] * (size[0] < WIDE))
        for name in ("─ verdict ─", "─ cwnd, segments ─", "─ models ─"):
            await until_text(pilot, name)


def first_key(app) -> str:
    return text(app).splitlines()[-1].strip().split("  ")[0]


async def test_a_notice_hides_no_key_and_escape_removes_it(journal, lab) -> None:
    app = TutorApp(one_page(question("red")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until_text(pilot, "Is it red?")
        below = text(app).splitlines()[-3:]
        app.notify("One line of a notice\nand another one")
        await until_text(pilot, "and another one")
        assert text(app).splitlines()[-3:] == below
        await pilot.press("escape")
        await until(pilot, lambda: "One line of a notice" not in text(app))
        assert isinstance(app.screen, LessonScreen)


async def test_escape_with_nothing_open_says_which_key_leaves_and_shows_no_notice(journal, lab) -> None:
    app = TutorApp(one_page(question("red")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until_text(pilot, "Is it red?")
        await pilot.press("escape")
        await until(pilot, lambda: text(app).splitlines()[-1].endswith("m: home"))
        assert not app._notifications
        await until(pilot, lambda: "m: home" not in text(app))
