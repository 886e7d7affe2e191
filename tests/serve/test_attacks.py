"""Attacks on the server. Each docstring is a row of the table in `assets/documentation/serve.md`."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tcptutor.base import places
from tcptutor.serve.connections import Connections
from tcptutor.serve.guard import parse_address
from tests.patience import seconds
from tests.serve.served import Served, serving, tree_of

FOREIGN = "https://evil.example"


async def raw(served: Served, request: str | bytes) -> bytes:
    """Send bytes, and return what comes back until the server closes or has answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(served.url.rpartition(":")[2]))
    try:
        writer.write(request if isinstance(request, bytes) else request.replace("\n", "\r\n").encode())
        async with asyncio.timeout(seconds(10)):
            return await reader.read(65536)
    finally:
        writer.close()


def status(answer: bytes) -> int:
    return int(answer.split()[1])


async def refused(connecting: Any) -> int:
    """The status of a websocket handshake that fails."""
    with pytest.raises(aiohttp.WSServerHandshakeError) as error:
        await connecting
    return error.value.status


async def test_foreign_websocket(tmp_path: Path) -> None:
    """A page of another site opens the app's websocket, with the student's cookie"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        port = served.url.rpartition(":")[2]
        for origin in (
            FOREIGN,
            "null",
            "http://127.0.0.1:1",
            f"https://127.0.0.1:{port}",
            f"{served.url}.evil.example",
        ):
            assert await refused(ada.open(origin=origin)) == 403
        assert served.starter.started == 0


async def test_websocket_without_an_origin(tmp_path: Path) -> None:
    """A websocket without an Origin, or with two"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        assert await refused(ada.open(origin=None)) == 403
        cookie = next(iter(ada.http.cookie_jar))
        answer = await raw(
            served,
            f"GET /ws HTTP/1.1\nHost: {served.url[7:]}\nUpgrade: websocket\nConnection: Upgrade\n"
            f"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\nSec-WebSocket-Version: 13\n"
            f"Cookie: {cookie.key}={cookie.value}\nOrigin: {served.url}\nOrigin: {FOREIGN}\n\n",
        )
        assert status(answer) == 403


async def test_foreign_forms(tmp_path: Path) -> None:
    """A form of another site logs the student in as somebody else, or out"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        token = served.logins.make_link("bob")
        assert await ada.log_in(token, Origin=FOREIGN) == 403
        assert (await ada.request("POST", "/logout", Origin=FOREIGN))[0] == 403
        assert (await ada.request("POST", "/logout", Sec_Fetch_Site="cross-site"))[0] == 403
        assert (await ada.request("POST", "/logout", Sec_Fetch_Site="same-site"))[0] == 403
        assert "ada" in (await ada.request("GET", "/me"))[1]


async def test_rebinding(tmp_path: Path) -> None:
    """DNS rebinding: a name of the attacker leads to the server's address"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        port = served.url.rpartition(":")[2]
        for host in (f"evil.example:{port}", "evil.example", "127.0.0.1", f"127.0.0.1:{port}@evil.example"):
            assert (await ada.request("GET", "/me", Host=host, Origin=f"http://{host}"))[0] == 421
        opening = ada.open(headers={"Host": f"evil.example:{port}"}, origin=f"http://evil.example:{port}")
        assert await refused(opening) == 421


async def test_hosts(tmp_path: Path) -> None:
    """Two Host headers, or none"""
    async with serving(tmp_path) as served:
        assert status(
            await raw(served, f"GET / HTTP/1.1\nHost: {served.url[7:]}\nHost: evil.example\n\n")
        ) in (400, 421)
        assert status(await raw(served, "GET / HTTP/1.1\nX: y\n\n")) in (400, 421)
        assert status(await raw(served, "GET / HTTP/1.0\n\n")) == 421


