"""The tables, as a list of migrations: entry N takes a journal of version N to N + 1 (`PRAGMA user_version`).

An entry that was released is never edited; a change of the tables is a new entry at the end.
Times are wall-clock, ISO 8601 with zone.
"""

from __future__ import annotations

import sqlite3

from tcptutor.errors import JournalError

MIGRATIONS: tuple[tuple[str, ...], ...] = (
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
)
VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables to VERSION, each migration whole or not at all.

    Raises JournalError for a journal that a newer tcptutor wrote.
    """
    while (version := _version(connection)) < VERSION:
        # The lock before the second look: another tcptutor may be migrating the same file right now.
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _version(connection) == version:
                for statement in MIGRATIONS[version]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    if version > VERSION:
        raise JournalError(
            f"the journal was written by a newer tcptutor (version {version}, this one knows {VERSION}): "
            "update tcptutor to open it"
        )


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
