"""The lecture process, with real terminals' connections: what they see, and what outlives them."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tcptutor.base import sockets
from tcptutor.base.errors import TutorError
from tcptutor.room import host, launch, protocol, records
from tcptutor.room.client import Interrupted
from tcptutor.room.protocol import (
    CommandRefused,
    EndLecture,
    Go,
    LectureEnded,
    RunBegins,
    StartRun,
    StepBy,
    StopRun,
)
from tcptutor.room.talk import LecturePlace
from tests import patience
from tests.room.lectures import (
    RUN_PAGES,
    opened,
    process_of,
    served_here,
    slide,
    start,
    terminal,
    wait_for_end,
)

pytestmark = pytest.mark.host

LECTURE = opened(slide("one"), *(slide(page, module, page) for module, page in RUN_PAGES), slide("end"))


@pytest.fixture(autouse=True)
def _own_socket(mark: str, without_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
async def here() -> AsyncIterator[Path]:
    """The folder of a lecture that is served in this process."""
    async with served_here(LECTURE) as folder:
        yield folder


@pytest.fixture
def folder(_own_socket: None) -> Iterator[Path]:
    """The folder of a lecture with a process of its own, which ends with the test."""
    folder = start(LECTURE)
    yield folder
    if launch.running() is not None:
        os.kill(process_of(folder), signal.SIGTERM)


async def test_terminals_show_the_same_place_and_a_later_one_joins_it(here: Path) -> None:
    async with terminal() as first:
        first.send(StepBy())
        first.send(StepBy())
        await first.until(lambda talk: talk.place == LecturePlace(1))
        async with terminal("notes") as second:
            assert (await second.until(lambda talk: True)).place == LecturePlace(1)
            second.send(StepBy(-1))
            await first.until(lambda talk: talk.place == LecturePlace(0, 1))
            assert (await first.until(lambda talk: talk.fronts == 1)).fronts == 1


async def test_a_watcher_sees_neither_notes_nor_the_speakers_view_and_changes_nothing(here: Path) -> None:
    async with terminal() as front, terminal("watch") as watcher:
        watcher.send(StepBy())
        watcher.send(EndLecture())
        front.send(Go(LecturePlace(3, 1)))
        await watcher.until(lambda talk: talk.place == LecturePlace(3, 1))
        await front.heard(lambda: front.view is not None)
        assert watcher.view is None
        assert "secret" not in protocol.line(watcher.received[0]).decode()
        assert "secret" in protocol.line(front.received[0]).decode()


async def test_a_run_grows_on_every_terminal_and_comes_whole_to_a_later_one(here: Path) -> None:
    async with terminal() as front:
        front.send(Go(LecturePlace(1, 1)))
        await front.until(lambda talk: talk.run.has_prepared)
        front.send(StartRun("prepared"))
        await front.until(lambda talk: talk.run.state == "running")
        async with terminal("watch") as watcher:
            await watcher.heard(lambda: bool(watcher.followed.run and watcher.followed.run.samples))
            await watcher.until(lambda talk: talk.run.state == "ended", 60)
            await front.until(lambda talk: talk.run.state == "ended")
            assert front.followed.run is not None
            assert watcher.followed.run == front.followed.run
            assert front.followed.run.complete
            assert front.talk is not None
            assert front.talk.run.source == "prepared"


async def test_a_run_that_is_played_twice_has_each_sample_once(here: Path) -> None:
    async with terminal() as front:
        front.send(Go(LecturePlace(1, 1)))
        front.send(StartRun("prepared"))
        talk = await front.until(lambda talk: talk.run.state == "ended", 60)
        first, before = front.followed.run, talk.run.id
        front.send(StartRun("prepared"))
        await front.until(lambda talk: talk.run.state == "ended" and talk.run.id != before, 60)
        second = front.followed.run
        assert first is not None
        assert second is not None
        assert second.samples == first.samples


async def test_a_slides_run_comes_back_with_its_slide(here: Path) -> None:
    async with terminal() as front:
        front.send(Go(LecturePlace(1, 1)))
        front.send(StartRun("prepared"))
        talk = await front.until(lambda talk: talk.run.state == "running")
        first = talk.run.id
        front.send(StopRun())
        talk = await front.until(lambda talk: talk.run.state == "ended")
        assert talk.run.is_stopped
        front.send(Go(LecturePlace(2, 1)))
        await front.until(lambda talk: talk.place == LecturePlace(2, 1))
        assert front.talk is not None
        assert front.talk.run.state == "none"
        front.send(Go(LecturePlace(1, 1)))
        talk = await front.until(lambda talk: talk.run.id == first)
        assert front.followed.id == first


async def test_a_killed_lecture_process_comes_back_at_the_same_place(folder: Path) -> None:
    async with terminal() as front:
        front.send(Go(LecturePlace(1, 1)))
        front.send(StartRun("prepared"))
        await front.until(lambda talk: talk.run.state == "running")
        began = len(front.received)
        front.talk = None
        killed = time.monotonic()
        os.kill(process_of(folder), signal.SIGKILL)
        talk = await front.until(lambda talk: True)
        took = time.monotonic() - killed
        assert talk.place == LecturePlace(1, 1)
        assert talk.run.state == "failed"
        assert any(isinstance(each, Interrupted) for each in front.received[began:])
        await front.heard(lambda: any(isinstance(each, RunBegins) for each in front.received[began:]))
        front.send(StepBy())
        await front.until(lambda talk: talk.place == LecturePlace(1, 2))
        print(f"back after {took:.2f} s")


async def test_the_end_ends_every_terminal_and_the_process(folder: Path) -> None:
    process = process_of(folder)
    async with terminal() as front, terminal("watch") as watcher:
        await watcher.until(lambda talk: True)
        front.send(EndLecture())
        await front.heard(lambda: any(isinstance(each, LectureEnded) for each in front.received))
        await watcher.heard(lambda: any(isinstance(each, LectureEnded) for each in watcher.received))
    await asyncio.to_thread(wait_for_end, process)
    assert records.read_state(folder).is_over
    assert not launch.socket_path().exists()


async def test_what_is_no_message_ends_its_connection_alone(here: Path) -> None:
    async with terminal() as front:
        for junk in (b"\xff\n", b"{}\n", b'{"type":"Go"}\n', b"x" * (protocol.LONGEST_COMMAND + 1), b""):
            reader, writer = await asyncio.open_unix_connection(launch.socket_path())
            writer.write(junk)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
        front.send(StepBy())
        await front.until(lambda talk: talk.place == LecturePlace(0, 1))


async def test_a_terminal_that_reads_nothing_holds_nobody(here: Path) -> None:
    async with terminal() as front:
        _, writer = await asyncio.open_unix_connection(launch.socket_path())
        writer.write(protocol.line(protocol.TerminalHello("watch")))
        for _ in range(300):
            front.send(StepBy())
            front.send(StepBy(-1))
        front.send(Go(LecturePlace(3, 1)))
        await front.until(lambda talk: talk.place == LecturePlace(3, 1))
        writer.close()


async def test_the_speaker_hears_what_a_slide_lacks(here: Path) -> None:
    async with terminal() as front, terminal("watch") as watcher:
        front.send(StartRun("live"))
        await front.heard(lambda: "no run" in " ".join(front.view.remarks if front.view else ()))
        assert any(isinstance(each, CommandRefused) for each in front.received)
        front.send(StepBy())
        await front.heard(lambda: "no run" not in " ".join(front.view.remarks if front.view else ("no run",)))
        await watcher.until(lambda talk: talk.place == LecturePlace(0, 1))
        assert not any(isinstance(each, CommandRefused) for each in watcher.received)


def test_a_second_process_of_a_lecture_leaves_the_first_alone(folder: Path) -> None:
    first = process_of(folder)
    launch.start(folder)
    assert process_of(folder) == first


def test_a_socket_folder_that_others_can_open_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "_SHARED", tmp_path / "shared")
    taken = tmp_path / "shared" / f"tcptutor-{os.getuid()}"
    taken.mkdir(parents=True, mode=0o755)
    assert launch.socket_path().parent == tmp_path / "tcptutor"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with pytest.raises(TutorError, match="closed to others"):
        launch.socket_path()
    taken.rmdir()
    taken.symlink_to(tmp_path)
    with pytest.raises(TutorError, match="closed to others"):
        launch.socket_path()


async def test_a_socket_that_something_has_removed_comes_back(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with terminal() as front:
        await front.heard(lambda: front.view is not None, 20)
        launch.socket_path().unlink()
        async with asyncio.timeout(patience.seconds(10)):
            while not launch.socket_path().exists():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        async with terminal() as second:
            second.send(StepBy())
            await front.until(lambda talk: talk.place == LecturePlace(0, 1))


async def test_a_lecture_without_a_terminal_ends_its_process_and_can_be_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host, "_TICK_S", 0.05)
    monkeypatch.setattr(host, "_IDLE_S", 1.0)
    async with served_here(LECTURE) as folder:
        async with terminal() as front:
            front.send(Go(LecturePlace(2, 1)))
            await front.until(lambda talk: talk.place == LecturePlace(2, 1))
            await asyncio.sleep(1.5)
            assert launch.socket_path().exists()
        async with asyncio.timeout(30):
            while launch.socket_path().exists():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    state = records.read_state(folder)
    assert (state.place, state.is_over) == (LecturePlace(2, 1), False)


async def test_a_terminal_of_another_version_is_told_to_start_again(here: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(launch.socket_path())
    writer.write(protocol.line(protocol.TerminalHello("present", version=protocol.VERSION + 1)))
    answer = protocol.to_terminal(await reader.readline())
    assert isinstance(answer, LectureEnded)
    assert "start it again" in answer.reason
    writer.close()
