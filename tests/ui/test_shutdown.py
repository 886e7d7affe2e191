"""Leaving the app while something is being put on the screen."""

from __future__ import annotations

import asyncio
import contextvars
import signal

import pytest

from tcptutor.ui import shutdown
from tcptutor.ui.widgets.page.page import Page


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


async def test_a_page_whose_questions_are_still_missing_is_left(
    make_app, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, complete = make_app(), Page.complete

    async def complete_after_exit(page: Page) -> None:
        app.exit()
        await complete(page)

    monkeypatch.setattr(Page, "complete", complete_after_exit)
    async with app.run_test(size=(120, 36)):
        module = app.course.modules[0]
        app.open_step(module, module.steps[0])
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


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch):
    """The app's signals, caught in this process, which nobody ends if it goes on after one."""
    monkeypatch.setattr(shutdown, "_watch", lambda: None)
    before = {number: signal.getsignal(number) for number in shutdown.ENDING_SIGNALS}
    shutdown.signals.catch()
    yield
    shutdown.signals.catch()  # forgets the one that came
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("turns", range(12))
async def test_a_signal_that_comes_between_two_tasks_is_heeded(make_app, caught: None, turns: int) -> None:
    app = make_app()
    async with app.run_test(size=(120, 36)):
        module = app.course.modules[0]
        app.open_step(module, module.steps[turns % len(module.steps)])
        for _ in range(turns):
            await asyncio.sleep(0)
        contextvars.Context().run(signal.raise_signal, signal.SIGTERM)
        async with asyncio.timeout(10):
            while app.is_running:  # noqa: ASYNC110  # it has no event for it
                await asyncio.sleep(0.01)
    assert app.return_code == 0
