"""Web server: login, pages and websockets, built on the sessions and the browser terminal of textual-serve."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.download_manager import Download

from tcptutor.base import places
from tcptutor.base.errors import TutorError
from tcptutor.base.printable import escaped
from tcptutor.serve import exported
from tcptutor.serve.browser_session import BrowserSession, Closing, SessionFailed
from tcptutor.serve.connections import Connections
from tcptutor.serve.guard import Budget, ServerAddress, add_headers, guard
from tcptutor.serve.logins import LIFETIME_S, Logins
from tcptutor.serve.sessions import ServerFull, Sessions
from tcptutor.serve.students import Student

log = logging.getLogger("tcptutor.serve")

_MOST_MESSAGE = 64 << 10
"""Bytes of the longest websocket message, enough for a long paste."""
_MOST_BODY, _BODY_S = 4 << 10, 10.0
_HEARTBEAT_S = 15.0
"""Seconds between pings; a connection without a pong within half this time counts as dead."""
_SMALLEST, _LARGEST = (20, 8), (500, 200)
"""Smallest and largest size of the terminal, columns and rows."""
_MESSAGES_PER_S, _MESSAGES_AT_ONCE = 200.0, 800.0
_BYTES_PER_S, _BYTES_AT_ONCE = 64e3, 512e3
_LONGEST_FLOOD_S = 5.0
"""Seconds of throttling after which a flooding connection is closed."""
_CONNECTS_PER_S, _CONNECTS_AT_ONCE = 1.0, 20.0
_LOGINS_PER_S, _LOGINS_AT_ONCE = 20.0, 400.0
_SCRIPT, _STYLE, _FONT = "text/javascript", "text/css", "font/ttf"


class BadMessage(Exception):
    """Websocket message that the page never sends."""


class CourseServer:
    """Web server that shows the app to students in their browsers."""

    def __init__(
        self, address: ServerAddress, students: Mapping[str, Student], logins: Logins, sessions: Sessions
    ) -> None:
        self._address, self._students, self._logins, self._sessions = address, students, logins, sessions
        self._cookie = "__Host-tcptutor" if address.is_secure else f"tcptutor-{address.port}"
        self._pages = {name: (places.assets() / "serve" / file).read_text() for name, file in _PAGES.items()}
        self._statics = _static_files()
        self._connects: dict[str, Budget] = {}
        self._login_budget = Budget(_LOGINS_PER_S, _LOGINS_AT_ONCE)

    @contextlib.asynccontextmanager
    async def listen(self) -> AsyncIterator[int]:
        """Serve inside a `with` block, and yield the port. Raises TutorError if the address cannot be used."""
        app = web.Application(middlewares=[guard(self._address)], client_max_size=_MOST_BODY)
        app.add_routes(
            [
                web.get("/", self._login_page),
                web.get("/app", self._app_page),
                web.get("/me", self._me),
                web.post("/login", self._log_in),
                web.post("/logout", self._log_out),
                web.get("/ws", self._websocket),
                web.get("/download/{key}", self._download),
                web.get("/files", self._files_page),
                web.get("/files/{name}", self._file),
                web.get("/static/{name}", self._static),
            ]
        )
        app.on_response_prepare.append(add_headers)
        runner = web.AppRunner(app, access_log=None, **Connections.TIMEOUTS)
        await runner.setup()
        assert runner.server is not None
        listener: asyncio.Server | None = None
        try:
            listener = await self._listen(Connections(runner.server))
            self._sessions.watch()
            yield listener.sockets[0].getsockname()[1]
        finally:
            if listener is not None:
                listener.close()
            await self._sessions.close()
            await runner.cleanup()

    async def _listen(self, connections: Connections) -> asyncio.Server:
        loop, host, port = asyncio.get_running_loop(), self._address.host, self._address.port
        try:
            return await loop.create_server(connections, host, port)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise TutorError(f"cannot listen on {host}:{port}: {reason}: give another --listen") from error

    async def _login_page(self, _request: web.Request) -> web.Response:
        return self._page("login")

    async def _app_page(self, request: web.Request) -> web.Response:
        if self._student(request) is None:
            raise web.HTTPSeeOther("./")
        return self._page("app")

    async def _me(self, request: web.Request) -> web.Response:
        """Respond with the name of the logged-in student."""
        return web.json_response({"student": self._logged_in(request).name})

    async def _log_in(self, request: web.Request) -> web.Response:
        """Exchange the token of a link for a login cookie."""
        if not self._login_budget.try_take():
            raise web.HTTPTooManyRequests(text="too many logins at a time: try again in a minute\n")
        async with asyncio.timeout(_BODY_S):
            token = str((await request.post()).get("token", ""))
        login = await asyncio.to_thread(self._logins.redeem, token)
        if login is None or login[0] not in self._students:
            raise web.HTTPUnauthorized(text="this link was used before, or is too old: ask for a new one\n")
        student, cookie = login
        answer = web.json_response({"student": student})
        answer.set_cookie(
            self._cookie, cookie, max_age=int(LIFETIME_S), path="/",
            httponly=True, samesite="Strict", secure=self._address.is_secure,
        )  # fmt: skip
        log.info("%s: logged in", escaped(student))
        return answer

    async def _log_out(self, request: web.Request) -> web.Response:
        """End the login and the session."""
        student = self._logged_in(request)
        await asyncio.to_thread(self._logins.log_out, request.cookies.get(self._cookie, ""))
        await self._sessions.end(student.name)
        answer = web.Response(status=204)
        answer.del_cookie(
            self._cookie, path="/", httponly=True, samesite="Strict", secure=self._address.is_secure
        )
        return answer

    async def _static(self, request: web.Request) -> web.StreamResponse:
        """Send a static file from a fixed list, without resolving paths."""
        known = self._statics.get(request.match_info["name"])
        if known is None:
            raise web.HTTPNotFound(text="no such file\n")
        file, kind = known
        return web.FileResponse(file, headers={"Content-Type": kind, "Cache-Control": "no-cache"})

    async def _files_page(self, request: web.Request) -> web.Response:
        """List the files that the student has exported."""
        names = await asyncio.to_thread(exported.names, self._logged_in(request).files)
        return self._page("files", exported.as_html(names))

    async def _file(self, request: web.Request) -> web.StreamResponse:
        """Send a file that the student has exported."""
        student, name = self._logged_in(request), request.match_info["name"]
        file = await asyncio.to_thread(exported.find, student.files, name)
        if file is None:
            raise web.HTTPNotFound(text="no such file\n")
        headers = {"Content-Type": "application/octet-stream", "Content-Disposition": _attachment(name)}
        return web.FileResponse(file, headers=headers)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """Send a file that the student's own app offers."""
        student, key = self._logged_in(request), request.match_info["key"]
        manager, session = self._sessions.downloads, self._sessions.find(student.name)
        try:
            offered: Download = await manager.get_download_metadata(key)
        except KeyError:
            raise web.HTTPNotFound(text="no such download\n") from None
        if session is None or offered.app_service is not session:
            raise web.HTTPNotFound(text="no such download\n")
        answer = web.StreamResponse(
            headers={
                "Content-Type": "application/octet-stream",
                "Content-Disposition": _attachment(offered.file_name),
            }
        )
        await answer.prepare(request)
        async for chunk in manager.download(key):
            await answer.write(chunk)
        await answer.write_eof()
        return answer

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        """Show the student's app over a websocket until the page closes or a newer page takes over."""
        student = self._logged_in(request)
        budget = self._connects.setdefault(student.name, Budget(_CONNECTS_PER_S, _CONNECTS_AT_ONCE))
        if not budget.try_take():
            raise web.HTTPTooManyRequests(text="too many connections: wait a few seconds\n")
        size = _size(request.query.get("width"), request.query.get("height"))
        websocket = web.WebSocketResponse(heartbeat=_HEARTBEAT_S, max_msg_size=_MOST_MESSAGE, timeout=2.0)
        if not websocket.can_prepare(request).ok:
            raise web.HTTPBadRequest(text="this is for websockets\n")
        await websocket.prepare(request)
        Connections.send_at_the_reader_s_pace(request.transport)
        try:
            session = await self._sessions.show(student, websocket, size)
        except SessionFailed as error:
            code = Closing.FULL if isinstance(error, ServerFull) else Closing.FAILED
            reason = str(error) if isinstance(error, ServerFull) else "the app did not start"
            await websocket.close(code=code, message=reason.encode())
            return websocket
        try:
            await _converse(websocket, session)
        except ConnectionError:
            pass
        except BadMessage as error:
            log.warning("%s: closed: %s", escaped(student.name), error)
            await websocket.close(code=WSCloseCode.POLICY_VIOLATION, message=str(error).encode())
        finally:
            await session.leave(WSCloseCode.GOING_AWAY, "", websocket)
        return websocket

    def _student(self, request: web.Request) -> Student | None:
        name = self._logins.student_of(request.cookies.get(self._cookie, ""))
        return self._students.get(name) if name is not None else None

    def _logged_in(self, request: web.Request) -> Student:
        student = self._student(request)
        if student is None:
            raise web.HTTPUnauthorized(text="log in with the link that you were given\n")
        return student

    def _page(self, name: str, content: str = "") -> web.Response:
        return web.Response(
            text=self._pages[name].replace("<!-- content -->", content), content_type="text/html"
        )


