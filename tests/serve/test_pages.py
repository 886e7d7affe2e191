"""The pages in a real browser: the link, the terminal, a lost connection, a second window, and nothing foreign."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.browser import PHONE, Browser, Page
from tests.patience import Deadline
from tests.serve.served import Served, serving

WATCH_NOTICE = """
const notice_ = document.getElementById("notice");
new MutationObserver(() => { window.hasNoticed ||= !notice_.hidden; }).observe(notice_, {attributes: true});
"""
"""On a quiet machine the notice is gone before a test has looked."""


async def until(condition: Callable[[], bool]) -> None:
    deadline = Deadline(10)
    while not condition():
        assert deadline.left
        await asyncio.sleep(0.05)


async def until_shown(served: Served, student: str) -> None:
    await until(lambda: (session := served.sessions.find(student)) is not None and session.is_shown)


async def enter(browser: Browser, served: Served, student: str) -> Page:
    page = await browser.open(f"{served.url}/#{served.logins.make_link(student)}")
    assert await page.eval("location.hash") == ""
    await page.click("#enter")
    await until_shown(served, student)
    await page.wait_for("document.body && document.body.classList.contains('-first-byte')")
    return page


async def test_a_student_enters_loses_the_line_and_comes_back(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, Browser() as browser:
        page = await enter(browser, served, "ada")
        session = served.sessions.find("ada")
        assert session is not None
        before = session.last_input
        await page.type("z")
        await until(lambda: session.last_input > before)
        # The line is lost: the page says so, and shows the same app again.
        await page.eval(WATCH_NOTICE)
        await session.leave(1001, "")
        await page.wait_for("window.hasNoticed")
        await until_shown(served, "ada")
        await page.wait_for("document.getElementById('notice').hidden")
        assert served.starter.started == 1
        # The student leaves the app, and opens it again.
        await page.type("q")
        await page.wait_for_text("You have left the app")
        await page.click("#again")
        await until_shown(served, "ada")
        assert served.starter.started == 2
        assert page.problems == []
        assert {url.split("/")[2] for url in page.requested} == {served.url.rpartition("/")[2]}


async def test_a_second_window_takes_over_and_a_link_is_used_up(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, Browser() as browser:
        page = await enter(browser, served, "ada")
        second = await browser.open(served.url, PHONE, same_visitor=page)
        await page.wait_for_text("open in another window")
        await second.wait_for("location.pathname === '/app'")
        assert served.starter.started == 1
        token = served.logins.make_link("bob")
        assert await served.client().log_in(token) == 200
        thief = await browser.open(f"{served.url}/#{token}")
        await thief.click("#enter")
        await thief.wait_for_text("was used before")
        stranger = await browser.open(f"{served.url}/app")
        await stranger.wait_for_text("Open the link that you were given")
