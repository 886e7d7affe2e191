"""A server of the test's own, whose apps are stand-ins, and clients that keep to its rules or break them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from tcptutor.base.files import make_private
from tcptutor.serve.guard import ServerAddress, parse_address
from tcptutor.serve.logins import Logins
from tcptutor.serve.server import CourseServer
from tcptutor.serve.sessions import SessionLimits, Sessions
from tcptutor.serve.students import Student
from tests.patience import seconds

STAND_IN = Path(__file__).with_name("stand_in.py")


class StandIn:
    """A started stand-in: a process group of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self.stdin, self.stdout = process.stdin, process.stdout

    async def wait(self) -> int:
        code = await self._process.wait()
        self.stdin.close()
        with contextlib.suppress(OSError):  # what it did not read
            await self.stdin.wait_closed()
        return code

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


class Starter:
    """Starts stand-ins, and counts them."""

    def __init__(self, *options: str) -> None:
        self.options, self.started = options, 0
        self.processes: list[asyncio.subprocess.Process] = []

    async def __call__(
        self, *, environment: Mapping[str, str], folder: Path, log: Path, size: tuple[int, int]
    ) -> StandIn:
        self.started += 1
        make_private(folder)
        pipe = asyncio.subprocess.PIPE
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(STAND_IN), *self.options),
                stdin=pipe, stdout=pipe, stderr=errors, cwd=folder, start_new_session=True,
                env={**environment, "COLUMNS": str(size[0]), "ROWS": str(size[1])},
            )  # fmt: skip
        self.processes.append(process)
        return StandIn(process)


class Client:
    """A browser, as far as the server can tell: cookies, an origin, a websocket."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))

    async def log_in(self, token: str, **headers: str) -> int:
        """Use a link, and return the status."""
        return (await self.request("POST", "/login", data={"token": token}, **headers))[0]

    async def request(
        self, method: str, path: str, data: Any = None, **headers: str
    ) -> tuple[int, str, Mapping[str, str]]:
        """Send a request as a page of the server does, and return status, text and headers of the answer."""
        given = {"Origin": self.url, **{name.replace("_", "-"): value for name, value in headers.items()}}
        async with self.http.request(
            method, f"{self.url}{path}", data=data, headers=given, allow_redirects=False
        ) as answer:
            return answer.status, await answer.text(), answer.headers

    async def open(self, **options: Any) -> Socket:
        """Open the app."""
        options.setdefault("origin", self.url)
        return Socket(await self.http.ws_connect(f"{self.url}/ws?width=100&height=30", **options))


class Socket:
    """A websocket to a stand-in."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.shown = ""

    async def type(self, keys: str) -> None:
        await self.send("stdin", keys)

    async def send(self, *message: Any) -> None:
        await self.socket.send_str(json.dumps(message))

    async def read_until(self, text: str, patience: float = 10.0) -> str:
        """Return all that was shown up to `text`."""
        async with asyncio.timeout(seconds(patience)):
            while text not in self.shown:
                message = await self.socket.receive()
                assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), (
                    message,
                    self.shown,
                )
                self.shown += message.data.decode() if isinstance(message.data, bytes) else message.data
        return self.shown

    def abort(self) -> None:
        """Break the connection, as a cable that is pulled."""
        connection = self.socket._response.connection
        if connection is not None and connection.transport is not None:
            connection.transport.abort()

    async def closed(self, patience: float = 10.0) -> int | None:
        """Return the code with which the server closes it."""
        kinds = aiohttp.WSMsgType
        async with asyncio.timeout(seconds(patience)):
            while True:
                message = await self.socket.receive()
                if message.type is kinds.CLOSE:
                    return int(message.data)
                if message.type in (kinds.CLOSED, kinds.ERROR):
                    return self.socket.close_code


class Served(msgspec.Struct):
    """A running server."""

    url: str
    logins: Logins
    sessions: Sessions
    starter: Starter
    folder: Path
    clients: list[Client] = []

    def client(self, url: str = "") -> Client:
        """Return a new visitor."""
        self.clients.append(Client(url or self.url))
        return self.clients[-1]

    async def student(self, name: str) -> Client:
        """Return a logged-in student."""
        client = self.client()
        assert await client.log_in(self.logins.make_link(name)) == 200
        return client


@contextlib.asynccontextmanager
async def serving(
    folder: Path,
    *options: str,
    names: tuple[str, ...] = ("ada", "bob", "cleo"),
    address: ServerAddress | None = None,
    environment: Mapping[str, str] | None = None,
    **limits: Any,
) -> AsyncIterator[Served]:
    """Serve the students `names` with stand-ins during the block; nothing is left after it."""
    logins, starter = Logins(folder / "logins.json"), Starter(*options)
    sessions = Sessions(
        SessionLimits(**limits),
        starter,
        environment if environment is not None else {"PATH": "/usr/bin:/bin"},
    )
    students = {name: Student(name, folder / f"student-{name}") for name in names}
    address = address or parse_address("127.0.0.1:0")
    async with CourseServer(address, students, logins, sessions).listen() as port:
        served = Served(f"http://127.0.0.1:{port}", logins, sessions, starter, folder)
        served.clients = []
        try:
            yield served
        finally:
            for client in served.clients:
                await client.http.close()


def is_alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def tree_of(folder: Path) -> list[Path]:
    """All files and folders below a folder."""
    return [*folder.rglob("*")]
