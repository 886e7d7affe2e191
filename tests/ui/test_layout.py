"""Two columns, one column, a message, and back."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tcptutor.course.outline import Course
from tcptutor.ui.widgets.chart.line_panel import DRAW_INTERVAL_S
from tcptutor.ui.widgets.page.page import Page
from tcptutor.ui.widgets.panel.panel import RunPanel

from .made import lossy, one_page
from .screen import settled, text, until, until_text


def beside(app) -> bool:
    page, panel = app.screen.query_one(Page), app.screen.query_one(RunPanel)
    return panel.region.x >= page.region.right and panel.region.y == page.region.y


async def test_two_columns_from_a_hundred_on(make_app) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "Eight flows share")
        assert beside(app)
        await pilot.resize_terminal(99, 30)
        await until(pilot, lambda: not beside(app))
        assert app.screen.query_one(RunPanel).region.height == 0, "the text has all the room"


@pytest.mark.parametrize("pause", [0.0, DRAW_INTERVAL_S * 1.5], ids=["at once", "later"])
async def test_a_terminal_that_grows_after_the_run_shows_all_models(make_app, pause: float) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("r")
        await until_text(pilot, "why: random loss")
        whole = "76.6 ±12 % ✓"
        assert whole not in text(app)
        await pilot.pause(pause)
        await pilot.resize_terminal(120, 36)
        await until(pilot, lambda: beside(app))
        await until_text(pilot, whole)
        await settled(pilot, DRAW_INTERVAL_S * 1.2)  # what was drawn at once may be cut again
        assert whole in text(app)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: whole not in text(app))
        await until_text(pilot, "why: random loss")
        await app.bench.close()


async def test_no_cell_of_another_size_stays_on_the_panel(make_app) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("r")
        await until_text(pilot, "why: random loss")
        await pilot.press("c")
        await until(pilot, lambda: app.screen.query_one(Page).region.width == 0)
        panel = app.screen.query_one(RunPanel)

        def shown() -> list[str]:
            at = panel.content_region
            lines = text(app).split("\n")[at.y : at.bottom]
            return [line.ljust(at.right)[at.x : at.right].rstrip() for line in lines]

        def whole() -> bool:
            return shown() == [line.rstrip() for line in panel.lines]

        await until(pilot, whole)
        for size in ((80, 24), (200, 50), (121, 36), (120, 36), (119, 36), (80, 24), (81, 24)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: len(panel.lines) == panel.content_size.height)
            await until(pilot, whole)
            await pilot.pause(DRAW_INTERVAL_S * 1.5)
            assert whole(), size
        await app.bench.close()


async def test_a_run_is_usable_at_80_by_24(make_app) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("r")
        await until_text(pilot, "why: random loss")
        # What was drawn at once may be cut.
        for shown in ("cwnd, segments", "⠤⠤⠤ 1", "measured 76 Mbit/s"):
            await until_text(pilot, shown)
        await pilot.press("c")
        for shown in ("Eight flows share the path", "measured 76 Mbit/s"):
            await until_text(pilot, shown)
        await app.bench.close()


async def test_c_gives_the_chart_the_whole_screen_then_the_text(make_app) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Eight flows share")
        await pilot.press("c")
        await until(pilot, lambda: app.screen.query_one(Page).region.height == 0)
        await pilot.press("c")
        await until(pilot, lambda: app.screen.query_one(RunPanel).region.height == 0)
        assert "Eight flows share" in text(app)
        await pilot.press("c")
        await until(pilot, lambda: app.screen.query_one(RunPanel).region.height > 0)


async def test_a_terminal_that_is_too_small_is_told_the_size_and_comes_back(make_app, lab) -> None:
    lab.hold_at = 4.0
    app = make_app("many-flows")
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("r")
        await until_text(pilot, "▶ 4 of 20 s")
        await pilot.resize_terminal(60, 20)
        await until_text(pilot, "80 x 24 needed, this terminal is 60 x 20")
        await pilot.press("s", "escape")  # keys of a screen that is not seen do nothing
        lab.go_on.set()
        await pilot.resize_terminal(79, 40)
        await until_text(pilot, "80 x 24 needed, this terminal is 79 x 40")
        await pilot.resize_terminal(80, 24)
        await until_text(pilot, "why: random loss")
        assert not beside(app)
        await app.bench.close()
    assert lab.stopped == 0


@pytest.mark.parametrize("size", [(48, 12), (40, 12), (20, 5)])
async def test_the_size_that_is_needed_is_told_in_the_smallest_terminal(
    make_app, size: tuple[int, int]
) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "80 x 24")
        shown = text(app)
        assert f"{size[0]} x {size[1]}" in " ".join(shown.split())
        assert shown.startswith("80 x 24")
        if size[1] > 5:
            assert "ctrl+q quits." in " ".join(shown.split()), "nothing is cut"


async def test_a_page_can_be_read_in_a_small_terminal(make_app) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=(40, 12)) as pilot:
        await until_text(pilot, "Enter reads on")
        await pilot.press("enter")
        await until_text(pilot, "Eight flows")
        await pilot.press("end")
        await until(pilot, lambda: "Eight flows share" not in text(app))
        await pilot.press("c")
        await until_text(pilot, "Press r to run it")
        await pilot.press("r")
        await until_text(pilot, "A chart needs")
        await pilot.resize_terminal(20, 5)
        await until_text(pilot, "80 x 24 needed")
        assert "Enter" not in text(app), "too small to read"
        await pilot.resize_terminal(80, 24)
        await until_text(pilot, "? keys")


def drawn_lines(app) -> list[str]:
    return [line for line in text(app).split("\n") if "┼" in line]


@pytest.mark.parametrize("columns", [30, 44])
@pytest.mark.parametrize("width", [100, 104, 110, 120])
async def test_no_line_of_a_drawing_is_wrapped(make_app, course, columns: int, width: int) -> None:
    """The text has a column of its own only where the page's widest drawing fits into it."""
    ruler = "┼" * columns
    step = replace(one_page(lossy()).modules[0].steps[0], prose=f"Read.\n\n```\n{ruler}\n```\n")
    app = make_app(
        "m", of=Course(title="One page", modules=(replace(course.modules[0], id="m", steps=(step,)),))
    )
    async with app.run_test(size=(width, 30)) as pilot:
        await until(pilot, lambda: bool(drawn_lines(app)))
        await pilot.pause()
        (line,) = drawn_lines(app)
        assert ruler in line
        assert beside(app) == (width - columns >= 63 and width >= 100)
        if beside(app):
            assert app.screen.query_one(RunPanel).region.width >= 56
            await pilot.press("c")
            await until(pilot, lambda: app.screen.query_one(RunPanel).region.width == width)


async def test_the_keys_are_listed_as_they_are_bound(make_app) -> None:
    app = make_app("many-flows")
    app.set_keymap({"lesson.run": "g"})
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "g run")
        await pilot.press("question_mark")
        await until_text(pilot, "g  run the experiment")
        await pilot.press("escape", "g")
        await until_text(pilot, "why: random loss")
        await app.bench.close()
