"""Votes of a running lecture: through its page, seen by terminals, and kept through a kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from tcptutor.room import lecture_runs
from tcptutor.room.lecture_polls import LecturePolls
from tcptutor.room.protocol import ClosePoll, Discuss, EndLecture, Go, LectureEnded, OpenPoll, StartRun
from tcptutor.room.slides import Ask, FlowsShown, RunShown, Sentence, Slide
from tcptutor.room.talk import LecturePlace
from tests.room.lectures import (
    DrivenTerminal,
    opened,
    process_of,
    served_here,
    slide,
    start,
    terminal,
    wait_for_end,
)
from tests.room.made import CHOICES

pytestmark = pytest.mark.host

ASKED = Slide(
    headline="Slow start",
    module="congestion-algorithms",
    page="slow-start",
    steps=(Sentence(text="first"), Ask(activity="predict"), RunShown()),
)
FLOWS = Slide(
    headline="Everybody's flow",
    steps=(
        Sentence(text="first"),
        FlowsShown(experiment="congestion-algorithms/standing-queue", algorithms=("reno", "cubic")),
    ),
)
LECTURE = opened(slide("one"), ASKED, FLOWS)


@pytest.fixture(autouse=True)
def _own_socket(mark: str, without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
async def here() -> AsyncIterator[Path]:
    """The folder of a lecture that is served in this process."""
    async with served_here(LECTURE) as folder:
        yield folder


class Student:
    """A voter at the lecture's page."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session, self._base = session, base
        self._token = ""

    async def join(self, code: str) -> None:
        async with self._session.post(f"{self._base}/join", json={"code": code}) as answer:
            self._token = (await answer.json())["token"]

    async def view(self) -> dict[str, Any]:
        async with self._session.get(f"{self._base}/view", headers=self._headers) as answer:
            return (await answer.json())["view"]  # type: ignore[no-any-return]

    async def vote(self, answer: object) -> int:
        poll = (await self.view())["poll"]
        vote = {"poll": poll, "answer": answer}
        async with self._session.post(f"{self._base}/vote", json=vote, headers=self._headers) as answered:
            return answered.status

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}


@asynccontextmanager
async def students(front: DrivenTerminal, number: int) -> AsyncIterator[list[Student]]:
    """Students who have joined."""
    talk = await front.until(lambda talk: bool(talk.audience.address), 20)
    base = talk.audience.address.rpartition("/")[0]
    async with aiohttp.ClientSession(headers={"Accept": "application/json"}) as session:
        found = [Student(session, base) for _ in range(number)]
        for each in found:
            await each.join(talk.audience.code)
        yield found


async def test_the_room_votes_twice_and_then_sees_both_results(here: Path) -> None:
    async with terminal() as front, students(front, 3) as room:
        front.send(Go(LecturePlace(1, 1)))
        front.send(OpenPoll())
        talk = await front.until(lambda talk: talk.poll is not None)
        assert talk.audience.joined == 3
        assert [await each.vote(0) for each in room] == [200, 200, 200]
        await front.until(lambda talk: talk.poll is not None and talk.poll.answered == 3)
        front.send(ClosePoll())
        talk = await front.until(lambda talk: talk.poll is not None and talk.poll.phase == "counted")
        assert talk.poll is not None
        assert talk.poll.results == ()
        front.send(Discuss())
        await front.until(lambda talk: talk.poll is not None and talk.poll.phase == "discussing")
        front.send(OpenPoll())
        await front.until(lambda talk: talk.poll is not None and talk.poll.phase == "voting again")
        await room[0].vote(1)
        front.send(ClosePoll())
        talk = await front.until(lambda talk: talk.poll is not None and talk.poll.phase == "revealed")
        assert talk.poll is not None
        assert [tally.answered for tally in talk.poll.results] == [3, 1]
        front.send(Go(LecturePlace(0, 0)))
        assert (await front.until(lambda talk: talk.place == LecturePlace(0))).poll is None
        front.send(EndLecture())
        await front.heard(lambda: any(isinstance(each, LectureEnded) for each in front.received))
    report = (here / "report.txt").read_text()
    assert "3 joined" in report
    assert len((here / "votes.csv").read_text().splitlines()) == 3
    assert json.loads((here / "votes.json").read_text())["questions"][0]["activity"] == "predict"


async def test_a_killed_lecture_process_keeps_the_page_its_voters_and_their_votes() -> None:
    folder = start(LECTURE)
    async with terminal() as front, students(front, 2) as room:
        front.send(Go(LecturePlace(1, 1)))
        front.send(OpenPoll())
        await front.until(lambda talk: talk.poll is not None)
        assert await room[0].vote(0) == 200
        before = await front.until(lambda talk: talk.poll is not None and talk.poll.answered == 1)
        front.talk = None
        os.kill(process_of(folder), signal.SIGKILL)
        talk = await front.until(lambda talk: bool(talk.audience.address), 20)
        assert talk.audience.address == before.audience.address
        assert talk.poll == before.poll
        assert await room[1].vote(1) == 200
        await front.until(lambda talk: talk.poll is not None and talk.poll.answered == 2)
        process = process_of(folder)
        os.kill(process, signal.SIGTERM)
    wait_for_end(process)


