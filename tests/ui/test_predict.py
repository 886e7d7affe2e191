"""The prediction: a number with its unit, given before the run, locked for good."""

from __future__ import annotations

import asyncio
import re

import msgspec
import pytest
from textual import events
from textual.widgets import Input

from tcptutor.course.activities.predict import Predict
from tcptutor.course.page_record import PREDICT, ActivityRecord
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.home import HomeScreen
from tcptutor.ui.widgets.panel.panel import RunPanel
from tests.journal.conftest import answers

from .made import MODULE, lossy, one_page
from .screen import keys, press_at_once, settled, text, until, until_text


def record(journal: Journal) -> ActivityRecord:
    """What was done of the page's prediction."""
    return journal.page("one-flow", "one-lossy-flow").activity(PREDICT)


@pytest.fixture
async def page(make_app):
    """The page with a prediction, open in a small terminal."""
    app: TutorApp = make_app("one-flow")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "What throughput will this flow")
        yield pilot


async def test_run_asks_for_the_prediction_first(page, lab) -> None:
    await page.press("r")
    await until_text(page, "Predict first")
    assert isinstance(page.app.focused, Input)
    assert lab.runs == 0


async def test_a_plain_number_has_the_unit_behind_the_field(page, journal) -> None:
    await page.press("r", *keys("22,4"))
    await until(page, lambda: re.search(r"Your prediction 22,4 +Mbit/s", text(page.app)) is not None)
    await page.press("enter")
    await until_text(page, "22,4 Mbit/s  (locked")
    locked = record(journal).first
    assert (locked.answer, locked.value) == ("22,4", 22.4e6)


async def test_the_empty_field_shows_no_value_of_the_page(page) -> None:
    await page.press("r")
    await until_text(page, "Predict first")
    field = next(line for line in text(page.app).splitlines() if "Your prediction" in line)
    assert not re.search("[0-9]", field.partition("│")[0])


async def test_what_has_two_meanings_is_not_locked(page, journal) -> None:
    await page.press("r", *keys("9 MB"), "enter")
    await until_text(page, "may be 9 Mbit/s or 9 MB/s")
    assert record(journal).first is None


async def test_a_slip_of_the_unit_is_asked_about_and_enter_locks_it(page, journal) -> None:
    await page.press("r", *keys("9 kbit/s"), "enter")
    await until_text(page, "did you mean 9 Mbit/s?")
    assert record(journal).first is None
    await page.press("enter")
    await until_text(page, "9 kbit/s  (locked")
    assert record(journal).first.value == 9e3


@pytest.mark.parametrize("back", ["escape", "backspace"])
async def test_one_key_goes_back_from_the_question_to_the_field(page, journal, back: str) -> None:
    await page.press("r", *keys("2000"), "enter")
    await until_text(page, "times the link's rate")
    await page.press(back)
    await until(page, lambda: "times the link's rate" not in text(page.app))
    assert isinstance(page.app.focused, Input)
    assert record(journal).first is None
    # What was asked about once is asked about again.
    await page.press(*(["0"] if back == "backspace" else []), "enter")
    await until_text(page, "times the link's rate")
    assert record(journal).first is None


async def test_after_the_run_a_wrong_prediction_is_answered(page) -> None:
    await page.press("r", *keys("99"), "enter")
    await until_text(page, "99 Mbit/s  (locked")
    assert "times too much" not in text(page.app)
    await page.press("r")
    await until_text(page, "that is the link's rate,")
    told = " ".join(line.partition("│")[0].strip(" ▎") for line in text(page.app).splitlines())
    assert (
        "99 Mbit/s: that is the link's rate, 4.5 times too much; random loss binds, at 22.1 Mbit/s." in told
    )


async def test_the_answer_is_in_view_in_a_small_terminal(make_app) -> None:
    async with make_app("one-flow").run_test(size=(80, 24)) as pilot:
        await pilot.press("]", *keys("99"), "enter")
        await until_text(pilot, "99 Mbit/s  (locked")
        await pilot.press("r")
        await until_text(pilot, "measured 22.1 Mbit/s")
        await pilot.press("c")
        await until_text(pilot, "99 Mbit/s: that is the link's rate, 4.5 times too much")


async def test_the_answer_stands_there_when_the_page_is_opened_again(make_app) -> None:
    async with make_app("one-flow").run_test(size=(120, 40)) as pilot:
        await pilot.press("]", *keys("22.4"), "enter")
        await until_text(pilot, "22.4 Mbit/s  (locked")
        await pilot.press("r")
        await until_text(pilot, "22.4 Mbit/s is right within")
    async with make_app("one-flow").run_test(size=(120, 40)) as pilot:
        # It opens where it was left.
        await until_text(pilot, "22.4 Mbit/s is right within")


