"""`tcptutor join`, as a student uses it in a plain terminal."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from tests.command import COMMAND, here
from tests.patience import seconds
from tests.room.made import CHOICES, NUMBERS
from tests.room.web.conftest import Served

Start = Callable[[str], Awaitable[Process]]


async def _until(process: Process, words: str) -> str:
    """Read the program's output up to `words`."""
    assert process.stdout is not None
    text = ""
    async with asyncio.timeout(seconds(10)):
        while words not in text:
            line = (await process.stdout.readline()).decode()
            assert line, text
            text += line
    return text


@pytest_asyncio.fixture
async def start(mark: str) -> AsyncIterator[Start]:
    """Start the command with an address; it has ended after the test."""
    started: list[Process] = []

    async def begin(address: str) -> Process:
        started.append(await _start(address))
        return started[-1]

    yield begin
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _start(*words: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *COMMAND, "join", *words, stdin=PIPE, stdout=PIPE, stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "80", "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip


def _type(process: Process, line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line.encode() + b"\n")


@pytest.mark.host
async def test_a_student_votes_line_by_line_and_is_the_same_after_a_lost_line(
    served: Served, start: Start
) -> None:
    votes, address = served.votes, served.server.view.address
    student = await start(address)
    await _until(student, "next question appears")
    assert votes.joined == 1
    _type(student, "1")
    await _until(student, "no vote is open")
    votes.open(CHOICES)
    assert "  B  one" in await _until(student, "Your answer (A to C)")
    for wrong in ("d", "4", "0", "two", "\x1b[A", "b" * 3000):
        _type(student, wrong)
        await _until(student, "type a letter from A to C")
    _type(student, "b")
    await _until(student, "Counted: one")
    # The line is lost, and the student joins again.
    student.send_signal(signal.SIGHUP)
    await student.wait()
    student = await start(address)
    assert "yours" in await _until(student, "Your answer (A to C)")
    assert votes.joined == 1
    _type(student, "1")
    await _until(student, "replaced: zero")
    votes.reveal()
    shown = await _until(student, "Not “zero”: no 0")
    assert "“one”: yes" in shown
    assert "yours, first vote 100 %" in shown
    votes.open(NUMBERS)
    await _until(student, "Your answer (like")
    _type(student, "fast")
    await _until(student, "not counted: 'fast' is not a number")
    _type(student, "8 Mbit/s")
    await _until(student, "Counted: 8 Mbit/s")
    assert votes.view is not None
    assert votes.view.answered == 1
    await served.server.close()
    await _until(student, "ended")
    assert await student.wait() == 0


@pytest.mark.host
async def test_leaving(served: Served, start: Start) -> None:
    address = served.server.view.address
    quits, ends, stops = await asyncio.gather(*(start(address) for _ in range(3)))
    for student in (quits, ends, stops):
        await _until(student, "appears")
    _type(quits, "q")
    assert ends.stdin is not None
    ends.stdin.close()
    stops.send_signal(signal.SIGINT)
    assert [await student.wait() for student in (quits, ends, stops)] == [0, 0, 130]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("nonsense", "'nonsense' is not the address of a lecture: write the one on the screen"),
        ("http://127.0.0.1:99999/CDFGHJ", "is not the address of a lecture"),
        ("http://127.0.0.1:1/CDFGHJ", "http://127.0.0.1:1 does not answer: Connection refused; check the address"),
        ("http://[/CDFGHJ", "is not the address of a lecture"),
        ("ftp://127.0.0.1/CDFGHJ", "is not the address of a lecture"),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_is_one_line(target: str, reason: str) -> None:
    done = here("join", target)
    assert done.returncode in (1, 2)
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


async def test_a_wrong_code_is_one_line(served: Served) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "join", f"{served.server.url}/CCCCCC", stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    _, error = await process.communicate()
    assert process.returncode == 2
    assert b"has this code: check the code on the screen" in error
    assert error.count(b"\n") == 1
