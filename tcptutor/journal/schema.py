"""The tables, as a list of migrations: entry N takes a journal of version N to N + 1 (`PRAGMA user_version`).

An entry that was released is never edited; a change of the tables is a new entry at the end.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import accumulate

import msgspec

from tcptutor.base.errors import JournalError
from tcptutor.course.record import PREDICT, Given, Response
from tcptutor.journal.events import Hinted, JournalEvent, Responded, RunBegun, RunEnded, Visited, chain

ADD_EVENT = "INSERT INTO events VALUES (?, ?, ?)"

_Timed = tuple[float, JournalEvent]
"""Seconds since 1970, and what happened then."""


def _events_of_version_1(connection: sqlite3.Connection) -> None:
    """Events of all that the tables of version 1 tell, in the order of its times."""
    begun, ended = _runs(connection)
    timed = [*_visits(connection), *_hints(connection), *_predictions(connection), *begun, *ended]
    timed += _answers(connection)
    events = [event for _, event in sorted(timed, key=lambda each: each[0])]
    # Of a page that was seen again only the first time was written down; where the student was counts.
    last = next((each for each in reversed(events) if isinstance(each, Visited)), None)
    for module, step, at in connection.execute(
        "SELECT module, step, first FROM visits ORDER BY serial DESC LIMIT 1"
    ):
        if (here := Visited(at, module, step)) != last:
            events.append(here)
    connection.executemany(ADD_EVENT, chain(events))


def _visits(connection: sqlite3.Connection) -> Iterable[_Timed]:
    rows = connection.execute("SELECT first, module, step FROM visits ORDER BY rowid")
    return _in_order(Visited(*row) for row in rows)


def _hints(connection: sqlite3.Connection) -> Iterable[_Timed]:
    rows = connection.execute("SELECT at, module, step, target, level FROM hints ORDER BY rowid")
    return _in_order(Hinted(*row) for row in rows)


def _predictions(connection: sqlite3.Connection) -> Iterable[_Timed]:
    rows = connection.execute("SELECT at, module, step, text, value FROM predictions ORDER BY rowid")
    return _in_order(
        Responded(at, module, step, PREDICT, Response(text, None, value=value))
        for at, module, step, text, value in rows
    )


def _answers(connection: sqlite3.Connection) -> Iterable[_Timed]:
    rows = connection.execute("SELECT at, module, step, question, answer, correct FROM answers ORDER BY id")
    return _in_order(
        Responded(at, module, step, question, Response(_given(answer), bool(correct)))
        for at, module, step, question, answer, correct in rows
    )


def _given(answer: str) -> Given:
    try:
        given: Given = msgspec.json.decode(answer, type=Given)
    except msgspec.MsgspecError:
        given = answer  # as it stands: a letter that the disk has changed is no reason to lose it
    return given


def _runs(connection: sqlite3.Connection) -> tuple[list[_Timed], list[_Timed]]:
    """Their beginnings, and the ends of those that had one."""
    rows = connection.execute(
        "SELECT id, module, step, experiment, started, finished, complete, note, file FROM runs ORDER BY rowid"
    ).fetchall()
    # Only the name of the file: it is in `runs` beside the journal, wherever both were moved to.
    begun = list(
        _in_order(
            RunBegun(started, module, step, run, experiment, _name(file))
            for run, module, step, experiment, started, _, _, _, file in rows
        )
    )
    ended: list[_Timed] = []
    for (began, _), (run, _, _, _, _, finished, complete, note, file) in zip(begun, rows, strict=True):
        if finished is not None:
            end = RunEnded(finished, run, bool(complete), note, _name(file))
            ended.append((max(began, _instant(finished)), end))
    return begun, ended


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _in_order(events: Iterable[JournalEvent]) -> Iterable[_Timed]:
    """With their times, which never go back: the order of the rows is sure, a clock may have been set."""
    return accumulate(
        ((_instant(event.at), event) for event in events),
        lambda before, timed: (max(before[0], timed[0]), timed[1]),
    )


def _instant(at: str) -> float:
    try:
        instant = datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0
    # A run's start was written in whole seconds, cut off: what else was written in that second came before it.
    return instant if "." in at else instant + 0.999


_Statement = str | Callable[[sqlite3.Connection], None]

_MAKE_KEPT = """CREATE TABLE folded (
            one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, data BLOB NOT NULL,
            seal BLOB NOT NULL) STRICT"""

MIGRATIONS: tuple[tuple[_Statement, ...], ...] = (
    (
        # One locked prediction a step; value is NULL for a student who ran without one.
        """CREATE TABLE predictions (
            module TEXT NOT NULL, step TEXT NOT NULL, at TEXT NOT NULL, text TEXT NOT NULL, value REAL,
            PRIMARY KEY (module, step)) STRICT""",
        # Every attempt, in order; answer is JSON: a list of choices' indexes, or the text as typed.
        """CREATE TABLE answers (
            id INTEGER PRIMARY KEY, module TEXT NOT NULL, step TEXT NOT NULL, question TEXT NOT NULL,
            at TEXT NOT NULL, answer TEXT NOT NULL, correct INTEGER NOT NULL) STRICT""",
        "CREATE INDEX answers_of_step ON answers (module, step)",
        """CREATE TABLE hints (
            module TEXT NOT NULL, step TEXT NOT NULL, target TEXT NOT NULL, level INTEGER NOT NULL,
            at TEXT NOT NULL, PRIMARY KEY (module, step, target, level)) STRICT""",
        # finished stays NULL when the program ended before the run did; the file holds what had arrived.
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY, module TEXT NOT NULL, step TEXT NOT NULL, experiment TEXT NOT NULL,
            started TEXT NOT NULL, finished TEXT, complete INTEGER NOT NULL DEFAULT 0,
            note TEXT NOT NULL DEFAULT '', file TEXT NOT NULL) STRICT""",
        "CREATE INDEX runs_of_step ON runs (module, step)",
        # Steps that were on the screen; the latest visit is where the student is.
        """CREATE TABLE visits (
            module TEXT NOT NULL, step TEXT NOT NULL, first TEXT NOT NULL, serial INTEGER NOT NULL,
            PRIMARY KEY (module, step)) STRICT""",
    ),
    (
        # Only ever added to; serial counts from 1 without gaps. data is JSON, hash is what events.link gives.
        "CREATE TABLE events (serial INTEGER PRIMARY KEY, data BLOB NOT NULL, hash BLOB NOT NULL) STRICT",
        # One row: what the events came to when it was last written, so that not all of them are read at the start.
        # seal is events.link of the hash of its last event and data.
        _MAKE_KEPT,
        _events_of_version_1,
        *(f"DROP TABLE {table}" for table in ("predictions", "answers", "hints", "runs", "visits")),
    ),
)
VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, keep_copy: Callable[[int], None]) -> bool:
    """Bring the tables to VERSION, whole or not at all; whether they were made here, of nothing.

    `keep_copy` is given the version of a journal that is about to be changed. Raises JournalError for a journal that
    a newer tcptutor wrote.
    """
    made = False
    if _version(connection) < VERSION:
        with transaction(connection):
            # A second look, with the lock: another tcptutor may have migrated the same file just now.
            version = _version(connection)
            made = version == 0
            if 0 < version < VERSION:
                keep_copy(version)
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    if isinstance(statement, str):
                        connection.execute(statement)
                    else:
                        statement(connection)
            connection.execute(f"PRAGMA user_version = {max(version, VERSION)}")
    if (version := _version(connection)) > VERSION:
        raise JournalError(
            f"the journal was written by a newer tcptutor (version {version}, this one knows {VERSION}): "
            "update tcptutor to open it"
        )
    return made


