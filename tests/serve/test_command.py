"""`tcptutor serve` as a teacher types it, with the real app."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pyte
import pytest

from tcptutor.base.errors import TutorError
from tcptutor.base.printable import is_printable
from tcptutor.commands.serve import ServeRequest, serve
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.evidence.keys import new_key
from tcptutor.serve.class_work import enrol
from tcptutor.serve.students import read_students
from tests import leftovers
from tests.cli.command import TCPTUTOR, tcptutor
from tests.patience import seconds
from tests.serve.served import Client, Socket

LINK = re.compile(r"(http://\S+)/#(\S+)")


class Running:
    """A server that was started by the command."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.shown = ""

    async def read_until(self, text: str) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(seconds(30)):
            while text not in self.shown:
                self.shown += (await self.process.stdout.readline()).decode()
        return self.shown


@contextlib.asynccontextmanager
async def started(*arguments: str) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        *(TCPTUTOR, "serve", "--listen", "127.0.0.1:0", "--backend", "replay", *arguments),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, stdin=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield Running(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        await process.wait()


class Terminal:
    """The terminal of a page."""

    def __init__(self, page: Socket) -> None:
        self.page = page
        self.screen = pyte.Screen(100, 30)
        self._stream = pyte.ByteStream(self.screen)

    async def read_until(self, text: str) -> None:
        async with asyncio.timeout(seconds(30)):
            while text not in "\n".join(self.screen.display):
                message = await self.page.socket.receive()
                assert isinstance(message.data, bytes), (message, *self.screen.display)
                self._stream.feed(message.data)


async def test_the_app_survives_its_connection_and_ends_with_its_server(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key, a lost connection and the same place; then the server is killed."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    async with started("--open-to", "2") as server:
        shown = await server.read_until("each link works once")
        links = LINK.findall(shown)
        assert [line.partition("\t")[0] for line in shown.splitlines()[:2]] == ["seat 1", "seat 2"]
        url, token = links[0]
        client = Client(url)
        assert await client.log_in(token) == 200
        page = await client.open()
        terminal = Terminal(page)
        await terminal.read_until("Parallel streams")
        await page.type("d")
        await terminal.read_until("ACK clock  ")
        page.abort()
        again = Terminal(await client.open())
        await again.read_until("ACK clock  ")
        await again.read_until("tcptutor · terms")
        assert leftovers.marked(mark)
        folders = [*(tmp_path / "data" / "tcptutor" / "serve" / "students").iterdir()]
        assert [each.name.startswith("seat-1-") for each in folders] == [True]
        assert stat.S_IMODE(folders[0].stat().st_mode) == 0o700
        assert (folders[0] / "data" / "tcptutor" / "journal.db").exists()
        await client.http.close()
        server.process.kill()
        assert await asyncio.to_thread(leftovers.wait_until_none, mark, 20.0) == []


async def test_a_restarted_server_knows_its_students(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "class.txt").write_text("Ada\nBob\n")
    students = ("--students", str(tmp_path / "class.txt"))
    async with started(*students) as server:
        url, token = LINK.findall(await server.read_until("each link works once"))[0]
        client = Client(url)
        assert await client.log_in(token) == 200
        done = await asyncio.to_thread(tcptutor, "serve", *students, "--new-link", "Bob")
        ((where, fresh),) = LINK.findall(done.stdout)
        assert where == url
        bob = Client(url)
        assert await bob.log_in(fresh) == 200
        await client.http.close()
        await bob.http.close()
    async with started(*students) as server:
        assert not LINK.findall(await server.read_until("each link works once"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"listen": "everywhere"}, "no address"),
        ({"listen": "127.0.0.1:99999"}, "no address"),
        ({"listen": "192.0.2.7:8787"}, "cannot listen"),
        ({"public_url": "lab.example.edu"}, "no URL"),
        ({"keep": "forever"}, "--keep takes a duration"),
        ({"idle": "0m"}, "--idle takes a duration"),
        ({"open_to": 2, "backend": "host"}, "--backend guest"),
        ({"open_to": 2, "students": "file"}, "one of the two"),
        ({"students": "file", "new_links": ["Adda"]}, "no student 'Adda'"),
        ({"students": "bad"}, "line 1"),
        ({"students": "file", "enrol": "ABCD"}, "neither a course code"),
        ({"collect": Path("/proc/here")}, "for a class"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_in_a_line(given: dict[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("Ada\n")
    (tmp_path / "bad").write_text("A\x1b[2Jda\n")
    if "students" in given:
        given = {**given, "students": tmp_path / given["students"]}
    with pytest.raises(TutorError, match=words) as refused:
        serve(ServeRequest(**given))
    assert is_printable(str(refused.value))


def test_a_class_is_enrolled_and_its_work_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "class.txt").write_text("Ada Byron\nBob\n")
    ada = read_students(tmp_path / "class.txt")[0]
    code = new_key().code
    enrol(ada, code, ())
    enrol(ada, code, ())
    done = tcptutor(
        "serve", "--students", str(tmp_path / "class.txt"), "--collect", str(tmp_path / "hand-ins")
    )
    assert done.returncode == 0, done.stderr
    collected, nothing = (line.split("\t") for line in done.stdout.splitlines())
    assert nothing == ["Bob", "no work"]
    with open_hand_in(Path(collected[1])) as hand_in:
        assert (hand_in.manifest.student, hand_in.manifest.course) == ("Ada Byron", code)
    assert [file.name for file in (tmp_path / "hand-ins").iterdir()] == [Path(collected[1]).name]


def test_a_port_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = tcptutor("serve", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert done.returncode == 1
    assert "already in use" in done.stderr


def test_the_missing_extra_is_named(tmp_path: Path) -> None:
    """As where it is not installed; the rest of the command line works without it."""
    code = (
        "import sys; sys.modules['aiohttp'] = sys.modules['textual_serve'] = None\n"
        "sys.argv = ['tcptutor', *sys.argv[1:]]\n"
        "from tcptutor.commands.command_line import main; main()"
    )
    for arguments, expected in ((["serve"], 3), (["serve", "--help"], 0)):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ,
        )
        assert done.returncode == expected, done.stderr
        if expected:
            assert "-m pip install" in done.stderr
            assert "textual-serve" in done.stderr
            assert len(done.stderr.splitlines()) == 1
