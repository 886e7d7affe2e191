"""The server as its pages use it: logging in, an app that outlives its browser, limits, and an end of everything."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path

import pytest

from tests.patience import Deadline
from tests.serve.served import is_alive, serving


def pid_in(shown: str) -> int:
    found = re.search(r"pid (\d+)", shown)
    assert found
    return int(found[1])


async def gone(pid: int, within: float = 10.0) -> bool:
    """Whether the process ends in that time."""
    deadline = Deadline(within)
    while deadline.left:
        if not is_alive(pid):
            return True
        await asyncio.sleep(0.05)
    return not is_alive(pid)


async def test_a_link_logs_in_once_and_the_cookie_stays(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        token = served.logins.make_link("ada")
        ada, thief = served.client(), served.client()
        assert (await ada.request("GET", "/me"))[0] == 401
        assert (await ada.request("GET", "/app"))[0] == 303
        assert await ada.log_in(token) == 200
        assert "ada" in (await ada.request("GET", "/me"))[1]
        assert (await ada.request("GET", "/app"))[0] == 200
        assert await thief.log_in(token) == 401
        assert (await thief.request("GET", "/me"))[0] == 401


async def test_the_app_gets_keys_and_sizes(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        page = await ada.open()
        await page.read_until("ready 100x30")
        await page.type("é")
        await page.read_until("key 'é'")
        await page.send("resize", {"width": 9999, "height": 2})
        await page.read_until('"height": 8, "type": "resize", "width": 500')
        await page.send("ping", "17")
        await page.read_until('["pong", "17"]')


async def test_the_app_lives_on_and_is_repainted(tmp_path: Path) -> None:
    """A lost connection, and then a second window."""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        page = await ada.open()
        pid = pid_in(await page.read_until("ready"))
        await page.socket.close()
        again = await ada.open()
        await again.read_until('{"type": "repaint"}')
        await again.type("z")
        await again.read_until("key 'z'")
        other = await ada.open()
        await other.read_until("repaint")
        assert await again.closed() == 4001
        assert is_alive(pid)
        assert served.starter.started == 1


async def test_an_app_that_is_left_ends_the_connection_and_starts_anew(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        page = await ada.open()
        pid = pid_in(await page.read_until("ready"))
        await page.type("q")
        assert await page.closed() == 4000
        assert await gone(pid)
        again = await ada.open()
        assert pid_in(await again.read_until("ready")) != pid


async def test_an_app_that_dies_is_told(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        page = await (await served.student("ada")).open()
        await page.read_until("ready")
        await page.type("d")
        assert await page.closed() == 4006


async def test_a_browser_that_is_asleep_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-open connection: it answers no ping. The connection is given up, then the app."""
    monkeypatch.setattr("tcptutor.serve.server._HEARTBEAT_S", 0.4)
    monkeypatch.setattr("tcptutor.serve.sessions._LOOK_EVERY_S", 0.1)
    async with serving(tmp_path, keep_s=0.5) as served:
        page = await (await served.student("ada")).open(autoping=False)
        pid = pid_in(await page.read_until("ready"))
        session = served.sessions.find("ada")
        assert session is not None
        assert session.is_shown
        assert await gone(pid)
        assert not session.is_shown


async def test_exported_files_are_offered(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        ada, bob = await served.student("ada"), await served.student("bob")
        assert "no files" in (await ada.request("GET", "/files"))[1]
        folder = tmp_path / "student-ada" / "files"
        folder.mkdir(parents=True)
        (folder / "<b>run 1&2.csv").write_text("1,2\n")
        _, page, _ = await ada.request("GET", "/files")
        assert "&lt;b&gt;run 1&amp;2.csv" in page
        link = re.search(r'href="(files/[^"]+)"', page)
        assert link
        status, text, headers = await ada.request("GET", f"/{link[1]}")
        assert (status, text) == (200, "1,2\n")
        assert headers["Content-Disposition"].startswith("attachment")
        assert (await bob.request("GET", f"/{link[1]}"))[0] == 404


async def test_nobody_waits_for_an_app_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ignores signals, as does what it has started: all of it is gone after the grace."""
    monkeypatch.setattr("tcptutor.serve.browser_session.GRACE_S", 0.3)
    monkeypatch.setattr("tcptutor.serve.sessions._LOOK_EVERY_S", 0.1)
    async with serving(tmp_path, keep_s=0.5) as served:
        page = await (await served.student("ada")).open()
        pid = pid_in(await page.read_until("ready"))
        await page.type("h")
        await page.read_until("hangs")
        await page.type("x" * 60000)
        await page.socket.close()
        assert await gone(pid)
        await asyncio.sleep(0.3)
        assert len(served.sessions) == 0


@pytest.mark.parametrize("option", ["--hang-at-start", "--fail-at-start"])
async def test_an_app_that_does_not_start_is_told(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcptutor.serve.browser_session.START_S", 0.5 if "hang" in option else 20.0)
    async with serving(tmp_path, option) as served:
        page = await (await served.student("ada")).open()
        assert await page.closed() == 4003
        assert len(served.sessions) == 0


async def test_a_full_server_says_so_and_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcptutor.serve.sessions._AWAY_S", 0.1)
    async with serving(tmp_path, sessions=1) as served:
        ada, bob = await served.student("ada"), await served.student("bob")
        page = await ada.open()
        pid = pid_in(await page.read_until("ready"))
        assert await (await bob.open()).closed() == 4002
        await page.socket.close()
        await asyncio.sleep(0.3)
        await (await bob.open()).read_until("ready")
        assert not is_alive(pid)
        assert len(served.sessions) == 1


async def test_an_app_that_is_not_used_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcptutor.serve.sessions._LOOK_EVERY_S", 0.1)
    async with serving(tmp_path, idle_s=1.0) as served:
        page = await (await served.student("ada")).open()
        pid = pid_in(await page.read_until("ready"))
        assert await page.closed() == 4004
        assert await gone(pid)


async def test_logging_out_ends_the_app(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        page = await ada.open()
        pid = pid_in(await page.read_until("ready"))
        assert (await ada.request("POST", "/logout"))[0] == 204
        assert await page.closed() == 4000
        assert not is_alive(pid)
        assert (await ada.request("GET", "/me"))[0] == 401


async def test_the_end_of_the_server_ends_the_apps(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        pages = [await (await served.student(name)).open() for name in ("ada", "bob")]
        pids = [pid_in(await page.read_until("ready")) for page in pages]
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


async def test_an_app_that_starts_while_the_server_ends_is_gone(tmp_path: Path) -> None:
    async with serving(tmp_path, "--hang-at-start") as served:
        page = await (await served.student("ada")).open()
        deadline = Deadline(10)
        while served.starter.started == 0 and deadline.left:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        closing = asyncio.create_task(served.sessions.close())
        assert await page.closed() == 4003
        await closing
    assert all(process.returncode is not None for process in served.starter.processes)
