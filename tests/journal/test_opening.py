"""Opening a journal: all events count, and changes by others are noticed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tcptutor.journal import Journal
from tcptutor.journal.events import StoredEvent
from tcptutor.journal.fold import fold_events

from .made import fill, many


@pytest.fixture
def events(path: Path) -> list[StoredEvent]:
    """The events of a long journal at `path`."""
    events = many(5000)
    fill(path, events)
    return events


def test_a_changed_event_is_reported_and_the_others_count(path: Path, events: list[StoredEvent]) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET data = CAST('{' AS BLOB) WHERE serial = 4711")
    connection.close()
    for _ in range(2):
        journal = Journal.open(path)
        assert "event 4711 of the journal is not as it was written" in journal.notice
        assert journal.record == fold_events(event for event in events if event.serial != 4711).record
        journal.close()


def test_another_program_s_events_are_seen_at_once(path: Path, events: list[StoredEvent]) -> None:
    one, two = Journal.open(path), Journal.open(path)
    assert one.record == fold_events(events).record
    two.visit("m", "s")
    two.hint("m", "s", "q", 2)
    assert one.page("m", "s").activity("q").hints == 2
    assert one.position() == ("m", "s")
    one.close()
    two.close()


def test_closing_does_not_wait_for_another_program_that_writes(path: Path) -> None:
    journal = Journal.open(path)
    journal.visit("m", "s")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    journal.close()
    other.execute("ROLLBACK")
    other.close()
    again = Journal.open(path)
    assert again.position() == ("m", "s")
    again.close()
