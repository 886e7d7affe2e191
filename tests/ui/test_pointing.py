"""What is on the screen can be clicked, found by name, and seen whole."""

from __future__ import annotations

from textual.widgets import Input

from tcptutor.course.activity import text_id
from tcptutor.ui.screens.dialogs import ConfirmScreen
from tcptutor.ui.widgets.page.page import Page
from tcptutor.ui.widgets.page.track import PageTrack
from tcptutor.ui.widgets.panel.panel import RunPanel
from tests.journal.conftest import answers, predict

from .made import MODULE, one_page
from .screen import click, keys, page_states, text, until, until_text
from .test_edited import NUMBER

STEP = ("one-flow", "one-lossy-flow")


async def test_a_choice_is_clicked_and_answered_with_the_mouse_alone(make_app, journal) -> None:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    async with make_app("one-flow").run_test(size=(120, 44)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "What limited this flow")
        await click(pilot, "Random loss")
        await until_text(pilot, "2 ● Random loss")
        await click(pilot, "Enter answers")
        await until_text(pilot, "✓ Right. Each loss halves cwnd.")
        assert [given for _, given, _ in answers(journal, *STEP)] == [(text_id("Random loss"),)]


async def test_the_first_hint_is_offered_before_it_is_asked_for(make_app, journal) -> None:
    async with make_app("one-flow").run_test(size=(120, 44)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "h: hint 1 of 2")
        await click(pilot, "h: hint 1 of 1")
        await until_text(pilot, "hint 1 of 1: How full was the link?")
        assert journal.page(*STEP).activity("limit").hints == 1
        await until(pilot, lambda: "h: hint 1 of 1" not in text(pilot.app))


async def test_a_key_of_the_footer_is_pressed_by_a_click(make_app) -> None:
    async with make_app("one-flow").run_test(size=(120, 44)) as pilot:
        await until_text(pilot, "What cwnd is")
        await click(pilot, "p pages")
        await until_text(pilot, "Enter open")
        await click(pilot, "Enter open")
        await until_text(pilot, "What cwnd is")
        await click(pilot, "keys")
        await until_text(pilot, "the next page")


async def test_a_digit_begins_the_number_that_is_asked_first(make_app, journal) -> None:
    async with make_app(MODULE, of=one_page(NUMBER)).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "How many?")
        await pilot.press("4", "2", "enter")
        await until_text(pilot, "✗ Not yet. 42: Count again.")
        await pilot.press("escape", "5", "enter")
        await until_text(pilot, "✓ Right. 5:")
        assert [given for _, given, _ in answers(journal, MODULE, "page")] == ["42", "5"]


async def test_a_run_without_prediction_is_asked_about(make_app, lab, journal) -> None:
    async with make_app("one-flow").run_test(size=(80, 24)) as pilot:
        await pilot.press("]", "x")
        await until_text(pilot, "Run without a prediction?")
        await pilot.press("x", "r")
        assert isinstance(pilot.app.screen, ConfirmScreen)
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(pilot.app.screen, ConfirmScreen))
        assert lab.runs == 0
        assert journal.page(*STEP).activities == {}
        await pilot.press("x")
        await until_text(pilot, "run without")
        await click(pilot, "run without")
        await until_text(pilot, "why: random loss")
        await pilot.app.bench.close()


async def test_at_80_by_24_the_chart_or_the_page_has_the_room_whichever_is_used(make_app, journal) -> None:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    app = make_app("one-flow")

    def heights() -> tuple[int, int]:
        return app.screen.query_one(Page).region.height, app.screen.query_one(RunPanel).region.height

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "r runs Reno · 100 Mbit/s")
        assert heights() == (20, 0)
        await pilot.press("r")
        await until(pilot, lambda: heights() == (0, 21))
        await until_text(pilot, "why: random loss")
        await until_text(pilot, "c text")
        await pilot.press("tab")
        await until_text(pilot, "› 1 ○ The link")
        assert heights() == (20, 0)
        assert "measured 22.1 Mbit/s" in text(app)
        await pilot.press("c")
        await until(pilot, lambda: heights() == (0, 21))
        await pilot.press("2", "enter")
        await until_text(pilot, "Loss comes before the link does.")
        await pilot.press("c", "down")
        await until(pilot, lambda: heights() == (20, 0))
        await app.bench.close()


