"""A room of 300 who vote at the same moment, from another process."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from tests.patience import Deadline, busy
from tests.room.made import CHOICES
from tests.room.web.conftest import Served

VOTERS = 300
CHOICE = msgspec.structs.replace(CHOICES.rounds[0], choices=("a", "b", "c", "d"), feedback=("", "", "", ""))


@pytest.mark.host
async def test_three_hundred_votes_are_each_counted_once(served: Served, mark: str) -> None:
    room = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.room.web.load", served.server.url, served.server.code, str(VOTERS),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    votes = served.votes
    try:
        await _wait_for(lambda: votes.joined == VOTERS, room)
        votes.open(msgspec.structs.replace(CHOICES, rounds=(CHOICE, CHOICE)))
        await _wait_for(lambda: votes.view is not None and votes.view.answered == VOTERS, room)
        closed = time.time()
        votes.reveal()
        output, _ = await room.communicate()
    finally:
        if room.returncode is None:
            room.kill()
            await room.wait()
    seen = json.loads(output)
    assert votes.view is not None
    assert votes.view.results[0].counts == tuple(Counter(seen["answers"])[choice] for choice in range(4))
    assert votes.view.results[0].answered == VOTERS
    assert seen["leaked"] == 0
    assert max(seen["ends"]) - closed < 1 * busy()
    print(
        f"results at all {VOTERS} after {max(seen['ends']) - closed:.2f} s, slowest vote {seen['slowest_vote_s']:.2f} s"
    )


async def _wait_for(condition: Callable[[], bool], room: asyncio.subprocess.Process) -> None:
    deadline = Deadline(20)
    while not condition():
        assert room.returncode is None
        assert deadline.left
        await asyncio.sleep(0.02)
