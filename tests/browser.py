"""A headless Chromium that a test drives: pages to open, click, type into, evaluate and take pictures of.

It is driven over two pipes (the DevTools protocol), not over a port: nobody else can connect, and Chromium ends when
the test's process does, however that ends.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.patience import Deadline, seconds

PHONE, DESKTOP = (390, 844), (1280, 800)
_FLAGS = (
    "--headless=new --no-sandbox --remote-debugging-pipe --no-first-run --disable-gpu --disable-dev-shm-usage "
    "--disable-background-networking --disable-component-update --disable-sync --disable-breakpad "
    "--disable-crash-reporter --disable-extensions --mute-audio --hide-scrollbars --force-color-profile=srgb "
    "--disable-features=Translate,MediaRouter,OptimizationHints"
).split()
_FOLDERS = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
_KEYS = {
    "Enter": 13,
    "Tab": 9,
    "Escape": 27,
    "ArrowUp": 38,
    "ArrowDown": 40,
    "ArrowLeft": 37,
    "ArrowRight": 39,
}


class BrowserError(Exception):
    """An answer of the browser that says why something did not work."""


class Browser:
    """A running Chromium with an empty profile of its own; nothing is left of it afterwards.

    Each page that is opened is a visitor of its own: no cookie of another page, unless `same_visitor` names one.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, Page] = {}
        self.profile = ""
        """Folder of the browser's own files, once it runs."""
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Browser:
        program = shutil.which("chromium")
        if program is None:
            pytest.fail("this test needs Chromium: apt-get install chromium")
        # Not in the test's own folder: a path of a socket in it is bounded.
        self.profile = tempfile.mkdtemp(prefix="tcptutor-chromium.", dir="/tmp")
        commands, self._commands = os.pipe()
        self._events, events = os.pipe()
        try:
            self._process = await asyncio.create_subprocess_exec(
                "bash", "-c", f'"$@" 3<&{commands} 4>&{events}; rm -rf {self.profile}', "bash",
                program, *_FLAGS, f"--user-data-dir={self.profile}", "about:blank",
                pass_fds=(commands, events), start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
                env={**os.environ, **dict.fromkeys(_FOLDERS, self.profile)},
            )  # fmt: skip
        finally:
            os.close(commands)
            os.close(events)
        self._reader = asyncio.create_task(self._read())
        try:
            await self.send("Browser.getVersion")
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader
        with contextlib.suppress(OSError):
            os.close(self._commands)
        shutil.rmtree(self.profile, ignore_errors=True)

    async def open(
        self,
        url: str,
        size: tuple[int, int] = DESKTOP,
        *,
        scheme: Literal["light", "dark"] = "light",
        scripts: bool = True,
        same_visitor: Page | None = None,
    ) -> Page:
        """Open a page in a window of `size`, on a telephone if it is narrow, and wait until it is loaded."""
        if same_visitor:
            visitor = same_visitor.visitor
        else:
            visitor = (await self.send("Target.createBrowserContext"))["browserContextId"]
        target = await self.send("Target.createTarget", url="about:blank", browserContextId=visitor)
        session = await self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = self._sessions[session["sessionId"]] = Page(
            self, session["sessionId"], target["targetId"], visitor
        )
        for domain in ("Page", "Runtime", "Network", "Log"):
            await page.send(f"{domain}.enable")
        width, height = size
        await page.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        await page.set_scheme(scheme)
        await page.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        await page.go(url)
        return page

    async def send(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol and return its result."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        try:
            async with asyncio.timeout(seconds(20)):
                done = await answer
        finally:
            del self._answers[number]
        if "error" in done:
            raise BrowserError(f"{method}: {done['error']['message']}")
        result: dict[str, Any] = done.get("result", {})
        return result

    async def _read(self) -> None:
        reader = asyncio.StreamReader(limit=64 << 20)
        pipe = os.fdopen(self._events, "rb")
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            while True:
                message = json.loads((await reader.readuntil(b"\0"))[:-1])
                answer = self._answers.get(message.get("id", 0))
                if answer and not answer.done():
                    answer.set_result(message)
                elif page := self._sessions.get(message.get("sessionId", "")):
                    page.note(message["method"], message["params"])
        except asyncio.IncompleteReadError:
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(BrowserError("Chromium has ended"))
        finally:
            transport.close()


class Page:
    """A page of the browser."""

    def __init__(self, browser: Browser, session: str, target: str, visitor: str) -> None:
        self.visitor = visitor
        self.requested: list[str] = []
        """URLs of all that the page asked for: its own, its resources, its scripts' requests."""
        self.problems: list[str] = []
        """Errors of scripts, and what the browser logs: resources that failed, violations of the page's CSP."""
        self._browser, self._session, self._target = browser, session, target

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol for this page."""
        return await self._browser.send(method, self._session, **parameters)

    async def go(self, url: str) -> None:
        """Load `url` and wait until it is loaded."""
        await self.eval("window.isOld = true")
        done = await self.send("Page.navigate", url=url)
        if done.get("errorText"):
            raise BrowserError(f"{url}: {done['errorText']}")
        await self.wait_for("!window.isOld && document.readyState === 'complete'")

    async def set_scheme(self, scheme: Literal["light", "dark"]) -> None:
        """Prefer a light or a dark page."""
        await self.send(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    async def eval(self, script: str) -> Any:
        """Return the value of a JavaScript expression, which may be a promise."""
        done = await self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if failed := done.get("exceptionDetails"):
            raise BrowserError(failed.get("exception", {}).get("description", failed["text"]))
        return done["result"].get("value")

    async def wait_for(self, condition: str, timeout: float = 10) -> Any:
        """Wait until a JavaScript expression is true or an element, also across page loads, and return its value."""
        deadline = Deadline(timeout)
        while True:
            # While a page is replaced by the next one there is nothing to evaluate in.
            with contextlib.suppress(BrowserError):
                if (value := await self.eval(condition)) or value == {}:
                    return value
            if not deadline.left:
                raise BrowserError(
                    f"never true: {condition}; the page reads:\n{await self.text()}\n{self.problems}"
                )
            await asyncio.sleep(0.05)

    async def wait_for_text(self, text: str, timeout: float = 10) -> None:
        """Wait until the page shows `text`."""
        await self.wait_for(f"document.body && document.body.innerText.includes({json.dumps(text)})", timeout)

    async def text(self) -> str:
        """Return the text that the page shows."""
        return str(await self.eval("document.body ? document.body.innerText : ''"))

    async def click(self, selector: str) -> None:
        """Click at the middle of the first element of a CSS selector, once it is there."""
        found = json.dumps(selector)
        x, y = await self.wait_for(
            f"""(() => {{
                const element = document.querySelector({found});
                if (!element) return null;
                element.scrollIntoView({{block: "center", behavior: "instant"}});
                const box = element.getBoundingClientRect();
                return box.width && box.height ? [box.x + box.width / 2, box.y + box.height / 2] : null;
            }})()"""
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    async def type(self, text: str) -> None:
        """Type text where the focus is."""
        for character in text:
            await self.send("Input.dispatchKeyEvent", type="char", text=character)

    async def press(self, key: str) -> None:
        """Press a key by its name (`Enter`, `ArrowDown`) or its character."""
        about: dict[str, Any] = {
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": _KEYS.get(key, ord(key[0].upper())),
        }
        if len(key) == 1:
            about["code"] = f"Key{key.upper()}"
        if text := {"Enter": "\r"}.get(key, key if len(key) == 1 else ""):
            about["text"] = text
        await self.send("Input.dispatchKeyEvent", type="keyDown", **about)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **about)

    async def set_offline(self, is_offline: bool) -> None:
        """Cut the page off the network, or connect it again; a connection that is open stays open."""
        await self.send(
            "Network.emulateNetworkConditions",
            offline=is_offline, latency=0, downloadThroughput=-1, uploadThroughput=-1,
        )  # fmt: skip

    async def screenshot(self, file: Path) -> None:
        """Write what the window shows as a PNG."""
        done = await self.send("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(done["data"]))  # noqa: ASYNC240  # the test waits for it

    async def close(self) -> None:
        """Close the page, as a student closes a tab."""
        await self._browser.send("Target.closeTarget", targetId=self._target)

    def note(self, event: str, about: dict[str, Any]) -> None:
        """Record an event of the page: called by the browser."""
        self.requested += _requested(event, about)
        self.problems += _problems(event, about)


def _requested(event: str, about: dict[str, Any]) -> Iterator[str]:
    if event == "Network.requestWillBeSent":
        yield about["request"]["url"]
    elif event == "Network.webSocketCreated":
        yield about["url"]


def _problems(event: str, about: dict[str, Any]) -> Iterator[str]:
    if event == "Runtime.exceptionThrown":
        details = about["exceptionDetails"]
        yield details.get("exception", {}).get("description", details["text"])
    elif event == "Log.entryAdded" and about["entry"]["level"] == "error":
        yield f"{about['entry']['text']} {about['entry'].get('url', '')}".strip()