async def test_no_login(tmp_path: Path) -> None:
    """Everything behind the login, without a cookie or with a guessed one"""
    async with serving(tmp_path) as served:
        stranger = served.client()
        for guess in ("", "x", "A" * 43, "\xff"):
            cookie = {"Cookie": f"tcptutor-0={guess}"} if guess else {}
            for path in ("/me", "/download/own-key", "/files", "/files/hand-in.tcphandin"):
                assert (await stranger.request("GET", path, **cookie))[0] == 401
            assert (await stranger.request("GET", "/app", **cookie))[0] == 303
            assert (await stranger.request("POST", "/logout", **cookie))[0] == 401
            assert await refused(stranger.open(headers=cookie)) == 401
        assert served.starter.started == 0


async def test_replayed_token(tmp_path: Path) -> None:
    """A link that was used, by somebody who has seen it"""
    async with serving(tmp_path) as served:
        token = served.logins.make_link("ada")
        assert await served.client().log_in(token) == 200
        assert [await served.client().log_in(token) for _ in range(3)] == [401] * 3


async def test_race_for_a_token(tmp_path: Path) -> None:
    """Twenty browsers use one link at the same time: one gets in"""
    async with serving(tmp_path) as served:
        token = served.logins.make_link("ada")
        answers = await asyncio.gather(*(served.client().log_in(token) for _ in range(20)))
        assert sorted(answers) == [200, *[401] * 19]


async def test_where_the_token_goes(tmp_path: Path) -> None:
    """The link's token in logs, in Referer, or used up by a program that previews links"""
    async with serving(tmp_path) as served:
        token = served.logins.make_link("ada")
        preview = served.client()
        for path in (f"/?token={token}", f"/login?token={token}", f"/#{token}", f"/{token}"):
            await preview.request("GET", path)
        assert (await preview.request("GET", "/me"))[0] == 401
        _, page, headers = await preview.request("GET", "/")
        assert headers["Referrer-Policy"] == "no-referrer"
        assert token not in page
        assert await served.client().log_in(token) == 200


async def test_cookie(tmp_path: Path) -> None:
    """A script, or another site, takes the cookie along"""
    async with serving(tmp_path) as served:
        client, token = served.client(), served.logins.make_link("ada")
        _, _, headers = await client.request("POST", "/login", data={"token": token})
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
    proxied = parse_address("127.0.0.1:0", "https://lab.example.edu")
    async with serving(tmp_path / "proxied", address=proxied) as served:
        client, token = served.client(), served.logins.make_link("ada")
        own = {"Host": "lab.example.edu", "Origin": "https://lab.example.edu"}
        status_, _, headers = await client.request("POST", "/login", data={"token": token}, **own)
        assert status_ == 200
        assert headers["Set-Cookie"].startswith("__Host-")
        assert "Secure" in headers["Set-Cookie"]
        assert (await client.request("POST", "/login", data={"token": token}))[0] == 403


async def test_paths(tmp_path: Path) -> None:
    """Path tricks: .., encoded, doubled, absolute, with NUL, and folders to list"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        secret = tmp_path / "student-bob" / "files" / "secret.txt"
        secret.parent.mkdir(parents=True)
        secret.write_text("bob's")
        own = tmp_path / "student-ada" / "files"
        own.mkdir(parents=True, exist_ok=True)
        (own / "link").symlink_to(secret)
        (own / "folder").mkdir()
        cookie = next(iter(ada.http.cookie_jar))
        tricks = (
            "/static/", "/static", "/static/../server.py", "/static/..%2fserver.py", "/static/%2e%2e/server.py",
            "/static//etc/passwd", "/static/textual.js/", "/static/textual.js%00", "/static/..\\server.py",
            "/files/../../student-bob/files/secret.txt", "/files/..%2f..%2fstudent-bob%2ffiles%2fsecret.txt",
            "/files/%2e%2e", "/files/..", "/files/.", "/files/link", "/files/folder", "/files/%2fetc%2fpasswd",
            "/files/secret.txt%00", "//etc/passwd", "/download/..%2f..%2fapp.log", "/.git/config", "/app/../me/..",
        )  # fmt: skip
        for path in tricks:
            answer = await raw(
                served,
                f"GET {path} HTTP/1.1\nHost: {served.url[7:]}\nConnection: close\n"
                f"Cookie: {cookie.key}={cookie.value}\n\n",
            )
            assert status(answer) in (400, 404), path
            assert b"bob's" not in answer


async def test_other_students_download(tmp_path: Path) -> None:
    """Another student's download, with its key"""
    async with serving(tmp_path) as served:
        ada, bob = await served.student("ada"), await served.student("bob")
        page, other = await ada.open(), await bob.open()
        await page.read_until("ready")
        await other.read_until("ready")
        await page.type("o")
        await page.read_until("own-key")
        assert (await bob.request("GET", "/download/own-key"))[0] == 404
        code, text, _ = await ada.request("GET", "/download/own-key")
        assert (code, text) == (200, "<html>secret</html>")


