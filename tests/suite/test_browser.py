"""The Chromium that tests drive: it sees what a visitor sees, and nothing of it is left."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import web

from tests import leftovers
from tests.browser import PHONE, Browser

PAGE = """<!doctype html><title>A page</title><meta name=viewport content="width=device-width">
<style>body { background: white } @media (prefers-color-scheme: dark) { body { background: black } }</style>
<form method=post><input name=said autofocus><button>Send</button></form>
<p id=now>still</p><script>document.getElementById("now").textContent = "moving"</script>
<img src=/missing.png>
"""


@pytest.mark.host
async def test_pages_are_clicked_typed_into_and_seen(mark: str, tmp_path: Path) -> None:
    async def show(request: web.Request) -> web.Response:
        said = (await request.post()).get("said", "")
        seen = request.cookies.get("seen", "")
        answer = web.Response(text=f"{PAGE}<p>said {said}, seen {seen}", content_type="text/html")
        answer.set_cookie("seen", "before")
        return answer

    app = web.Application()
    app.router.add_route("*", "/", show)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    try:
        async with Browser() as browser:
            page = await browser.open(url, PHONE)
            assert await page.eval("[innerWidth, innerHeight]") == list(PHONE)
            await page.click("input")
            await page.type("hello ünd <b>")
            await page.click("button")
            await page.wait_for_text("said hello ünd <b>".replace("<b>", ""))
            await page.wait_for_text("seen before")
            assert f"{url}missing.png" in page.requested
            assert any("404" in problem for problem in page.problems)
            await page.screenshot(tmp_path / "light.png")
            await page.set_scheme("dark")
            await page.screenshot(tmp_path / "dark.png")
            assert (tmp_path / "light.png").read_bytes()[:4] == b"\x89PNG"
            assert (tmp_path / "light.png").read_bytes() != (tmp_path / "dark.png").read_bytes()
            # A visitor of its own, without scripts; then a second tab of it.
            other = await browser.open(url, scripts=False)
            text = await other.text()
            assert "still" in text
            assert text.endswith("seen")
            assert (await (await browser.open(url, same_visitor=other)).text()).endswith("seen before")
            await other.click("input")
            await other.type("by Enter")
            await other.press("Enter")
            await other.wait_for_text("said by Enter")
            await other.close()
    finally:
        await runner.cleanup()


@pytest.mark.host
def test_nothing_is_left_of_a_browser_whose_test_is_killed(mark: str) -> None:
    script = """
import asyncio
from tests.browser import Browser
async def main():
    async with Browser() as browser:
        await browser.open("about:blank")
        print(browser.profile, flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""
    killed = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert killed.stdout is not None
    profile = killed.stdout.readline().decode().strip()
    assert Path(profile).is_dir()
    assert leftovers.wait_for(mark, "chromium")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    assert leftovers.wait_until_none(mark) == []
    assert not Path(profile).exists()
