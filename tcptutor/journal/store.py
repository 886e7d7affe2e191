"""The SQLite file itself: opened, checked, moved aside when damaged; its errors in one line each."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tcptutor.errors import JournalError, refused
from tcptutor.journal import schema
from tcptutor.places import STATE_ELSEWHERE

BUSY_MS = 5000
"""How long to wait for another tcptutor that is writing."""


def open_store(path: Path) -> tuple[sqlite3.Connection, str]:
    """A connection to the journal in `path`, made if it is not there, and a notice (empty if all is well).

    A damaged file is moved aside and a new journal begun; the notice says so and where the old one is.
    Raises JournalError when the place cannot be written or the journal is of a newer version.
    """
    with errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connect(path), ""
    except sqlite3.OperationalError as error:  # cannot right now, as its parent class says "damaged"
        raise JournalError(_line(path, error)) from error
    except sqlite3.DatabaseError as error:
        reason = str(error)
    with errors(path):
        aside = _move_aside(path)
        return _connect(
            path
        ), f"the journal was damaged ({reason}): it is kept as {aside}, a new one was begun"


def open_memory() -> sqlite3.Connection:
    """A journal that lasts as long as the program, for when no file can be written."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(connection)
    return connection


@contextlib.contextmanager
def errors(path: Path) -> Iterator[None]:
    """Turns what SQLite and the file system raise into JournalError."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise JournalError(_line(path, error)) from error


def _connect(path: Path) -> sqlite3.Connection:
    # Autocommit: each statement is on the disk when it returns, unless BEGIN says otherwise.
    connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        # On a network file system WAL is refused; the rollback journal is slower and as safe.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _check(connection)
        schema.migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(str(verdict))


def _move_aside(path: Path) -> Path:
    stamp = datetime.now(UTC).astimezone().strftime("%Y%m%d-%H%M%S")
    aside = path.with_name(f"{path.stem}.damaged-{stamp}{path.suffix}")
    # The write-ahead log belongs to the damaged file: it may hold what can still be rescued.
    for ending in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
    return aside


def _line(path: Path, error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot write {path}: {refused(error, STATE_ELSEWHERE)}"
    reason = str(error)
    if "full" in reason:
        return f"the disk is full, {path} could not be written: free some space; what is on the screen stays"
    if "locked" in reason or "busy" in reason:
        return f"{path} is in use by another program: close the other tcptutor and try again"
    if "readonly" in reason or "unable to open" in reason:
        return f"{path} cannot be written ({reason}): {STATE_ELSEWHERE}"
    return f"the journal {path} failed: {reason}"