async def test_a_command_that_does_not_fit_tells_the_speaker_and_changes_nothing(here: Path) -> None:
    async with terminal() as front, students(front, 0):
        for command in (OpenPoll(), ClosePoll(True), Discuss()):
            front.view = None
            front.send(command)
            await front.heard(lambda: bool(front.view and front.view.remarks))
        assert front.talk is not None
        assert front.talk.poll is None


async def test_each_student_of_a_room_experiment_hears_of_the_own_flow(here: Path) -> None:
    async with terminal() as front, students(front, 3) as room:
        front.send(Go(LecturePlace(2, 1)))
        front.send(OpenPoll())
        await front.until(lambda talk: talk.poll is not None)
        for number, each in enumerate(room):
            assert await each.vote(number % 2) == 200
        front.send(ClosePoll())
        # The replayed lab has no such run: flows have their owners, and the run fails in one line.
        front.send(StartRun("live"))
        talk = await front.until(lambda talk: talk.flows is not None and talk.run.state == "failed")
        assert talk.flows is not None
        assert [(each.algorithm, each.flows, each.voters) for each in talk.flows.totals] == [
            ("reno", 2, 2),
            ("cubic", 1, 1),
        ]
        assert (await room[1].view())["flow"]["algorithm"] == "CUBIC"


async def test_a_lecture_without_votes_says_so() -> None:
    async with served_here(msgspec.structs.replace(LECTURE, has_votes=False)), terminal() as front:
        front.send(Go(LecturePlace(1, 1)))
        front.send(OpenPoll())
        await front.heard(lambda: bool(front.view and front.view.remarks))
        assert front.talk is not None
        assert front.talk.audience.problem


async def test_a_flood_of_joins_and_answers_does_not_flood_the_terminals(tmp_path: Path) -> None:
    changes: list[int] = []
    polls = LecturePolls(tmp_path, LECTURE, lambda: changes.append(polls.audience.joined))
    await polls.start()
    votes = polls._votes
    assert votes is not None
    votes.open(CHOICES)
    tokens = [votes.join() for _ in range(300)]
    for token in tokens:
        votes.vote(token, "1-1", 1)
    before = len(changes)
    await asyncio.sleep(0.5)
    assert changes[-1] == 300
    assert len(changes) <= before + 2
    votes.close()
    assert len(changes) == before + 2, "a phase is shown at once"
    await polls.close()


async def test_flows_run_only_with_the_rooms_picks_and_once(here: Path) -> None:
    async with terminal() as front, students(front, 2) as room:
        front.send(Go(LecturePlace(2, 1)))
        # Without a vote, each algorithm has flows of nobody; a second key changes nothing.
        front.send(StartRun("live"))
        front.send(StartRun("live"))
        await front.until(lambda talk: talk.flows is not None and talk.run.state == "failed")
        assert (here / "lecture.jsonl").read_text().count("FlowsPlanned") == 1
        front.send(OpenPoll())
        talk = await front.until(lambda talk: talk.poll is not None and talk.flows is None)
        assert talk.run.state == "none"
        front.view = None
        front.send(StartRun("live"))
        await front.heard(lambda: bool(front.view and front.view.remarks))
        assert await room[0].vote(1) == 200
        front.send(ClosePoll())
        # The run before the vote is not its result.
        talk = await front.until(lambda talk: talk.poll is not None and talk.poll.phase == "counted")
        assert talk.flows is None
        front.send(StartRun("live"))
        talk = await front.until(lambda talk: talk.flows is not None)
        assert [(each.algorithm, each.voters) for each in talk.flows.totals] == [("cubic", 1)]


async def test_a_prediction_is_compared_with_the_run_on_screen_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lecture_runs, "_LONGEST_PLAY_S", 1.0)
    predicted = msgspec.structs.replace(ASKED, module="tcp-basics", page="two-segments-at-a-time")
    async with (
        served_here(opened(slide("one"), predicted)),
        terminal() as front,
        students(front, 1) as room,
    ):
        front.send(Go(LecturePlace(1, 1)))
        front.send(OpenPoll())
        await front.until(lambda talk: talk.poll is not None)
        assert await room[0].vote("9 Mbit/s") == 200
        front.send(Go(LecturePlace(1, 2)))
        front.send(ClosePoll(reveal=True))
        front.send(StartRun("prepared"))
        await front.until(lambda talk: talk.poll is not None and talk.poll.measured is not None)
        front.send(StartRun("prepared"))
        talk = await front.until(lambda talk: talk.poll is not None and talk.poll.measured is None)
        assert talk.run.state == "running"
        await front.until(lambda talk: talk.poll is not None and talk.poll.measured is not None)
