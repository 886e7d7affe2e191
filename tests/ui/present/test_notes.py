"""The speaker's terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import pytest
from textual.pilot import Pilot

from tcptutor.journal.saved import Settings
from tcptutor.room.client import Interrupted
from tcptutor.room.protocol import (
    Black,
    ClosePoll,
    Discuss,
    EndLecture,
    FromTerminal,
    OpenPoll,
    Shows,
    StartRun,
    StepBy,
    Tells,
    Welcome,
)
from tcptutor.room.slides import Ask, Lecture, RunShown, Sentence, Slide
from tcptutor.room.talk import AudienceView, LecturePlace, PollView, RunView, Talk, TeacherView
from tcptutor.ui.present import speaker_model
from tcptutor.ui.present.notes import NotesApp

from ..screen import text, until, until_text

LECTURE = Lecture(
    title="Windows",
    slides=(
        Slide(
            headline="Window and round-trip time",
            steps=(
                Sentence(text="A colleague copies a file.", notes="Tell them about the **colleague**."),
                Ask(activity="which", notes="The answer is 230 kbit/s."),
                RunShown(),
            ),
            minutes=5,
            notes="\n\n".join(f"Paragraph {number} of the page." for number in range(40)),
        ),
        Slide(headline="The bandwidth-delay product", minutes=10),
    ),
)
ALONE = Talk(fronts=1)


class Played:
    """Connection to a lecture process that the test plays."""

    def __init__(self, *messages: Any) -> None:
        self._messages: asyncio.Queue[Any] = asyncio.Queue()
        self.sent: list[FromTerminal] = []
        self.say(Welcome(LECTURE), *messages)

    def say(self, *messages: Any) -> None:
        for message in messages:
            self._messages.put_nowait(message)

    def send(self, message: FromTerminal) -> None:
        self.sent.append(message)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def __aiter__(self) -> AsyncIterator[Any]:
        while True:
            yield await self._messages.get()


def notes_app(played: Played, folder: Path | None = None) -> NotesApp:
    return NotesApp(played, settings=Settings(folder))


async def shown(pilot: Pilot[Any], *words: str) -> None:
    """Wait until all of these words are on the screen."""
    await until(pilot, lambda: all(each in " ".join(text(pilot.app).split()) for each in words))


async def test_notes_follow_the_stage() -> None:
    played = Played(Shows(ALONE))
    async with notes_app(played).run_test(size=(120, 36)) as pilot:
        await shown(pilot, "1.1 of 2", "Tell them about the colleague.", "next a question to the room")
        await shown(pilot, "then The bandwidth-delay product", "Paragraph 0")
        played.say(Shows(Talk(place=LecturePlace(0, 1), fronts=1)))
        await shown(pilot, "The answer is 230 kbit/s.", "next the run")
        played.say(Shows(Talk(place=LecturePlace(1, 0), fronts=1)))
        await shown(pilot, "2 of 2 The bandwidth-delay product", "No notes for this step")
        assert "then" not in text(pilot.app)


async def test_long_notes_scroll_without_moving_the_stage() -> None:
    played = Played(Shows(ALONE))
    async with notes_app(played).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Paragraph 0")
        await pilot.press(*["down"] * 10)
        await until_text(pilot, "Paragraph 14")
        assert played.sent == []
        played.say(Shows(Talk(place=LecturePlace(0, 1), fronts=1)))
        await until_text(pilot, "The answer is 230 kbit/s.")  # from the top again


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (TeacherView(elapsed_s=754, slide_s=130, planned_s=700), "0:54 behind"),
        (TeacherView(elapsed_s=650, slide_s=130, planned_s=700), "on time"),
        (TeacherView(elapsed_s=100, slide_s=10, planned_s=700), "5:00 ahead"),
    ],
)
async def test_the_clock_compares_with_the_plan(view: TeacherView, words: str) -> None:
    async with notes_app(Played(Shows(ALONE), Tells(view))).run_test(size=(80, 24)) as pilot:
        await shown(pilot, "of 15:00", words)


def test_without_a_plan_nothing_is_compared() -> None:
    assert speaker_model.compare_with_plan(TeacherView(elapsed_s=754), LECTURE.slides[0]).text == ""
    assert speaker_model.clock(3 * 3600 + 61.9) == "3:01:01"


@pytest.mark.parametrize("keys", [[], ["plus"]])
async def test_the_speaker_alone_sees_the_share_of_right_answers(keys: list[str]) -> None:
    poll = PollView(activity="which", text="Which?", choices=("a", "b"), phase="counted", answered=87)
    talk = Talk(
        place=LecturePlace(0, 1), fronts=1, poll=poll, audience=AudienceView(address="http://x/K", joined=151)
    )
    view = TeacherView(right_share=0.4201, suggestion="discuss", answer="B  230 kbit/s")
    async with notes_app(Played(Shows(talk), Tells(view))).run_test(size=(120, 36)) as pilot:
        await pilot.press(*keys)
        await shown(pilot, "B 230 kbit/s", "87 answered", "discuss")
        assert keys == [] or "42% right" in text(pilot.app)


async def test_problems_are_shown() -> None:
    run = RunView(state="failed", problem="no lab here", has_prepared=True)
    played = Played(
        Shows(Talk(place=LecturePlace(0, 2), run=run)), Tells(TeacherView(remarks=("the disk is full",)))
    )
    async with notes_app(played).run_test(size=(120, 36)) as pilot:
        await shown(pilot, "no lab here: R plays", "the disk is full", "no terminal shows")
        played.say(Interrupted("connecting again"))
        await shown(pilot, "connecting again")
        played.say(Welcome(LECTURE), Shows(ALONE))
        await until(pilot, lambda: "connecting again" not in text(pilot.app))


async def test_notes_drive_the_lecture() -> None:
    played = Played(Shows(ALONE))
    async with notes_app(played).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "1.1 of 2")
        await pilot.press("right", "pagedown", "left", "b", "r", "R", "v", "d", "s")
        assert played.sent == [
            *(StepBy(1), StepBy(1), StepBy(-1), Black(True), StartRun("live"), StartRun("prepared")),
            *(OpenPoll(), Discuss(), ClosePoll(reveal=True)),
        ]
        await pilot.press("e", "escape", "e", "y")
        await until(pilot, lambda: played.sent[-1] == EndLecture())
        assert played.sent.count(EndLecture()) == 1


async def test_problems_cannot_control_the_terminal() -> None:
    view = TeacherView(remarks=("a voter named \x1b]0;x\x07",))
    async with notes_app(Played(Shows(ALONE), Tells(view))).run_test(size=(120, 36)) as pilot:
        await shown(pilot, r"a voter named \x1b]0;x\x07")


async def test_the_size_of_the_text_is_kept(tmp_path: Path) -> None:
    async with notes_app(Played(Shows(ALONE)), tmp_path).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Tell them")
        await pilot.press("plus")
        await until(pilot, lambda: "Tell them" not in text(pilot.app) and "▄" in text(pilot.app))
    async with notes_app(Played(Shows(ALONE)), tmp_path).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "1.1 of 2")
        await until(pilot, lambda: "Tell them" not in text(pilot.app) and "▄" in text(pilot.app))
        await pilot.press("minus")
        await until_text(pilot, "Tell them")