async def test_download_headers(tmp_path: Path) -> None:
    """A download whose name has line ends, and whose type would run scripts"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        page = await ada.open()
        await page.read_until("ready")
        await page.type("o")
        await page.read_until("own-key")
        _, _, headers = await ada.request("GET", "/download/own-key")
        assert "X-Evil" not in headers
        assert headers["Content-Type"] == "application/octet-stream"
        assert headers["Content-Disposition"].startswith("attachment; ")
        assert headers["X-Content-Type-Options"] == "nosniff"


async def test_oversized_frames(tmp_path: Path) -> None:
    """Frames of 64 KiB and more, also compressed to a few bytes"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        page = await ada.open()
        await page.read_until("ready")
        await page.send("stdin", "x" * 70000)
        assert await page.closed() == 1009
        bomb = await ada.open(compress=15)
        await bomb.read_until("repaint")
        await bomb.send("stdin", "x" * (8 << 20))
        assert await bomb.closed() == 1009
        page = await ada.open()
        await page.read_until("repaint")
        assert served.starter.started == 1


@pytest.mark.parametrize(
    "frame",
    [
        "", "{", "[]", "null", "17", '"stdin"', '["stdin"]', '["stdin", 5]', '["stdin", "a", "b"]', '["resize", null]',
        '["resize", {"width": "80", "height": 24}]', '["resize", {"width": 1e999, "height": 24}]', '["exit"]',
        '["repaint"]', '[["stdin", "a"]]', "[" * 60000, '["ping", "' + "9" * 100 + '"]', "9" * 5000, b"\x00\x01",
    ],
    ids=lambda frame: str(frame)[:24],
)  # fmt: skip
async def test_malformed_messages(frame: str | bytes, tmp_path: Path) -> None:
    """Malformed messages: no JSON, wrong types, unknown kinds, deep nesting, binary"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        page = await ada.open()
        await page.read_until("ready")
        await (page.socket.send_bytes(frame) if isinstance(frame, bytes) else page.socket.send_str(frame))
        assert await page.closed() == 1008
        again = await ada.open()
        await again.read_until("repaint")
        assert served.starter.started == 1


async def test_smuggled_packets(tmp_path: Path) -> None:
    """Keys that look like a packet to the app's driver, and sizes with more in them"""
    async with serving(tmp_path) as served:
        page = await (await served.student("ada")).open()
        await page.read_until("ready")
        body = json.dumps({"type": "quit"})
        await page.type(f"M\x00\x00\x00{chr(len(body))}{body}".replace("q", "Q"))
        await page.read_until("key '}'")
        assert '"quit"' not in page.shown
        await page.send("resize", {"width": 90, "height": 30, "type": "exit"})
        await page.read_until('{"height": 30, "type": "resize", "width": 90}')
        await page.type("\udc80\ud800")
        await page.read_until("key '?'")


async def test_flood_of_keys(tmp_path: Path) -> None:
    """A flood of messages: its sender waits, and nobody else does"""
    async with serving(tmp_path) as served:
        ada, bob = await served.student("ada"), await served.student("bob")
        flood, page = await ada.open(), await bob.open()
        await flood.read_until("ready")
        await page.read_until("ready")
        sent = 0

        async def send_for_ever() -> None:
            nonlocal sent
            while True:
                await flood.send("stdin", "x" * 100)
                sent += 1

        sending = asyncio.create_task(send_for_ever())
        try:
            await asyncio.sleep(1.0)
            began = time.monotonic()
            await page.type("z")
            await page.read_until("key 'z'")
            assert time.monotonic() - began < seconds(1.0)
            before, flooding = sent, time.monotonic()
            await asyncio.sleep(2.0)
            assert (sent - before) / (time.monotonic() - flooding) < 2000
        finally:
            sending.cancel()
            flood.abort()


