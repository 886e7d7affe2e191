"""Keys and memory of a class in browsers: `python -m tests.benchmarks.serve [SESSIONS] [MINUTES]`.

`tcptutor serve` runs in a process of its own, its students here: each presses a key every two seconds, and turns two
pages a minute. A key's time lasts until its letter, or the next page's number, comes back through the websocket. On a
machine that does other work as well, `chrt -r 1` before it leaves that out. Moving figures follow, see
`tests.benchmarks.served_figures`.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec

from tests.patience import seconds

_LETTERS = 3 * "qxzwv"
"""Letters that no escape sequence of the app ends in."""
_NEXT, _BACK = "\x1b[C", "\x1b[D"
_PAGES = 8
"""Pages that each student turns to."""
_PAUSE_S = 2.0
"""Mean time between two keys of a student."""


class Answered(msgspec.Struct):
    """What a class measured."""

    letters: list[float] = []
    """Seconds until a typed letter was on the screen."""
    pages: list[float] = []
    """Seconds until the next page was on the screen."""
    private_mib: list[float] = []
    """Memory of each session that it shares with no other process."""
    worked_s: float = 0.0
    """Processor seconds of all sessions."""
    waited_s: float = 0.0
    """Seconds for which they waited for a processor."""


class Served(msgspec.Struct):
    """A server in a process of its own."""

    url: str
    tokens: list[str]
    pid: int

    def private_mib(self) -> list[float]:
        """Return the memory of each session that it shares with no other process, MiB."""
        return [_private_mib(session) for session in self._sessions()]

    def processor_seconds(self) -> tuple[float, float]:
        """Return how long all sessions have worked, and how long they have waited for a processor."""
        threads = [
            (thread / "schedstat").read_text().split()
            for session in self._sessions()
            for thread in Path(f"/proc/{session}/task").iterdir()
        ]
        return sum(int(worked) for worked, *_ in threads) / 1e9, sum(int(each[1]) for each in threads) / 1e9

    def _sessions(self) -> list[int]:
        (program,) = _children(self.pid)
        return _children(program)


@asynccontextmanager
async def served(students: int, folder: Path, *, moves: bool = False) -> AsyncIterator[Served]:
    """Serve replayed experiments to students during the block; with `moves` figures may move."""
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "PYTHONUNBUFFERED": "1"}
    environment["NO_MOTION"] = "" if moves else "1"
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tcptutor", "serve", "--open-to", str(students), "--sessions", str(students)),
        *("--backend", "replay", "--listen", "127.0.0.1:0"),
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdout is not None
    try:
        async with asyncio.timeout(seconds(60)):
            lines = [(await server.stdout.readline()).decode().strip() for _ in range(students)]
        links = [line.rpartition("\t")[2].partition("/#") for line in lines]
        yield Served(links[0][0], [token for _, _, token in links], server.pid)
    finally:
        server.terminate()
        await server.wait()


class Student:
    """A student's browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.page = 0
        """Number of the page on the screen."""
        self.received = 0
        """Bytes of output so far."""
        self._socket = socket
        self._shown = bytearray()
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._socket:
            if message.type is aiohttp.WSMsgType.BINARY:
                self.received += len(message.data)
                self._shown += message.data
                self._news.set()

    async def send(self, keys: str) -> None:
        """Press keys without waiting for what they do."""
        await self._socket.send_json(["stdin", keys])

    async def press(self, key: str, wanted: bytes) -> float:
        """Press a key and return the seconds until an update of the screen matches."""
        self._shown.clear()
        began = time.monotonic()
        await self.send(key)
        await self.wait_for(wanted)
        return time.monotonic() - began

    async def wait_for(self, wanted: bytes) -> None:
        """Wait until what was shown since the latest key matches."""
        async with asyncio.timeout(seconds(60)):
            while not re.search(wanted, self._shown):
                self._news.clear()
                await self._news.wait()

    async def be_quiet(self) -> None:
        """Wait until nothing is shown for a moment."""
        before = -1
        while before != len(self._shown):
            before = len(self._shown)
            await asyncio.sleep(0.3)

    async def close(self) -> None:
        """Leave; the app lives on."""
        self._reading.cancel()
        await self._socket.close()


