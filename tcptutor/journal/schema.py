"""The tables, as a list of migrations (`PRAGMA user_version`): entry N takes version N to N + 1.

Released entries are never edited; a change of the tables is a new entry at the end.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import accumulate

import msgspec

from tcptutor.base.errors import JournalError
from tcptutor.course.page_record import PREDICT, Given, Response
from tcptutor.journal.events import Hinted, JournalEvent, Responded, RunBegun, RunEnded, Visited, chain

ADD_EVENT = "INSERT INTO events VALUES (?, ?, ?)"

_Timed = tuple[float, JournalEvent]
"""Seconds since 1970, and an event of that time."""


def _events_of_version_1(connection: sqlite3.Connection) -> None:
    """Convert all rows of the version 1 tables into events, in order of time."""
    begun, ended = _runs(connection)
    timed = [*_visits(connection), *_hints(connection), *_predictions(connection), *begun, *ended]
    timed += _answers(connection)
    events = [event for _, event in sorted(timed, key=lambda each: each[0])]
    # Version 1 recorded only the first visit of a page; the latest visit is the student's position.
    last = next((each for each in reversed(events) if isinstance(each, Visited)), None)
    for module, step, at in connection.execute(
        "SELECT module, step, first FROM visits ORDER BY serial DESC LIMIT 1"
    ):
        if (position := Visited(at, module, step)) != last:
            events.append(position)
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
        Responded(at, module, step, question, Response(_decode_answer(answer), bool(correct)))
        for at, module, step, question, answer, correct in rows
    )


def _decode_answer(answer: str) -> Given:
    try:
        value: Given = msgspec.json.decode(answer, type=Given)
    except msgspec.MsgspecError:
        value = answer  # raw: one corrupted letter is no reason to lose the answer
    return value


def _runs(connection: sqlite3.Connection) -> tuple[list[_Timed], list[_Timed]]:
    """Return the beginnings of all runs, and the ends of the runs that ended."""
    rows = connection.execute(
        "SELECT id, module, step, experiment, started, finished, complete, note, file FROM runs ORDER BY rowid"
    ).fetchall()
    # Only the name of the file: the folder `runs` moves together with the journal.
    begun = list(
        _in_order(
            RunBegun(started, module, step, run, experiment, _file_name(file))
            for run, module, step, experiment, started, _, _, _, file in rows
        )
    )
    ended: list[_Timed] = []
    for (began, _), (run, _, _, _, _, finished, complete, note, file) in zip(begun, rows, strict=True):
        if finished is not None:
            end = RunEnded(finished, run, bool(complete), note, _file_name(file))
            ended.append((max(began, _instant(finished)), end))
    return begun, ended


def _file_name(file: str) -> str:
    return file.rpartition("/")[2]


def _in_order(events: Iterable[JournalEvent]) -> Iterable[_Timed]:
    """Add times that never decrease: the order of the rows is certain, but a clock may have been set back."""
    return accumulate(
        ((_instant(event.at), event) for event in events),
        lambda before, timed: (max(before[0], timed[0]), timed[1]),
    )


def _instant(at: str) -> float:
    try:
        instant = datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0
    # Version 1 truncated the start of a run to whole seconds: other events of that second came before it.
    return instant if "." in at else instant + 0.999


_Statement = str | Callable[[sqlite3.Connection], None]

_CREATE_FOLD = """CREATE TABLE folded (
            one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, data BLOB NOT NULL,
            seal BLOB NOT NULL) STRICT"""

MIGRATIONS: tuple[tuple[_Statement, ...], ...] = (
    (
        # One locked prediction per step; value is NULL for a student who ran without predicting.
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
        # finished stays NULL when the program ended before the run did; the file holds the data until then.
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY, module TEXT NOT NULL, step TEXT NOT NULL, experiment TEXT NOT NULL,
            started TEXT NOT NULL, finished TEXT, complete INTEGER NOT NULL DEFAULT 0,
            note TEXT NOT NULL DEFAULT '', file TEXT NOT NULL) STRICT""",
        "CREATE INDEX runs_of_step ON runs (module, step)",
        # Visited steps; the latest visit is the student's position.
        """CREATE TABLE visits (
            module TEXT NOT NULL, step TEXT NOT NULL, first TEXT NOT NULL, serial INTEGER NOT NULL,
            PRIMARY KEY (module, step)) STRICT""",
    ),
    (
        # Only ever added to; serial counts from 1 without gaps. data is JSON, hash is what events.link gives.
        "CREATE TABLE events (serial INTEGER PRIMARY KEY, data BLOB NOT NULL, hash BLOB NOT NULL) STRICT",
        # One row: a saved fold of the events, so that a start reads only newer ones.
        # seal is events.link of the hash of its last event and data.
        _CREATE_FOLD,
        _events_of_version_1,
        *(f"DROP TABLE {table}" for table in ("predictions", "answers", "hints", "runs", "visits")),
    ),
)
VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, keep_copy: Callable[[int], None]) -> bool:
    """Bring the tables to VERSION, completely or not at all.

    Args:
        connection: An open journal.
        keep_copy: Called with the version of an older journal before it is changed.

    Returns:
        Whether the journal was created here.

    Raises:
        JournalError: A newer tcptutor wrote the journal.
    """
    is_new = False
    if _version(connection) < VERSION:
        with transaction(connection):
            # Read the version again under the lock: another tcptutor may have migrated the file just now.
            version = _version(connection)
            is_new = version == 0
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
    return is_new


def repair(connection: sqlite3.Connection) -> str:
    """Check that the tables are as `migrate` creates them, and recreate a damaged table of the saved fold.

    Returns:
        A message about the repair; empty when the tables were intact.

    Raises:
        sqlite3.DatabaseError: The damage cannot be repaired here.
    """
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as ours:
        for statements in MIGRATIONS:
            for statement in statements:
                if isinstance(statement, str):
                    ours.execute(statement)
        expected, actual = _shape(ours), _shape(connection)
    if foreign := [name for name, (kind, _) in actual.items() if kind in ("view", "trigger")]:
        raise sqlite3.DatabaseError(f"unexpected {actual[foreign[0]][0]} {foreign[0]}")
    different = [name for name in expected if actual.get(name) != expected[name]]
    if not different:
        return ""
    if different != [_FOLD_TABLE] or actual.get(_FOLD_TABLE, _TABLE)[0] != _TABLE[0]:
        raise sqlite3.DatabaseError(f"the table {different[0]} is missing or has other columns")
    with transaction(connection):
        connection.execute(f"DROP TABLE IF EXISTS {_FOLD_TABLE}")
        connection.execute(_CREATE_FOLD)
    return f"the journal's table {_FOLD_TABLE} was missing or damaged: rebuilt from the events"


_FOLD_TABLE = "folded"
_TABLE: tuple[str, tuple[object, ...]] = ("table", ())


def _shape(connection: sqlite3.Connection) -> dict[str, tuple[str, tuple[object, ...]]]:
    found = {}
    for kind, name in connection.execute(
        "SELECT type, name FROM sqlite_master WHERE type != 'index'"
    ).fetchall():
        columns = connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()
        found[name] = (kind, tuple(columns) if kind == "table" else ())
    return found


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit all writes of the block, or roll back; other programs cannot write meanwhile."""
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