def mend(connection: sqlite3.Connection) -> str:
    """Check that the tables are as `migrate` makes them, and give what was mended, in a line; empty for nothing.

    Raises sqlite3.DatabaseError for what cannot be mended here.
    """
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as ours:
        for statements in MIGRATIONS:
            for statement in statements:
                if isinstance(statement, str):
                    ours.execute(statement)
        wanted, there = _shape(ours), _shape(connection)
    if strange := [name for name, (kind, _) in there.items() if kind in ("view", "trigger")]:
        raise sqlite3.DatabaseError(f"there is no {strange[0]} in a journal")
    other = [name for name in wanted if there.get(name) != wanted[name]]
    if not other:
        return ""
    if other != [_KEPT] or there.get(_KEPT, _TABLE)[0] != _TABLE[0]:
        raise sqlite3.DatabaseError(f"the table {other[0]} is missing, or another one")
    with transaction(connection):
        connection.execute(f"DROP TABLE IF EXISTS {_KEPT}")
        connection.execute(_MAKE_KEPT)
    return f"the journal's table {_KEPT} was missing, or another one: it was made again of the events"


_KEPT = "folded"
_TABLE: tuple[str, tuple[object, ...]] = ("table", ())


def _shape(connection: sqlite3.Connection) -> dict[str, tuple[str, tuple[object, ...]]]:
    """Tables with their columns, views and triggers, by their names."""
    found = {}
    for kind, name in connection.execute(
        "SELECT type, name FROM sqlite_master WHERE type != 'index'"
    ).fetchall():
        columns = connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()
        found[name] = (kind, tuple(columns) if kind == "table" else ())
    return found


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written inside, or nothing; no other program writes meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