async def test_a_question_with_what_it_was_told_is_whole_in_a_small_terminal(make_app, journal) -> None:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    async with make_app("one-flow").run_test(size=(80, 24)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "One lossy flow")
        await pilot.press("tab")
        await until_text(pilot, "h: hint 1 of 1   Space or a number chooses")
        assert "Esc, then h" not in text(pilot.app)
        await pilot.press("h", "1", "enter")
        await until_text(pilot, "✗ Not yet. It was three quarters empty.")
        box = pilot.app.screen.query_one(Page).active_box()
        assert box is not None
        await until(pilot, lambda: pilot.app.screen.query_one(Page).region.contains_region(box.region))
        for part in ("Question  What limited this flow?", "2 ○ Random loss", "hint 1 of 1: How full"):
            assert part in text(pilot.app)


async def test_the_palette_finds_pages_terms_and_experiments(make_app) -> None:
    for typed, found in {
        "lossy flow": "One lossy flow",
        "cwnd": "A sender may have cwnd segments",
        "lossy": "Experiments",
    }.items():
        async with make_app().run_test(size=(100, 30)) as pilot:
            await until_text(pilot, "Press Enter to begin")
            await pilot.press("ctrl+p", *keys(typed))
            await until_text(pilot, found)


async def test_a_term_is_told_over_the_page_and_leads_to_the_one_that_explains_it(make_app) -> None:
    async with make_app("many-flows").run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "2 Many flows")
        for key, there in (("escape", "2 Many flows ▸ "), ("enter", "1 One flow ▸ ")):
            await pilot.press("ctrl+p", *keys("congestion"))
            await until_text(pilot, "cwnd (congestion window)")
            await pilot.press("enter")
            await until_text(pilot, "explained on 1.1 What cwnd is")
            assert "A sender may have cwnd segments in the network." in text(pilot.app)
            await pilot.press(key)
            await until(pilot, lambda: "explained on" not in text(pilot.app))
            await until_text(pilot, there)


async def test_what_the_palette_starts_is_found_by_its_name_alone(make_app, journal, lab) -> None:
    async with make_app("one-flow").run_test(size=(100, 30)) as pilot:
        await pilot.press("]", *keys("20"), "enter", "r")
        await until_text(pilot, "✓ done")
        dark = pilot.app.theme
        await pilot.press("ctrl+p", *keys("theme"))
        await until_text(pilot, "Theme: light")
        assert "Run the same" not in text(pilot.app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: pilot.app.theme != dark)
        assert lab.runs == 1


async def test_the_palette_turns_the_page(make_app) -> None:
    async with make_app("one-flow").run_test(size=(100, 30)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "2/2")
        await pilot.press("ctrl+p", *keys("previous"))
        await until_text(pilot, "the previous page")
        await pilot.press("enter")
        await until_text(pilot, "1/2")


async def test_a_line_says_which_pages_are_done_and_which_is_open(make_app) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "1/2")
        assert page_states(app) == ["[done]", "open"]
        await pilot.press("]")
        await until_text(pilot, "2/2")
        assert page_states(app) == ["done", "[open]"]
        await pilot.click(PageTrack, offset=(2, 0))
        await until_text(pilot, "1/2")
        await pilot.press("m")
        await until_text(pilot, " 1/2 ")


async def test_the_footer_says_what_enter_does_in_a_field(make_app) -> None:
    async with make_app("one-flow").run_test(size=(80, 24)) as pilot:
        await pilot.press("]", "r")
        await until_text(pilot, "Enter locks it in")
        await pilot.press("tab", "tab")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        await until_text(pilot, "Enter answers")
