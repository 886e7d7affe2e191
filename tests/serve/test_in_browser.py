"""The whole app in a real browser, behind a real proxy: open, predict, run, see the chart, lose the line."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pyte
import pytest

from tests import leftovers
from tests.browser import Browser, Page
from tests.nginx import errors, free_port, nginx
from tests.patience import Deadline, seconds

_RECORD = """
window.received = [];
window.WebSocket = class extends window.WebSocket {
    constructor(url) {
        super(url);
        this.addEventListener("message", (event) => {
            if (event.data instanceof ArrayBuffer)
                received.push(btoa(String.fromCharCode(...new Uint8Array(event.data))));
        });
    }
};
"""
"""Keeps what the page's terminal is sent: it draws on a canvas, which has no text."""
_PRIVATE_MODES = re.compile(rb"\x1b\[[>=<?][0-9;]*[$a-zA-Z]+")
_SIZE = re.compile(r"width=(\d+)&height=(\d+)")


class Terminal:
    """The app in a page."""

    def __init__(self, page: Page, size: tuple[int, int]) -> None:
        self.page = page
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    async def wait_for(self, wanted: str, patience: float = 30) -> None:
        """Wait until the app shows `wanted`."""
        deadline = Deadline(patience)
        while wanted not in self.text:
            assert deadline.left, self.text
            await asyncio.sleep(0.1)
            for part in await self.page.eval("received.splice(0)"):
                self._stream.feed(_PRIVATE_MODES.sub(b"", base64.b64decode(part)))

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.page.press(key)


@asynccontextmanager
async def app_server(*options: str) -> AsyncIterator[str]:
    """Run `tcptutor serve` with replayed experiments; yields the first link."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tcptutor", "serve", "--backend", "replay", *options),
        env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdout is not None
    try:
        async with asyncio.timeout(seconds(30)):
            line = (await server.stdout.readline()).decode().strip()
        yield line.rpartition("\t")[2]
    finally:
        server.send_signal(signal.SIGTERM)
        await server.wait()


async def open_app(browser: Browser, link: str) -> Terminal:
    """Follow a link, log in, and open the app."""
    page = await browser.open("about:blank")
    await page.send("Security.setIgnoreCertificateErrors", ignore=True)  # of the test's own certificate
    await page.send("Page.addScriptToEvaluateOnNewDocument", source=_RECORD)
    await page.go(link)
    await page.click("button")
    await page.wait_for("document.querySelector('.xterm-helper-textarea')", 30)
    deadline = Deadline(30)
    while not (sizes := [_SIZE.search(url) for url in page.requested if _SIZE.search(url)]):
        assert deadline.left
        await asyncio.sleep(0.1)
    found = sizes[-1]
    assert found is not None
    return Terminal(page, (int(found[1]), int(found[2])))


@pytest.mark.host
async def test_a_student_opens_the_app_from_a_link(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with app_server("--open-to", "2", "--listen", "127.0.0.1:0") as link, Browser() as browser:
        app = await open_app(browser, link)
        await app.wait_for("How TCP gets its throughput")
        await app.press("Enter")
        await app.wait_for("pre-test")


@pytest.mark.host
async def test_a_student_predicts_runs_and_sees_the_chart_through_a_proxy_and_a_lost_line(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("NO_MOTION", "1")
    port, inner = free_port(), free_port()
    url = f"https://localhost:{port}"
    options = ("--open-to", "2", "--listen", f"127.0.0.1:{inner}", "--public-url", url)
    async with app_server(*options) as link, Browser() as browser:
        with nginx(tmp_path / "nginx", "localhost", port, inner):
            app = await open_app(browser, link)
            await app.wait_for("How TCP gets its throughput")
            await app.press("Enter")
            await app.wait_for("pre-test")
            await app.press("ArrowRight")
            await app.wait_for("1/32")
            await app.press("ArrowRight")
            await app.wait_for("2/32")
            await app.press("Tab", "2", "3", "0", "Enter")
            await app.wait_for("locked")
            await app.press("r")
            await app.wait_for("you said 230")
            await app.wait_for("◂ warm-up")
            # The line is lost while the student looks at the chart, and comes back.
            await app.page.set_offline(True)
        await app.page.wait_for_text("Connecting again")
        with nginx(tmp_path / "again", "localhost", port, inner):
            await app.page.set_offline(False)
            await app.page.wait_for("document.getElementById('notice').hidden", 30)
            await app.press("ArrowRight")
            await app.wait_for("3/32")
            assert [
                each for each in app.page.requested if "localhost" not in each and each != "about:blank"
            ] == []
            assert not any("Content Security Policy" in problem for problem in app.page.problems)
    assert await asyncio.to_thread(leftovers.wait_until_none, mark, 20.0) == []
    assert errors(tmp_path / "nginx") == []
