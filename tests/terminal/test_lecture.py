"""A lecture of twenty slides with eight runs in real terminals, whose line is dropped three times."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tcptutor.room import launch, records
from tcptutor.room.lecture_state import shown_run
from tcptutor.room.protocol import LectureEnded
from tcptutor.room.talk import Talk
from tcptutor.run import load
from tests import leftovers, patience
from tests.room.lectures import DrivenTerminal, process_of, terminal, wait_for_end
from tests.terminal.tmux import Tmux

pytestmark = [pytest.mark.terminal, pytest.mark.host]

PRESENT = [sys.executable, "-m", "tcptutor", "present"]
PAGES = (
    "congestion-algorithms/slow-start",
    "pacing/a-burst-before-a-short-queue",
    "pacing/the-same-flow-spread-out",
    "congestion-algorithms/rack-and-prr",
    "tcp-basics/two-segments-at-a-time",
    "congestion-algorithms/hystart",
    "tcp-basics/a-larger-window",
    "pacing/four-paced-senders",
)
SLIDES = 20
BACK_S = 2.0
"""Longest time until the place is on screen again."""


def lecture_file(folder: Path) -> Path:
    """A lecture of own slides with two steps each, and a run on every second slide from the third on."""
    tables, pages = ['title = "Twenty slides"'], iter(PAGES)
    for number in range(SLIDES):
        page = next(pages, None) if number >= 2 and number % 2 == 0 else None
        if page:
            tables.append(f'[[slide]]\npage = "{page}"\nsteps = ["opening", "run", "verdict"]')
        else:
            tables.append(f'[[slide]]\ntitle = "Slide {number + 1}"\ntext = "first\\n\\nsecond"')
    file = folder / "lecture.toml"
    file.write_text("\n".join(tables) + "\n")
    return file


class Room:
    """The teacher's terminal in front of a room, and a watcher that sees what it shows."""

    def __init__(self, folder: Path, watcher: DrivenTerminal) -> None:
        self._folder, self.watcher = folder, watcher
        self._tmux: Tmux | None = None
        self.back_s: list[float] = []

    def open(self, *words: str) -> None:
        self._tmux = Tmux(shlex.join([*PRESENT, *words]), self._folder)

    def close(self) -> None:
        """Drop the line, as a lost SSH connection does: the terminal hangs up."""
        if self._tmux is not None:
            self._tmux.close()
            self._tmux = None

    def key(self, key: str) -> None:
        assert self._tmux is not None
        self._tmux.keys(key)

    @property
    def talk(self) -> Talk:
        assert self.watcher.talk is not None
        return self.watcher.talk

    async def has_gone(self) -> None:
        await self.watcher.until(lambda talk: talk.fronts == 0)

    async def is_back(self, since: float) -> None:
        """Wait until a terminal shows the lecture again, and note how long that took."""
        self.watcher.talk = None
        await self.watcher.until(lambda talk: talk.fronts == 1, 30)
        self.back_s.append(time.monotonic() - since)


@asynccontextmanager
async def begun_room(folder: Path, backend: str) -> AsyncIterator[Room]:
    """A lecture that has begun in a terminal."""
    first = Tmux(shlex.join([*PRESENT, "--lecture", str(lecture_file(folder)), "--backend", backend, "--listen",
                             "127.0.0.1:0"]), folder)  # fmt: skip
    room: Room | None = None
    try:
        await asyncio.to_thread(_wait_for_lecture)
        async with terminal("watch") as watcher:
            room = Room(folder, watcher)
            room._tmux = first
            await watcher.until(lambda talk: talk.fronts == 1, 30)
            yield room
    finally:
        first.close()
        if room is not None:
            room.close()
        if (here := launch.running()) is not None:
            process = process_of(here)
            os.kill(process, signal.SIGTERM)
            wait_for_end(process)


def _wait_for_lecture() -> None:
    deadline = patience.Deadline(30)
    while deadline.left and not launch.socket_path().exists():
        time.sleep(0.05)


@pytest.fixture
def place(mark: str, without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    yield tmp_path


@pytest.mark.parametrize("backend", ["replay", pytest.param("guest", marks=pytest.mark.guest)])
async def test_a_line_that_drops_three_times_costs_nothing(place: Path, mark: str, backend: str) -> None:
    async with begun_room(place, backend) as room:
        here = launch.running()
        assert here is not None

        async def hang_up() -> None:
            room.close()
            await room.has_gone()

        async def kill_terminal() -> None:
            leftovers.kill(mark, "tcptutor present")
            await room.has_gone()
            room.close()

        async def kill_lecture() -> None:
            os.kill(process_of(here), signal.SIGKILL)

        drops: dict[int, Callable[[], Awaitable[None]]] = {4: hang_up, 9: kill_terminal, 12: kill_lecture}
        for number in range(SLIDES):
            await room.watcher.until(lambda talk, number=number: talk.place.slide == number)
            while True:
                at = room.talk.place
                shown = shown_run(records.read_opened(here).lecture, at)
                if shown == at:
                    room.key("r")
                    await room.watcher.until(lambda talk: talk.run.state == "running", 60)
                if (drop := drops.get(number)) and at.step == 1:
                    before = records.read_state(here)
                    since = time.monotonic()
                    await drop()
                    if drop is not kill_lecture:
                        since = time.monotonic()
                        room.open("--resume")
                    await room.is_back(since)
                    assert room.talk.place == at
                    after = records.read_state(here)
                    assert set(before.runs) <= set(after.runs)
                    assert all(after.slide_seconds[slide] >= s for slide, s in before.slide_seconds.items())
                if shown == at:
                    await room.watcher.until(lambda talk: talk.run.state in ("ended", "failed"), 60)
                if number == SLIDES - 1 and at.step == 1:
                    break
                room.key("Space")
                await room.watcher.until(lambda talk, at=at: talk.place > at)
                if room.talk.place.slide > number:
                    break
        room.key("e")
        room.key("y")
        await room.watcher.heard(
            lambda: any(isinstance(each, LectureEnded) for each in room.watcher.received)
        )
        state = records.read_state(here)
        assert len(state.runs) == len(PAGES)
        # The killed process lost the rest of its own run, and nothing of it that had arrived.
        failed = [at.slide for at, run in state.runs.items() if run.state == "failed"]
        assert failed in ([], [12])
        ended = [run.id for run in state.runs.values() if run.state == "ended"]
        assert all(load(here / "runs" / f"{id_}.tcprun").complete for id_ in ended)
        print("back after", [round(s, 2) for s in room.back_s], "s")
        assert max(room.back_s) <= patience.seconds(BACK_S)
