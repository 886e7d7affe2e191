from __future__ import annotations

import gc

import pytest
from textual.app import App

from tcptutor.ui.workers import start_worker


async def test_work_of_an_app_that_ends_first_is_not_made(recwarn: pytest.WarningsRecorder) -> None:
    begun = list[str]()

    async def work(name: str) -> None:
        begun.append(name)

    app = App[None]()
    async with app.run_test() as pilot:
        start_worker(app, work, "first")
        await pilot.pause()
        start_worker(app, work, "second")
        app.workers.cancel_all()
        await pilot.pause()
    gc.collect()
    assert begun == ["first"]
    assert not list(recwarn)  # a coroutine that is never awaited warns
