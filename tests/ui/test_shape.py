"""The prediction of a shape: drawings by width, chosen by a digit, locked, and told of after the run."""

from __future__ import annotations

import pytest

from tcptutor.course.activities.predict import Shape, ShapePrediction
from tcptutor.course.page_record import PREDICT
from tcptutor.journal import Journal
from tcptutor.ui.widgets.page.shape import Drawings, side_by_side
from tests.chosen import chosen

from .made import MODULE, STEP, lossy, one_page
from .screen import press_at_once, text, until, until_text

TEETH = Shape(
    fixed=True,
    curve=((0, 0.5), (0.5, 1), (0.5, 0.5), (1, 1)),
    text="Even teeth: it climbs slowly and falls by half.",
    correct=True,
    feedback="One segment more in each RTT, then a loss.",
)
LEVEL = Shape(
    fixed=True,
    curve=((0, 0.5), (1, 0.5)),
    text="It stays level.",
    feedback="Nothing tells the sender to stay.",
)
STAIRS = Shape(
    fixed=True,
    curve=((0, 0), (0.5, 0), (0.5, 1), (1, 1)),
    text="It climbs in stairs.",
    feedback="What would make it wait on a stair?",
)
FALL = Shape(
    fixed=True,
    curve=((0, 1), (0.5, 1), (0.5, 0), (1, 0)),
    text="It falls in stairs.",
    feedback="What would make it fall without a loss?",
)
ASK = ShapePrediction(
    prompt="Which of these will cwnd look like?",
    hints=("What does a loss do to cwnd?", "And what comes between two losses?"),
    shapes=(LEVEL, TEETH, STAIRS, FALL),
)
PAGE = one_page(ASK, lossy(), after="It had teeth.")


@pytest.mark.parametrize(
    ("number", "room", "per_row", "columns"),
    [
        (4, 200, 4, 20),
        (4, 73, 4, 16),
        (3, 73, 3, 20),
        (3, 42, 3, 12),
        (3, 41, 2, 19),
        (4, 45, 2, 20),
        (4, 10, 1, 12),
    ],
)
def test_drawings_stand_side_by_side_where_they_fit(
    number: int, room: int, per_row: int, columns: int
) -> None:
    assert side_by_side(number, room) == (per_row, columns)


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=str)
async def test_all_drawings_can_be_seen_and_chosen_by_a_digit(make_app, journal: Journal, size) -> None:
    async with make_app(MODULE, of=PAGE).run_test(size=size) as pilot:
        await until_text(pilot, "Which of these will cwnd look")
        await until(pilot, lambda: text(pilot.app).count("└───") == len(ASK.shapes))
        await pilot.press("3")
        await until_text(pilot, "3: It climbs in stairs.")
        assert "›" in text(pilot.app)
        await pilot.press("up")
        await until_text(pilot, "2: Even teeth")
        await pilot.press("space", "enter")
        await until_text(pilot, "Your prediction  2  (locked")
        assert journal.page(MODULE, STEP).activity(PREDICT).first.answer == chosen(ASK, 1)


async def test_the_run_waits_for_it_and_tells_of_it(make_app, lab) -> None:
    async with make_app(MODULE, of=PAGE).run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "Which of these")
        await pilot.press("r")
        await until_text(pilot, "Predict first")
        assert lab.runs == 0
        await pilot.press("1", "enter")
        await until_text(pilot, "(locked")
        assert "Nothing tells" not in text(pilot.app)
        await pilot.press("r")
        await until_text(pilot, "Nothing tells the sender to stay.")
        await until_text(pilot, "drawing is this: Even teeth")
        assert "2 ✓" in text(pilot.app)
        # It stays.
        await pilot.press("3", "enter")
        await until_text(pilot, "Your prediction  1  (locked")


async def test_keys_all_at_once_choose_lock_and_run(make_app, lab) -> None:
    async with make_app(MODULE, of=PAGE).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Which of these")
        press_at_once(pilot.app, "2", "enter", "r")
        await until(pilot, lambda: lab.runs == 1)
        await until_text(pilot, "measured")
        await pilot.press("c")
        await until_text(pilot, "That is the shape. One segment more")


async def test_what_was_left_out_is_told_so(make_app, lab) -> None:
    async with make_app(MODULE, of=PAGE).run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "Which of these")
        await pilot.press("x", "y")
        await until_text(pilot, "You ran this without a prediction.")
        await until(pilot, lambda: lab.runs == 1)


async def test_a_click_on_a_drawing_chooses_it(make_app) -> None:
    async with make_app(MODULE, of=PAGE).run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "Which of these")
        await pilot.click(Drawings, offset=(2, 0))
        await until_text(pilot, "1: It stays level.")
