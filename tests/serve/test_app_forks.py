"""Sessions are forked from a program that has imported the app; whatever ends, nothing of them stays."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tcptutor.base.errors import TutorError
from tcptutor.serve.app_forks import AppForks, ForkedSession
from tests import leftovers
from tests.patience import Deadline

FORKED = [sys.executable, "-m", "tests.serve.forked"]
APP = [sys.executable, "-m", "tcptutor.commands.browser_app", "--backend", "replay"]
OWN = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


class Forks:
    """Starts sessions in a folder, each with folders of its own."""

    def __init__(self, forks: AppForks, folder: Path) -> None:
        self.forks, self._folder, self._count = forks, folder, 0

    async def start(
        self, environment: Mapping[str, str] = OWN, size: tuple[int, int] = (80, 24)
    ) -> ForkedSession:
        self._count += 1
        own = self._folder / str(self._count)
        places = {"folder": own / "files", "log": own / "log"}
        return await self.forks.start_session(environment=environment, size=size, **places)


@asynccontextmanager
async def forks(folder: Path, program: list[str] = FORKED, **environment: str) -> AsyncIterator[Forks]:
    owner = AppForks(program, {**os.environ, **environment})
    try:
        yield Forks(owner, folder)
    finally:
        await owner.close()


async def ask(session: ForkedSession, line: str) -> str:
    session.stdin.write(f"{line}\n".encode())
    async with asyncio.timeout(20):
        return (await session.stdout.readline()).decode()


async def end_of(session: ForkedSession) -> int:
    async with asyncio.timeout(20):
        return await session.wait()


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def wait_for_end(pid: int) -> bool:
    """Whether the process ends in 20 s, or has ended."""
    deadline = Deadline(20)
    while deadline.left and exists(pid):
        time.sleep(0.02)
    return not exists(pid)


async def test_a_session_has_its_own_environment_folder_group_and_files(mark: str, tmp_path: Path) -> None:
    async with forks(tmp_path, SECRET="of the server") as owner:
        first, second = await owner.start({**OWN, "A": "1"}, (120, 36)), await owner.start()
        facts, of_second = [json.loads(await ask(each, "facts")) for each in (first, second)]
        assert facts["environment"] == {**OWN, "A": "1", "COLUMNS": "120", "ROWS": "36"}
        assert of_second["environment"] == {**OWN, "COLUMNS": "80", "ROWS": "24"}
        assert facts["folder"] == str(tmp_path / "1" / "files")
        assert facts["files"] == [0, 1, 2]
        assert facts["group"] == facts["pid"] == first.pid != of_second["pid"] == second.pid
        first.stdin.close()
        assert (await end_of(first), first.returncode, second.returncode) == (3, 3, None)
        assert stat.S_IMODE((tmp_path / "1" / "log").stat().st_mode) == 0o600
        assert (tmp_path / "1" / "log").read_text() == "a line for the log\n"


async def test_the_whole_group_ends_with_its_session(mark: str, tmp_path: Path) -> None:
    async with forks(tmp_path) as owner:
        one, other = await owner.start(), await owner.start()
        ends, stays = int(await ask(one, "child")), int(await ask(other, "child"))
        one.signal(signal.SIGKILL)
        assert await end_of(one) == -signal.SIGKILL
        assert await asyncio.to_thread(wait_for_end, ends)
        assert exists(stays)


async def test_a_process_outside_the_group_ends_soon_after_its_session(mark: str, tmp_path: Path) -> None:
    async with forks(tmp_path) as owner:
        one, other = await owner.start(), await owner.start()
        ends, stays = int(await ask(one, "stray")), int(await ask(other, "stray"))
        one.stdin.close()
        await end_of(one)
        assert await asyncio.to_thread(wait_for_end, ends)
        assert exists(stays)


async def test_sessions_that_ignore_signals_end_with_the_server(mark: str, tmp_path: Path) -> None:
    async with forks(tmp_path) as owner:
        session = await owner.start()
        await ask(session, "stray")
        await ask(session, "hang")
    assert session.returncode == -signal.SIGKILL
    assert leftovers.wait_until_none(mark) == []


async def test_a_killed_program_takes_its_sessions_along_and_the_next_session_starts_another(
    mark: str, tmp_path: Path
) -> None:
    async with forks(tmp_path) as owner:
        session = await owner.start()
        await ask(session, "hang")
        os.kill(owner.forks.pid, signal.SIGKILL)
        assert await end_of(session) == -signal.SIGKILL
        session.signal(signal.SIGTERM)  # to nobody
        assert await session.stdout.read() == b""
        again = await owner.start()
        assert json.loads(await ask(again, "facts"))["pid"] == again.pid


async def test_a_start_that_is_given_up_leaves_no_session(mark: str, tmp_path: Path) -> None:
    async with forks(tmp_path) as owner:
        owner.forks.start()
        os.kill(owner.forks.pid, signal.SIGSTOP)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await owner.start()
        os.kill(owner.forks.pid, signal.SIGCONT)
        await ask(await owner.start(), "facts")
        assert len(leftovers.children("tests.serve.forked")) == 1
        program = owner.forks.pid
        assert len([line for line in leftovers.marked(mark) if not line.startswith(f"{program} ")]) == 1


def test_a_killed_server_leaves_nothing(mark: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.serve.killed_server", str(tmp_path), *FORKED]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        assert len(leftovers.marked(mark)) >= 4
        server.kill()
    assert leftovers.wait_until_none(mark, 20) == []


async def test_a_program_that_cannot_run_is_an_error_in_a_line(mark: str, tmp_path: Path) -> None:
    for program in ("/no/such/program", "/bin/false"):
        async with forks(tmp_path, [program]) as owner:
            with pytest.raises(TutorError, match=r"cannot be started|no app can be started"):
                await owner.start()
    async with forks(tmp_path) as owner:
        with pytest.raises(TutorError, match="no app can be started"):
            await owner.start({"LONG": "x" * 100_000})


def private_mib(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(size) for size in re.findall(r"Private_(?:Clean|Dirty): +(\d+)", rollup)) / 1024


async def test_sessions_of_the_app_share_most_of_their_memory(mark: str, tmp_path: Path) -> None:
    async with forks(tmp_path, APP) as owner:
        homes = [str(tmp_path / name) for name in ("ada", "bob", "cy")]
        sessions = [await owner.start({**OWN, "HOME": home, "XDG_DATA_HOME": home}) for home in homes]
        for session in sessions:
            await asyncio.wait_for(session.stdout.readuntil(b"How TCP gets"), 60)
        assert max(private_mib(session.pid) for session in sessions) < 50
        for session in sessions:
            session.signal(signal.SIGTERM)
            await asyncio.wait_for(session.stdout.read(), 60)
        assert [await end_of(session) for session in sessions] == [0, 0, 0]
        assert all((Path(home) / "tcptutor" / "journal.db").exists() for home in homes)