async def _converse(websocket: web.WebSocketResponse, session: BrowserSession) -> None:
    """Forward the page's messages to the session until the page closes. Raises BadMessage."""
    messages, amount = Budget(_MESSAGES_PER_S, _MESSAGES_AT_ONCE), Budget(_BYTES_PER_S, _BYTES_AT_ONCE)
    last_without_waiting = time.monotonic()
    async for message in websocket:
        if message.type is WSMsgType.ERROR:
            return
        if message.type is not WSMsgType.TEXT:
            raise BadMessage("not a text message")
        # Read a flood slowly, so that TCP flow control stops its sender.
        if wait := max(messages.take(), amount.take(len(message.data))):
            await asyncio.sleep(wait)
            if time.monotonic() - last_without_waiting > _LONGEST_FLOOD_S:
                raise BadMessage("too many messages")
        else:
            last_without_waiting = time.monotonic()
        await _take(message.data, websocket, session)


async def _take(text: str, websocket: web.WebSocketResponse, session: BrowserSession) -> None:
    try:
        match json.loads(text):
            case ["stdin", str(keys)]:
                await session.send_bytes(keys.encode("utf-8", "replace"))
            case ["resize", {"width": int(width), "height": int(height)}]:
                await session.set_terminal_size(*_size(width, height))
            case ["ping", str(sent)] if len(sent) < 40:
                await websocket.send_json(["pong", sent])
            case ["focus"]:
                await session.focus()
            case ["blur"]:
                await session.blur()
            case _:
                raise BadMessage("an unknown message")
    except (ValueError, RecursionError):
        raise BadMessage("a malformed message") from None


