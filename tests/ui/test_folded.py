"""What others measured: folded below the text after the run, or with the prose of a page without one."""

from __future__ import annotations

from typing import Any

import msgspec

from tcptutor.course.outline import Course
from tcptutor.course.step import OTHERS

from .four_modules import four_modules
from .made import MODULE, lossy, one_page
from .screen import click, text, until, until_text

FIGURE = "Lab 6 measured 9.4 Gbit/s."


def published(course: Course) -> Course:
    first, *others = course.modules
    page = msgspec.structs.replace(first.steps[0], published=FIGURE)
    return msgspec.structs.replace(
        course, modules=(msgspec.structs.replace(first, steps=(page, *first.steps[1:])), *others)
    )


async def test_o_and_a_click_open_and_close_what_others_measured(make_app: Any) -> None:
    app = make_app("basics", of=published(four_modules()))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, f"▸ {OTHERS}")
        assert FIGURE not in text(app)
        await pilot.press("O")
        await until_text(pilot, FIGURE)
        await click(pilot, OTHERS)
        await until(pilot, lambda: FIGURE not in text(app))


async def test_on_a_page_with_a_run_it_follows_the_run(make_app: Any) -> None:
    app = make_app(MODULE, of=published(one_page(lossy(), after="Now compare.")))
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "r run")
        assert OTHERS not in text(app)
        await pilot.press("r")
        await until_text(pilot, "Now compare.")
        await until_text(pilot, OTHERS)
        await pilot.press("O")
        await until_text(pilot, FIGURE)
        await app.bench.close()
