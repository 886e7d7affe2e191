"""A start reads only what is newer than the fold that was kept; one that is not of these events is not used."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.course.page_record import Response
from tcptutor.journal import Journal, fold, store
from tcptutor.journal.events import StoredEvent
from tcptutor.journal.fold import fold_events
from tcptutor.journal.journal import SAVE_FOLD_EVERY

from .made import fill, many

EVENTS = 20_000


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[StoredEvent]]:
    """A long journal, closed, and its events."""
    path = tmp_path_factory.mktemp("long") / "journal.db"
    events = many(EVENTS)
    fill(path, events)
    Journal.open(path).close()
    return path, events


@pytest.fixture
def path(tmp_path: Path, long: tuple[Path, list[StoredEvent]]) -> Path:
    return Path(shutil.copy(long[0], tmp_path))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many events were read since it was last asked."""
    calls: list[bytes] = []

    def counted(data: bytes, decode: Callable[[bytes], object] = fold.decode) -> object:
        calls.append(data)
        return decode(data)

    def asked() -> int:
        number = len(calls)
        calls.clear()
        return number

    monkeypatch.setattr(fold, "decode", counted)
    return asked


def test_a_journal_that_was_closed_is_opened_without_reading_its_events(
    path: Path, long: tuple[Path, list[StoredEvent]], read: Callable[[], int]
) -> None:
    journal = Journal.open(path)
    assert read() == 0
    assert journal.record == fold_events(long[1]).record
    read()
    journal.respond("module-1", "step-1", "q1", Response((1,), True))
    assert read() == 1
    journal.close()
    assert journal.notice == ""


def test_after_a_kill_only_the_newest_events_are_read(path: Path, read: Callable[[], int]) -> None:
    writer = f"""
import os, signal
from pathlib import Path
from tcptutor.journal import Journal
journal = Journal.open(Path({str(path)!r}))
journal._connection.execute("PRAGMA synchronous = OFF")
for _ in range({SAVE_FOLD_EVERY + 300}):
    journal.visit("m", "s")
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", writer], check=False)
    journal = Journal.open(path)
    assert read() == 300
    assert journal.position() == ("m", "s")
    assert sum(1 for _ in journal.events()) == EVENTS + SAVE_FOLD_EVERY + 300
    journal.close()


@pytest.mark.parametrize(
    "spoilt",
    [
        "DELETE FROM folded",
        "UPDATE folded SET version = version + 1",
        "UPDATE folded SET seal = x'00'",
        "UPDATE folded SET data = CAST(replace(CAST(data AS TEXT), '\"hints\":3', '\"hints\":2') AS BLOB)",
        "UPDATE folded SET data = x'ff'",
        f"UPDATE events SET hash = x'00' WHERE serial = {EVENTS}",
    ],
)
def test_a_fold_that_does_not_match_is_made_again_and_kept(
    path: Path, long: tuple[Path, list[StoredEvent]], read: Callable[[], int], spoilt: str
) -> None:
    with sqlite3.connect(path) as connection:
        assert connection.execute(spoilt).rowcount == 1
    connection.close()
    journal = Journal.open(path)
    assert read() == EVENTS
    assert journal.record == fold_events(long[1]).record
    read()
    again = Journal.open(path)  # the first one goes on, as when it is killed
    assert read() == 0
    assert again.record == journal.record
    journal.close()
    again.close()


def test_an_event_that_was_changed_is_said_and_the_rest_is_used(
    path: Path, long: tuple[Path, list[StoredEvent]]
) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET data = CAST('{' AS BLOB) WHERE serial = 4711")
        connection.execute("DELETE FROM folded")
    connection.close()
    for _ in range(2):
        journal = Journal.open(path)
        assert "event 4711 of the journal is not as it was written" in journal.notice
        events = [stored for stored in long[1] if stored.serial != 4711]
        assert journal.record == fold_events(events).record
        journal.close()


def test_what_another_program_does_is_seen_and_costs_what_it_did(path: Path, read: Callable[[], int]) -> None:
    one, two = Journal.open(path), Journal.open(path)
    two.visit("m", "s")
    two.hint("m", "s", "q", 2)
    read()
    assert one.page("m", "s").activity("q").hints == 2
    assert one.position() == ("m", "s")
    assert read() == 2
    one.close()
    two.close()


def test_a_start_that_is_closed_while_another_program_writes_does_not_wait(path: Path) -> None:
    journal = Journal.open(path)
    journal.visit("m", "s")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    journal.close()
    other.execute("ROLLBACK")
    assert store.load_fold(other).serial == EVENTS
    other.close()
    again = Journal.open(path)
    assert again.position() == ("m", "s")
    again.close()