def _size(width: Any, height: Any) -> tuple[int, int]:
    """Return a terminal size within bounds; 80x24 for invalid values."""
    try:
        columns, rows = int(width), int(height)
    except (TypeError, ValueError):
        columns, rows = 80, 24
    return (
        min(max(columns, _SMALLEST[0]), _LARGEST[0]),
        min(max(rows, _SMALLEST[1]), _LARGEST[1]),
    )


def _attachment(name: str) -> str:
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in name
    )
    return f'attachment; filename="{plain or "file"}"'


_PAGES = {"login": "login.html", "app": "app.html", "files": "files.html"}


def _static_files() -> dict[str, tuple[Path, str]]:
    """Return the path and media type of each static file, by its name in the URL."""
    own = places.assets() / "serve"
    bundle = Path(textual_serve.__file__).parent / "static"
    return {
        "login.js": (own / "login.js", _SCRIPT),
        "app.js": (own / "app.js", _SCRIPT),
        "pages.css": (own / "pages.css", _STYLE),
        "textual.js": (bundle / "js" / "textual.js", _SCRIPT),
        "xterm.css": (bundle / "css" / "xterm.css", _STYLE),
        "mono.ttf": (bundle / "fonts" / "RobotoMono-VariableFont_wght.ttf", _FONT),
        "mono-italic.ttf": (bundle / "fonts" / "RobotoMono-Italic-VariableFont_wght.ttf", _FONT),
    }