async def test_enter_locks_it_for_good(page, journal) -> None:
    await page.press("r", *keys("20 Mbit/s"), "enter")
    await until_text(page, "20 Mbit/s  (locked")
    locked = record(journal).first
    assert (locked.answer, locked.value) == ("20 Mbit/s", 20e6)
    assert not any(entry.display and entry.region.height for entry in page.app.screen.query(".entry Input").results() if
                   "prediction" in str(entry.parent.parent))  # fmt: skip
    await page.press("r")
    await until_text(page, "✓ done")
    assert "you" in text(page.app)


async def test_a_number_that_is_typed_is_the_prediction_and_no_answer(page, journal) -> None:
    """Who types it without going there first means the field above, not one of the choices below it."""
    await page.press(*keys("20 Mbit/s"), "enter")
    await until_text(page, "20 Mbit/s  (locked")
    assert answers(journal, "one-flow", "one-lossy-flow") == []
    await page.press("2", "enter")
    await until_text(page, "✓ Right.")


@pytest.mark.parametrize("focused", [None, "Page"])
async def test_keys_that_come_all_at_once_are_one_prediction(page, focused) -> None:
    """Over a slow line, from a script, or by a quick hand: the next key is there before the field has the focus."""
    page.app.set_focus(page.app.screen.query_one(focused) if focused else None)
    typed = "9.5 Mbit/s"
    press_at_once(page.app, *keys(typed))
    await until(page, lambda: page.app.screen.query_one(Input).value == typed)
    await page.press("enter")
    await until_text(page, "9.5 Mbit/s  (locked")


@pytest.mark.parametrize("field", [False, True])
async def test_all_keys_from_the_page_turn_on_at_once_predict_and_run(make_app, journal, lab, field) -> None:
    async with make_app("one-flow").run_test(size=(80, 24)) as pilot:
        press_at_once(pilot.app, "right", *(["r"] if field else []), *keys("71,8"), "enter", "r")
        await until_text(pilot, "measured 22.1 Mbit/s")
    assert lab.runs == 1
    assert record(journal).first.answer == "71,8"


@pytest.mark.parametrize("steps", [0, 2, 5])
@pytest.mark.parametrize("way", ["", "tab"])
async def test_keys_between_which_the_app_gets_little_done_go_to_one_field(
    page, way: str, steps: int
) -> None:
    """On a busy machine a key comes when what the one before it has set off is half done."""
    for name in [*([way] if way else []), *keys("38c")]:
        press_at_once(page.app, name)
        for _ in range(steps):
            await asyncio.sleep(0)
    field = page.app.screen.query(Input).first()
    await until(page, lambda: field.value == "38c")
    await settled(page)
    assert page.app.focused is field


async def test_keys_that_correct_a_number_keep_their_order(page) -> None:
    field = page.app.screen.query(Input).first()
    press_at_once(page.app, *keys("39"), "backspace", *keys("84"), "left", "backspace", "end", "5")
    await until(page, lambda: field.value == "345")


async def test_tab_behind_a_number_leaves_it_as_it_is(page) -> None:
    """What comes behind Tab is for the question, not for the field."""
    field = page.app.screen.query(Input).first()
    press_at_once(page.app, *keys("38"), "tab", "2")
    await until_text(page, "2 ● Random loss")
    assert field.value == "38"
    press_at_once(page.app, "shift+tab", "4")
    await until(page, lambda: field.value == "384")


async def test_what_is_pasted_into_the_field_is_locked_by_the_enter_behind_it(page, journal) -> None:
    page.app.post_message(events.Paste("38\n"))
    press_at_once(page.app, "backspace", "9", "enter")
    await until_text(page, "39 Mbit/s  (locked")


async def test_esc_behind_the_key_of_the_list_of_keys_closes_the_list(page) -> None:
    lesson = page.app.screen
    press_at_once(page.app, "question_mark", "escape")
    await settled(page)
    await until(page, lambda: page.app.screen is lesson)


async def test_esc_behind_the_enter_that_locks_stays_on_the_page_and_m_goes_home(page, journal) -> None:
    lesson = page.app.screen
    press_at_once(page.app, *keys("38"), "enter", "escape")
    await until_text(page, "38 Mbit/s  (locked")
    assert page.app.screen is lesson
    assert record(journal).first.answer == "38"
    await page.press("m")
    await until(page, lambda: isinstance(page.app.screen, HomeScreen))
    await page.press("enter")
    await until_text(page, "38 Mbit/s  (locked")


async def test_a_locked_prediction_can_be_taken_back_until_a_run_has_begun(page, journal, lab) -> None:
    await page.press(*keys("10000"), "enter")
    await until_text(page, "that the unit you meant?")
    await page.press("enter")
    await until(page, lambda: record(journal).first is not None)
    assert record(journal).first.answer == "10000"
    await page.press("u")
    field = page.app.screen.query(Input).first()
    assert (page.app.focused, field.value) == (field, "10000")
    assert record(journal).first is None
    await page.press("backspace", "backspace", "enter")
    await until(page, lambda: record(journal).first is not None)
    assert record(journal).first.answer == "100"
    await page.press("r")
    await until_text(page, "✓ done")
    await page.press("u")
    assert record(journal).first.answer == "100"
    assert "u unlocks it" not in text(page.app)


