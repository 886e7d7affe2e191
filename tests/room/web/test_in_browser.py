"""The students' page in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.room.web.audience import AudienceServer
from tests.browser import PHONE, Browser
from tests.room.made import CHOICES, NUMBERS
from tests.room.web.conftest import Served


@pytest.mark.host
async def test_phones_join_vote_reconnect_and_see_the_results(tmp_path: Path, mark: str) -> None:
    async with Browser() as browser:
        async with Served(tmp_path) as served:
            votes, server = served.votes, served.server
            phone = await browser.open(server.view.address, PHONE)
            await phone.wait_for_text("You’re in")
            # A student who types the code, in a browser without scripts.
            typed = await browser.open(f"{server.url}/", scripts=False)
            await typed.click("input")
            await typed.type(server.code.lower())
            await typed.click("button")
            await typed.wait_for_text("You’re in")
            assert votes.joined == 2

            votes.open(CHOICES)
            await phone.click(".choices li:nth-child(3) button")
            await phone.wait_for("document.querySelector('.done')")
            await phone.click(".choices li:nth-child(2) button")
            await phone.wait_for("document.querySelector('[aria-pressed=true]').value == '1'")
            await typed.go(f"{server.url}/")
            await typed.click(".choices li:nth-child(1) button")
            await typed.wait_for("document.querySelector('.done')")
            votes.reveal()
            await phone.wait_for_text("First 50 %")
            assert votes.view is not None
            assert votes.view.results[0].counts == (1, 1, 0)
            await _kill(server)
            await phone.wait_for("!document.querySelector('#line').hidden")

        # The lecture process runs again: the page follows it, and reports what is wrong with an answer.
        async with Served(tmp_path) as served:
            served.votes.open(NUMBERS)
            await phone.click("input[name=answer]")
            await phone.type("nine")
            await phone.press("Enter")
            await phone.wait_for("document.querySelector('.problem')")
            await phone.eval("document.querySelector('input[name=answer]').select()")
            await phone.type("8 Mbit/s")
            await phone.press("Enter")
            await phone.wait_for("document.querySelector('.done')")
            served.votes.reveal()
            await phone.wait_for("document.querySelector('.histogram rect')")
            assert await phone.eval("document.querySelector('#line').hidden")
            assert [each for each in phone.requested if not each.startswith(served.server.url)] == []
            assert not any("Content Security Policy" in problem for problem in phone.problems)
            await served.server.close()
            await phone.wait_for_text("The lecture has ended")


async def _kill(server: AudienceServer) -> None:
    """End a server as a kill of its process does: without a word to those who wait."""
    assert server._runner is not None
    assert server._runner.server is not None
    server._server.close()
    for connection in server._runner.server.connections:
        connection.force_close()
    server._routes.end = lambda: None  # type: ignore[union-attr, method-assign]
    await server.close()