async def test_flood_of_connections(tmp_path: Path) -> None:
    """A student opens a hundred websockets"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")

        async def attempt() -> int:
            try:
                await ada.open()
            except aiohttp.WSServerHandshakeError as error:
                return error.status
            return 101

        answers = [await attempt() for _ in range(100)]
        assert answers.count(429) > 50
        assert served.starter.started == 1
        assert len(served.sessions) == 1


async def test_flood_of_logins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guessing tokens, thousands a second"""
    monkeypatch.setattr("tcptutor.serve.server._LOGINS_AT_ONCE", 20.0)
    async with serving(tmp_path) as served:
        client = served.client()
        answers = [await client.log_in(f"guess{number}") for number in range(80)]
        assert set(answers) == {401, 429}


async def test_slow_reader(tmp_path: Path) -> None:
    """A browser that does not read: the app goes on, the server's memory stays small"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        page = await ada.open()
        await page.read_until("ready")
        page.socket._response.connection.transport.pause_reading()  # type: ignore[union-attr]
        await page.type("ff")  # 8 MB
        await asyncio.sleep(1.0)
        session = served.sessions.find("ada")
        assert session is not None
        assert session._output is not None
        assert session._output._size <= 256 << 10
        bob = await (await served.student("bob")).open()
        await bob.type("b")
        await bob.read_until("key 'b'", 20)
        other = await ada.open()
        await other.type("z")
        await other.read_until("key 'z'", 20)
        assert served.starter.started == 2


async def test_silent_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that say nothing, or a byte now and then (Slowloris)"""
    monkeypatch.setitem(Connections.TIMEOUTS, "keepalive_timeout", 0.5)
    async with serving(tmp_path) as served:
        assert await raw(served, "") == b""
        assert await raw(served, f"GET / HTTP/1.1\nHost: {served.url[7:]}\nX: ") == b""


async def test_slow_body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form whose body does not come"""
    monkeypatch.setattr("tcptutor.serve.server._BODY_S", 0.3)
    async with serving(tmp_path) as served:
        answer = await raw(
            served,
            f"POST /login HTTP/1.1\nHost: {served.url[7:]}\nOrigin: {served.url}\nContent-Length: 90\n"
            "Content-Type: application/x-www-form-urlencoded\n\ntoken=",
        )
        assert status(answer) in (408, 504)


async def test_many_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More connections than the server takes"""
    monkeypatch.setattr("tcptutor.serve.connections._MOST", 20)
    async with serving(tmp_path) as served:
        opened = [
            await asyncio.open_connection("127.0.0.1", int(served.url.rpartition(":")[2])) for _ in range(25)
        ]
        async with asyncio.timeout(seconds(5)):
            assert [await reader.read(1) for reader, _ in opened[20:]] == [b""] * 5
        for _, writer in opened:
            writer.close()
        await asyncio.sleep(0.1)
        assert (await served.client().request("GET", "/"))[0] == 200


async def test_oversized_requests(tmp_path: Path) -> None:
    """Oversized lines, headers and bodies"""
    async with serving(tmp_path) as served:
        start = f"Host: {served.url[7:]}\nOrigin: {served.url}\n"
        assert status(await raw(served, f"GET /{'x' * 20000} HTTP/1.1\n{start}\n")) == 400
        assert status(await raw(served, f"GET / HTTP/1.1\n{start}X: {'x' * 20000}\n\n")) == 400
        assert (await served.client().request("POST", "/login", data={"token": "x" * 20000}))[0] == 413


