"""The folder of a lecture: what is read again, also after a kill, damage or a full disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tcptutor.base.errors import TutorError
from tcptutor.room import records
from tcptutor.room.lecture_state import LectureRecord, Moved, clamped
from tcptutor.room.records import LectureLog
from tcptutor.room.talk import LecturePlace
from tests.room.lectures import opened, slide

OPENED = opened(*(slide(str(number)) for number in range(9)))


@pytest.fixture
def folder(without_state: Path) -> Path:
    return records.create(OPENED)


def at(number: int) -> LectureRecord:
    return LectureRecord(at=float(number), happening=Moved(LecturePlace(number)))


def test_what_is_written_is_read_again_and_closed_to_others(folder: Path) -> None:
    log = LectureLog(folder, OPENED)
    for number in range(5):
        log.append(at(number))
    assert LectureLog(folder, records.read_opened(folder)).state == log.state
    assert records.read_opened(folder) == OPENED
    assert stat.S_IMODE((folder / records.LOG).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_lecture_begins_at_the_chosen_place(folder: Path) -> None:
    begun = records.OpenedLecture(lecture=OPENED.lecture, begin=LecturePlace(4, 7), started="")
    assert LectureLog(folder, begun).state.place == LecturePlace(4, 1)


def test_half_a_line_and_a_damaged_one_cost_themselves_alone(folder: Path) -> None:
    log = LectureLog(folder, OPENED)
    for number in (1, 2, 3):
        log.append(at(number))
    file = folder / records.LOG
    first, second, third = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + second[:20] + b"\n" + third + b'{"at":9,"happ')
    again = LectureLog(folder, OPENED)
    assert (again.state.place, again.damaged) == (LecturePlace(3), 2)
    again.append(at(5))
    assert LectureLog(folder, OPENED).state.place == LecturePlace(5)


@pytest.mark.parametrize(
    "line",
    [
        b'{"at":1e999,"happening":{"type":"Passed"}}',
        b'{"at":-1,"happening":{"type":"Passed"}}',
        b'{"at":1,"happening":{"type":"Moved","place":{"slide":99999999999999999999}}}',
        b'{"at":1,"happening":{"type":"Moved","place":{"slide":99999999,"step":-5}}}',
        b'{"at":1,"happening":{"type":"Unheard"}}',
        b"[" * 100_000,
        b'{"at":1,"x":' + b"[" * 100_000,
        b"\xff" * 100,
    ],
)
def test_no_line_of_a_log_leads_out_of_the_lecture(folder: Path, line: bytes) -> None:
    (folder / records.LOG).write_bytes(line + b"\n")
    state = LectureLog(folder, OPENED).state
    assert state.place == clamped(OPENED.lecture, state.place)
    assert 0 <= state.elapsed_s < 1e7


def test_a_full_disk_says_so_and_loses_nothing_once_there_is_space(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LectureLog(folder, OPENED)
    log.append(at(1))

    def full(fd: int, data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        log.append(at(2))
        log.append(at(3))
        assert "No space left" in log.problem
        assert log.state.place == LecturePlace(3)
    assert LectureLog(folder, OPENED).state.place == LecturePlace(1)
    log.append(at(4))
    assert log.problem == ""
    assert LectureLog(folder, OPENED).state == log.state


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"format_version":99}', b"\xff\xfe", b'{"lecture":1,"format_version":1}']
)
def test_a_damaged_lecture_is_one_line(folder: Path, content: bytes) -> None:
    (folder / records.OPENED).write_bytes(content)
    with pytest.raises(TutorError) as error:
        records.read_opened(folder)
    assert len(str(error.value).splitlines()) == 1


def test_the_latest_lecture_is_the_one_that_was_started_last(without_state: Path) -> None:
    assert records.latest() is None
    folders = [records.create(OPENED) for _ in range(3)]
    assert records.latest() == folders[-1]