@asynccontextmanager
async def student(server: Served, token: str) -> AsyncIterator[Student]:
    """Log in, and open the first page of the course."""
    headers = {"Origin": server.url}
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True), headers=headers) as http:
        async with http.post(f"{server.url}/login", data={"token": token}) as answer:
            assert answer.status == 200, await answer.text()
        socket = await http.ws_connect(f"{server.url}/ws?width=120&height=36")
        visitor = Student(socket)
        try:
            await visitor.wait_for(b"How TCP gets")
            yield visitor
        finally:
            await visitor.close()


async def study(
    server: Served, token: str, period: float, answered: Answered, everybody: asyncio.Barrier
) -> None:
    """Turn pages and search for `period` seconds, all students at the same time."""
    async with student(server, token) as visitor:
        await visitor.be_quiet()
        await visitor.press("\r", b"pre-test")
        await everybody.wait()
        await asyncio.sleep(random.uniform(0, _PAUSE_S * len(_LETTERS)))  # not all on the same page
        ends = time.monotonic() + period
        while time.monotonic() < ends:
            for page in (*range(1, _PAGES + 1), *range(_PAGES - 1, 0, -1)):
                key = _NEXT if page > visitor.page else _BACK
                visitor.page = page
                await pause()
                answered.pages.append(await visitor.press(key, rb"\D%d/\d\d" % page))
                await visitor.be_quiet()
                await visitor.press("/", "╭".encode())
                for letter in _LETTERS:
                    await pause()
                    answered.letters.append(await visitor.press(letter, letter.encode()))
                await visitor.press("\x1b", rb"\D%d/\d\d" % page)
                if time.monotonic() > ends:
                    break
        await everybody.wait()


async def pause() -> None:
    """Wait as long as a student between two keys."""
    await asyncio.sleep(_PAUSE_S * random.uniform(0.5, 1.5))


async def measure(sessions: int, period: float) -> Answered:
    """Let that many students work for `period` seconds, and return what they measured."""
    answered = Answered()
    everybody = asyncio.Barrier(sessions + 1)
    with tempfile.TemporaryDirectory() as folder:
        async with served(sessions, Path(folder)) as server, asyncio.TaskGroup() as group:
            for token in server.tokens:
                group.create_task(study(server, token, period, answered, everybody))
            await everybody.wait()
            before = server.processor_seconds()
            await everybody.wait()
            after = server.processor_seconds()
            answered.worked_s, answered.waited_s = after[0] - before[0], after[1] - before[1]
            answered.private_mib = server.private_mib()
    return answered


def percentile(values: list[float], percent: float) -> float:
    """Return a percentile, by the nearest rank."""
    return sorted(values)[min(len(values) - 1, int(len(values) * percent / 100))]


def _children(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _private_mib(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(size) for size in re.findall(r"Private_(?:Clean|Dirty): +(\d+)", rollup)) / 1024


def lines(answered: Answered) -> Iterator[tuple[str, float, float, str]]:
    """Yield each figure with its goal and unit."""
    yield "typed key, 99th percentile", 1e3 * percentile(answered.letters, 99), 250, " ms"
    yield "next page, median", 1e3 * statistics.median(answered.pages), 250, " ms"
    yield "memory of a session, most, without what is shared", max(answered.private_mib), 60, " MiB"


def main() -> None:
    from tests.benchmarks import served_figures  # it imports this module

    sessions, minutes = (float(word) for word in (*sys.argv[1:3], *("30", "2")[len(sys.argv) - 1 :]))
    answered = asyncio.run(measure(int(sessions), 60 * minutes))
    print(
        f"      {int(sessions)} sessions, {len(answered.letters)} typed keys, {len(answered.pages)} pages;"
        f" {answered.worked_s:.0f} s of {os.cpu_count()} processors, and {answered.waited_s:.0f} s of waiting for one"
    )
    print(f"      next page, 99th percentile: {1e3 * percentile(answered.pages, 99):.0f} ms")
    _print(lines(answered))
    figures = asyncio.run(served_figures.measure(int(sessions), 60 * minutes))
    print(f"      {served_figures.comparison(figures)}")
    _print(served_figures.lines(figures))


def _print(figures: Iterator[tuple[str, float, float, str]]) -> None:
    for what, value, goal, unit in figures:
        print(f"{'met ' if value <= goal else 'MISS'}  {what:<58} {value:8.2f}{unit}   goal {goal:g}{unit}")


if __name__ == "__main__":
    main()