async def test_request_smuggling(tmp_path: Path) -> None:
    """Two lengths, or a length and chunks (request smuggling), and other methods"""
    async with serving(tmp_path) as served:
        start = f"Host: {served.url[7:]}\nOrigin: {served.url}\n"
        both = f"POST /login HTTP/1.1\n{start}Content-Length: 4\nTransfer-Encoding: chunked\n\n0\n\n"
        assert status(await raw(served, f"{both}GET /me HTTP/1.1\n\n")) == 400
        two = f"POST /login HTTP/1.1\n{start}Content-Length: 4\nContent-Length: 5\n\nabcde"
        assert status(await raw(served, two)) == 400
        for method in ("PUT", "DELETE", "TRACE", "PATCH", "OPTIONS"):
            assert (await served.client().request(method, "/me"))[0] == 405


async def test_frames_and_scripts(tmp_path: Path) -> None:
    """The pages in a frame of another site, with scripts of another site, or read by it"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        for path in ("/", "/app", "/me", "/static/app.js", "/nothing", "/download/x"):
            _, text, headers = await ada.request("GET", path)
            policy = headers["Content-Security-Policy"]
            assert "frame-ancestors 'none'" in policy
            assert "default-src 'none'; script-src 'self';" in policy
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert "Access-Control-Allow-Origin" not in headers
            assert "aiohttp" not in headers["Server"]
            if path in ("/", "/app"):
                assert not re.search(r"https?://", text)
                assert not re.search(r"<script(?! src)|\son\w+=|style=", text)


async def test_environment(tmp_path: Path) -> None:
    """The server's secrets, in the environment of the app and of its shells"""
    server = {
        "PATH": "/usr/bin:/bin",
        "AWS_SECRET_ACCESS_KEY": "hidden",
        "SSH_AUTH_SOCK": "hidden",
        "HOME": "/hidden",
    }
    async with serving(tmp_path, environment=server) as served:
        page = await (await served.student("ada")).open()
        await page.read_until("ready")
        await page.type("e")
        await page.read_until("environment")
        await page.read_until("XDG_DATA_HOME")
        assert "hidden" not in page.shown


async def test_planted_module(tmp_path: Path) -> None:
    """A module that a student leaves in the working folder, for the next start to import"""
    for name in ("tcptutor", "click", "json", "msgspec", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("print('planted')\n")
    # As `tcptutor serve` starts it.
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "tcptutor.commands.browser_app", "--help"),
        cwd=tmp_path, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    shown, _ = await process.communicate()
    assert process.returncode == 0
    assert b"planted" not in shown


async def test_other_students_journal(tmp_path: Path) -> None:
    """Another student's app or journal, with one's own login"""
    async with serving(tmp_path) as served:
        ada, bob = await served.student("ada"), await served.student("bob")
        page = await ada.open()
        await page.read_until("ready")
        await page.type("e")
        await page.read_until("environment")
        other = await bob.open(headers={"X-Student": "ada"})
        await other.read_until("ready")
        await other.type("e")
        await other.read_until("environment")
        await asyncio.sleep(0.2)
        assert "student-bob" not in page.shown
        assert "student-ada" not in other.shown
        modes = {path: path.stat().st_mode & 0o077 for path in tree_of(tmp_path) if path.is_dir()}
        assert set(modes.values()) == {0}


async def test_escape_sequences(tmp_path: Path) -> None:
    """Links of the app to scripts, and sizes or keys that are no text"""
    async with serving(tmp_path) as served:
        ada = await served.student("ada")
        page = await ada.open()
        await page.read_until("ready")
        await page.type("uz")
        await page.read_until("key 'z'")
        assert "javascript" not in page.shown
        odd = await ada.http.ws_connect(f"{served.url}/ws?width=%1b%5d52&height=-1", origin=served.url)
        while b"resize" not in (shown := (await odd.receive()).data):
            pass
        assert b'"height": 24, "type": "resize", "width": 80' in shown


def test_the_documentation_lists_every_attack() -> None:
    text = (places.assets() / "documentation" / "serve.md").read_text()
    rows = set(re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", text, re.MULTILINE))
    attacks = {
        each.__doc__
        for name, each in globals().items()
        if name.startswith("test_") and getattr(each, "__doc__", None)
    }
    assert len(attacks) >= 20
    assert attacks <= rows