async def test_keys_after_a_question_about_the_prediction_are_still_for_the_field(page, journal, lab) -> None:
    press_at_once(page.app, *keys("2000"), "enter", *keys("20"), "enter", "r")
    await until_text(page, "✓ done")
    assert lab.runs == 1
    assert record(journal).first.answer == "20"


async def test_keys_all_at_once_answer_and_turn_the_page(page, journal) -> None:
    press_at_once(page.app, *keys("20"), "enter", "2", "enter", "right")
    await until(page, lambda: "What throughput will this flow" not in text(page.app))
    assert record(journal).first.answer == "20"
    assert answers(journal, "one-flow", "one-lossy-flow") != []


async def test_a_number_that_is_pasted_is_the_prediction(page) -> None:
    page.app.post_message(events.Paste("r is what starts a run"))
    page.app.post_message(events.Paste("9.5 Mbit/s\nand more\n"))
    await until(page, lambda: page.app.screen.query_one(Input).value != "")
    assert page.app.screen.query_one(Input).value == "9.5 Mbit/s"
    await page.press("enter")
    await until_text(page, "9.5 Mbit/s  (locked")
    page.app.post_message(events.Paste("20 Mbit/s"))
    await page.press("2", "enter")
    await until_text(page, "✓ Right.")


async def test_x_runs_without_one_and_that_is_locked_too(page, journal, lab) -> None:
    await page.press("r", "escape", "x", "y")
    await until(page, lambda: lab.runs == 1)
    await until_text(page, "You ran this without a prediction")
    assert (record(journal).first.answer, record(journal).first.value) == ("", None)


async def test_hints_come_one_level_at_a_time_and_are_recorded(page, journal) -> None:
    await page.press("h")
    await until_text(page, "hint 1 of 2: Take the mean window.")
    assert "hint 2 of 2:" not in text(page.app)
    await page.press("h")
    await until_text(page, "hint 2 of 2:")
    assert record(journal).hints == 2
    assert list(journal.page("one-flow", "one-lossy-flow").activities) == [PREDICT]


async def test_letters_are_typed_not_run_while_in_the_field(page, lab) -> None:
    await page.press("r", *"rsq")
    assert page.app.screen.query_one(Input).value == "rsq"
    await page.press("escape", "h")
    await until_text(page, "hint 1")
    assert lab.runs == 0


def marks(app: TutorApp) -> list[int]:
    """Columns of the prediction's mark on the ruler of the panel."""
    (ruler,) = [line for line in app.screen.query_one(RunPanel).lines if line.startswith("you")]
    return [at for at, sign in enumerate(ruler) if sign == "◆"]


async def test_the_ruler_is_there_before_the_run_and_the_mark_moves_with_the_number(page) -> None:
    await until(page, lambda: re.search(r"Mbit/s +0 +50 +100", text(page.app)) is not None)
    assert marks(page.app) == []
    await page.press("r", *keys("2"))
    await until_text(page, " 2 Mbit/s")
    (at_two,) = marks(page.app)
    await page.press("2")
    await until_text(page, " 22 Mbit/s")
    (at_twenty_two,) = marks(page.app)
    assert at_twenty_two > at_two
    await page.press("backspace", "backspace", "x")
    await until(page, lambda: marks(page.app) == [])
    await page.press("backspace", *keys("22"), "enter")
    await until_text(page, "(locked")
    assert marks(page.app) == [at_twenty_two]


PAGE_OF_THROUGHPUT = msgspec.structs.replace(lossy(), chart="throughput")


async def test_a_page_about_throughput_shows_its_axes_with_the_prediction_before_the_run(make_app) -> None:
    course = one_page(Predict(prompt="How fast?"), PAGE_OF_THROUGHPUT)
    async with make_app(MODULE, of=course).run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "throughput, Mbit/s")
        await until_text(pilot, "warm-up")
        await pilot.press("r", *keys("60"))
        await until(pilot, lambda: "◆ 60 you" in " ".join(text(pilot.app).split()))
        await pilot.press("enter")
        await until_text(pilot, "(locked")
        await pilot.press("r")
        await until_text(pilot, "you said 60")
        assert "throughput, Mbit/s" in text(pilot.app)


async def test_in_one_column_the_ruler_takes_the_status_line_while_the_number_is_typed(make_app) -> None:
    def at() -> int:
        (line,) = [line for line in text(app).splitlines() if "├" in line and "◆" in line]
        return line.index("◆")

    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "Predict, then r")
        await pilot.press("r", "2")
        await until_text(pilot, "┤ 120 Mbit/s")
        low = at()
        await pilot.press("2")
        await until(pilot, lambda: at() > low)
        await pilot.press("enter")
        await until_text(pilot, "r runs ")
        assert "┤ 120 Mbit/s" not in text(app)
