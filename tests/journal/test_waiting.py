"""Saves that failed are tried again, and a try that takes long keeps nobody waiting twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.base.errors import JournalError
from tcptutor.journal import Journal, waiting
from tcptutor.journal.waiting import WaitingSaves


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(waiting, "time", clock)
    return clock


def test_a_try_that_took_long_is_not_made_again_at_once(clock: Clock) -> None:
    tries, full = [], True

    def save() -> None:
        tries.append(clock.now)
        clock.now += 0.5
        if full:
            raise JournalError("the disk is full")

    saves = WaitingSaves()
    saves.add(save, "the disk is full")
    assert not saves.retry()
    assert not saves.retry()
    assert len(tries) == 1
    assert not saves.retry(at_once=True)
    assert len(tries) == 2
    clock.now += 20 * 0.5
    full = False
    assert saves.retry()
    assert (len(tries), saves.problem) == (3, "")


def test_what_is_tried_in_vain_quickly_is_tried_at_each_save(clock: Clock) -> None:
    tries = []

    def save() -> None:
        tries.append(clock.now)
        raise JournalError("no")

    saves = WaitingSaves()
    saves.add(save, "no")
    for _ in range(3):
        assert not saves.retry()
    assert len(tries) == 3


def test_a_journal_in_memory_moves_to_its_file(tmp_path: Path) -> None:
    file = tmp_path / "in" / "journal.db"
    (tmp_path / "in").touch()
    journal = Journal.in_memory_until(file, "no folder", patience=0.05)
    journal.visit("m", "one")
    journal.hint("m", "one", "q", 1)
    assert (journal.is_persistent, journal.unsaved) == (False, "no folder")
    assert not journal.save_waiting()
    assert "Not a directory" in journal.unsaved
    (tmp_path / "in").unlink()
    other = Journal.open(file)
    other.visit("m", "other")
    assert journal.save_waiting()
    assert (journal.is_persistent, journal.unsaved) == (True, "")
    journal.visit("m", "two")
    assert [event.serial for event in other.events()] == [1, 2, 3, 4]
    assert other.page("m", "one").activity("q").hints == 1
    assert other.position() == ("m", "two")
    journal.close()
    other.close()
    again = Journal.open(file)
    assert again.notice == ""
    again.close()
