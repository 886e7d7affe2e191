"""Events for tests: any of a small course, in any order."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import get_args

from hypothesis import strategies as st

from tcptutor.base.printable import escaped
from tcptutor.course.page_record import PREDICT, Response, Sureness
from tcptutor.journal import Journal
from tcptutor.journal.events import (
    Bookmarked,
    Commented,
    Hinted,
    JournalEvent,
    Noted,
    PredictionMeasured,
    Reported,
    Reset,
    Responded,
    Restored,
    Reviewed,
    RunEnded,
    RunStarted,
    Skipped,
    StoredEvent,
    Visited,
    Withdrawn,
    chain,
)

MODULES, STEPS, ACTIVITIES, RUNS = ("m", "n"), ("a", "b"), (PREDICT, "q"), ("r1", "r2", "r3", "r4")
TIMES = st.integers(0, 59).map("2026-01-01T00:00:{:02}.000+00:00".format)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8).map(escaped)
GIVEN = TEXTS | st.lists(TEXTS, max_size=3).map(tuple)
RESPONSES = st.builds(
    Response,
    GIVEN,
    st.none() | st.booleans(),
    value=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    draw=st.dictionaries(st.sampled_from(("window", "rtt")), TEXTS),
    sureness=st.none() | st.sampled_from(get_args(Sureness)),
)
_module, _step, _activity = map(st.sampled_from, (MODULES, STEPS, ACTIVITIES))
_run = st.sampled_from(RUNS)
EVENTS: st.SearchStrategy[list[JournalEvent]] = st.lists(
    st.builds(Visited, TIMES, _module, _step)
    | st.builds(Responded, TIMES, _module, _step, _activity, RESPONSES)
    | st.builds(Withdrawn, TIMES, _module, _step, _activity)
    | st.builds(Hinted, TIMES, _module, _step, _activity, st.integers(1, 3))
    | st.builds(Noted, TIMES, _module, _step, TEXTS)
    | st.builds(Bookmarked, TIMES, _module, _step, st.booleans())
    | st.builds(Skipped, TIMES, _module, _step, st.booleans())
    | st.builds(Reported, TIMES, _module, _step, TEXTS)
    | st.builds(Commented, TIMES, _module, _step, st.just("") | _activity, TEXTS, TEXTS)
    | st.builds(Reset, TIMES, _module, _step)
    | st.builds(Restored, TIMES, _module, _step)
    | st.builds(Reviewed, TIMES, _module, _step, _activity, RESPONSES, st.integers(0, 3))
    | st.builds(PredictionMeasured, TIMES, _module, _step, _activity, st.floats(1, 1e12))
    | st.builds(RunStarted, TIMES, _module, _step, _run, st.just("m/e"), _run, st.integers(0, 9))
    | st.builds(RunEnded, TIMES, _run, st.booleans(), TEXTS, st.just("") | _run),
    max_size=15,
).map(lambda events: _begun_once(events))


def _begun_once(events: list[JournalEvent]) -> list[JournalEvent]:
    """Without the runs that would begin twice: their ids are drawn so that none does."""
    begun: set[str] = set()
    kept = []
    for event in events:
        if isinstance(event, RunStarted):
            if event.run in begun:
                continue
            begun.add(event.run)
        kept.append(event)
    return kept


def stored(events: list[JournalEvent]) -> list[StoredEvent]:
    """As they stand in a journal of these alone."""
    return list(chain(events))


def many(number: int) -> list[StoredEvent]:
    """So many events of one busy student, over 60 pages."""
    events: list[JournalEvent] = []
    for serial in range(number):
        at = f"2026-01-01T{serial // 3600 % 24:02}:{serial // 60 % 60:02}:{serial % 60:02}.000+00:00"
        module, step = f"module-{serial // 7 % 6}", f"step-{serial // 3 % 10}"
        match serial % 5:
            case 0:
                events.append(Visited(at, module, step))
            case 1:
                events.append(Hinted(at, module, step, "q1", 1 + serial % 3))
            case _:
                answer = Response((f"{serial % 4}",), serial % 4 == 1)
                events.append(Responded(at, module, step, f"q{serial % 3}", answer))
    return stored(events)


def fill(path: Path, events: list[StoredEvent]) -> None:
    """Make a journal of these, all written at once."""
    Journal.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT INTO events VALUES (?, ?, ?)", events)
    connection.close()
