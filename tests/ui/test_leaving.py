"""Leaving the app while something is being put on the screen."""

from __future__ import annotations

import asyncio

import pytest


@pytest.mark.parametrize("turns", range(12))
async def test_a_page_that_is_being_opened_is_left(make_app, turns: int) -> None:
    app = make_app()
    async with app.run_test(size=(120, 36)):  # raises what the app raises
        module = app.course.modules[0]
        app.open_step(module, module.steps[turns % len(module.steps)])
        for _ in range(turns):
            await asyncio.sleep(0)
        app.exit()
        while app.is_running:  # noqa: ASYNC110  # it has no event for it
            await asyncio.sleep(0.01)
    assert app.return_code == 0


async def test_a_key_after_it_opens_nothing(make_app) -> None:
    app = make_app(module="one-flow")
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        shown = app.screen.step.id
        app.exit()
        await pilot.press("right")
        assert app.screen.step.id == shown
    assert app.return_code == 0
