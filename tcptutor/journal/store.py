"""The SQLite file itself: opened, checked, moved aside when damaged, its rows; its errors in one line each."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tcptutor import files
from tcptutor.errors import JournalError, refused
from tcptutor.journal import fold, schema
from tcptutor.journal.events import StoredEvent, link
from tcptutor.journal.fold import Folded
from tcptutor.places import STATE_ELSEWHERE

PATIENCE = 5.0
"""Seconds that a command waits for another program that is writing."""


def open_store(path: Path, patience: float = PATIENCE) -> tuple[sqlite3.Connection, str]:
    """A connection to the journal in `path`, made if it is not there, and a notice (empty if all is well).

    patience: seconds that each statement waits for another program that is writing.

    A damaged file is moved aside and a new journal begun; the notice says so and where the old one is.
    Raises JournalError when the place cannot be written or the journal is of a newer version.
    """
    with errors(path):
        files.make_private(path.parent)
    try:
        return _connect(path, patience), ""
    except (
        sqlite3.OperationalError,
        OSError,
    ) as error:  # cannot right now; a DatabaseError else says "damaged"
        raise JournalError(_line(path, error)) from error
    except sqlite3.DatabaseError as error:
        reason = str(error)
    with errors(path):
        aside = _move_aside(path)
        return _connect(
            path, patience
        ), f"the journal was damaged ({reason}): it is kept as {aside}, a new one was begun"


def open_memory() -> sqlite3.Connection:
    """A journal that lasts as long as the program, for when no file can be written."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(connection, lambda _version: None)
    return connection


def events_after(connection: sqlite3.Connection, serial: int) -> Iterator[StoredEvent]:
    """The events after that one, in their order."""
    rows = connection.execute(
        "SELECT serial, data, hash FROM events WHERE serial > ? ORDER BY serial", (serial,)
    )
    return map(StoredEvent._make, rows)


def runs_back(connection: sqlite3.Connection) -> list[bytes]:
    """The data of all events about runs, the last one first.

    All of it at once: while a statement is open, nothing can be written after what another program has written.
    """
    rows = connection.execute(
        "SELECT data FROM events WHERE substr(data, 1, 12) = ? ORDER BY serial DESC", (b'{"kind":"run',)
    )
    return [data for (data,) in rows]


def first_hash(connection: sqlite3.Connection) -> bytes:
    """That of the first event; nothing where there is none."""
    row = connection.execute("SELECT hash FROM events WHERE serial = 1").fetchone()
    return bytes(row[0]) if row else b""


def add_event(connection: sqlite3.Connection, stored: StoredEvent) -> None:
    connection.execute(schema.ADD_EVENT, stored)


def kept_fold(connection: sqlite3.Connection) -> Folded:
    """What was kept of the events' fold; that of none where nothing was, or where it is not theirs."""
    row = connection.execute("SELECT data, seal FROM folded WHERE version = ?", (fold.VERSION,)).fetchone()
    if row is None:
        return Folded()
    data, seal = row
    try:
        kept = msgspec.json.decode(data, type=Folded)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Folded()
    last = connection.execute("SELECT hash FROM events WHERE serial = ?", (kept.serial,)).fetchone()
    return kept if last == (kept.hash,) and seal == link(kept.hash, data) else Folded()


def keep_fold(connection: sqlite3.Connection, folded: Folded) -> None:
    """Keep it beside the events, in place of an earlier one."""
    data = msgspec.json.encode(folded)
    connection.execute(
        "INSERT OR REPLACE INTO folded VALUES (1, ?, ?, ?)", (fold.VERSION, data, link(folded.hash, data))
    )


@contextlib.contextmanager
def errors(path: Path) -> Iterator[None]:
    """Turns what SQLite and the file system raise into JournalError."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise JournalError(_line(path, error)) from error


def _connect(path: Path, patience: float) -> sqlite3.Connection:
    # Autocommit: each statement is on the disk when it returns, unless BEGIN says otherwise.
    _make_private(path)
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}")
        # On a network file system WAL is refused; the rollback journal is slower and as safe.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _check(connection)
        schema.migrate(connection, lambda version: _copy(path, version))
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """What the student answered is nobody else's business, also where an earlier version let others read it.

    SQLite gives its logs the mode of the file. What cannot be done here, SQLite will say.
    """
    with contextlib.suppress(OSError):
        # One that is there is not opened: closing it would take SQLite's locks of this process away.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, files.PRIVATE))
    for ending in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            file = path.with_name(path.name + ending)
            if stat.S_ISREG(mode := file.stat().st_mode) and stat.S_IMODE(mode) & 0o077:
                file.chmod(files.PRIVATE)


def _check(connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(str(verdict))


def _copy(path: Path, version: int) -> None:
    """Keep a journal of an older version as it is, beside the one it becomes: what wrote it can open it again."""
    beside = _beside(path, f"version-{version}")
    half = beside.with_name(beside.name + ".part")
    _make_private(half)
    try:
        # A connection of its own: it reads what is stored, while ours holds the lock for what comes.
        with (
            contextlib.closing(sqlite3.connect(path)) as old,
            contextlib.closing(sqlite3.connect(half)) as new,
        ):
            old.backup(new)
        half.replace(beside)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def _move_aside(path: Path) -> Path:
    aside = _beside(path, "damaged")
    # The write-ahead log belongs to the damaged file: it may hold what can still be rescued.
    for ending in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
    return aside


def _beside(path: Path, what: str) -> Path:
    stamp = datetime.now(UTC).astimezone().strftime("%Y%m%d-%H%M%S")
    return path.with_name(f"{path.stem}.{what}-{stamp}{path.suffix}")


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
