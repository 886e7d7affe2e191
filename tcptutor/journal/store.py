"""The journal's SQLite file: opening, checking, replacing a damaged file, its rows and its errors.

A single table `events` holds a row per event; rows are only ever added.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from tcptutor.base import files
from tcptutor.base.errors import JournalError, refused
from tcptutor.base.files import labeled_name
from tcptutor.base.places import STATE_ELSEWHERE
from tcptutor.base.printable import escaped
from tcptutor.journal.events import LONGEST_ROW, StoredEvent, decode, decode_carried

PATIENCE = 5.0
"""Seconds that a command waits for other writers."""
RUN_EVENT = b'{"kind":"run'
"""Begin of the data of every event about a run."""
VERSION = 3
"""Version of the tables (`PRAGMA user_version`)."""
# serial counts from 1 without gaps; data is JSON, and hash is what events.link returns.
_CREATE = "CREATE TABLE events (serial INTEGER PRIMARY KEY, data BLOB NOT NULL, hash BLOB NOT NULL) STRICT"


def open_store(path: Path, patience: float = PATIENCE) -> tuple[sqlite3.Connection, str]:
    """Open the journal at `path`, or create it.

    A damaged file is renamed, and a new journal begins with every event that can still be read.

    Args:
        path: The journal file.
        patience: Seconds that each statement waits for other writers.

    Returns:
        The connection, and a notice about a damaged file (empty if all is well).

    Raises:
        JournalError: The place cannot be written, or the journal is of a newer version.
    """
    with errors(path):
        files.make_private(path.parent)
        reason, found = _not_a_file(path), _identity(path)
    if not reason:
        try:
            return _connect(path, patience)
        except OSError as error:
            raise JournalError(_message(path, error)) from error
        except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite quotes names unescaped
            if _is_passing(error):
                raise JournalError(_message(path, error)) from error
            reason = str(error)
    with errors(path):
        if _identity(path) != found:  # another program has replaced the file meanwhile
            return _connect(path, patience)
        aside = _set_aside(path)
        connection, _ = _connect(path, patience)
        carried = _carry_over(aside, connection)
    outcome = f"{carried} of its events were carried over to a new one" if carried else "a new one was begun"
    return connection, f"the journal was damaged ({escaped(reason)[:200]}): it is kept as {aside}, {outcome}"


_PASSING = frozenset(
    {
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS,
    }
)  # fmt: skip
"""Error codes that say the file cannot be used now, not that it is damaged."""


def _is_passing(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by Python's module, not by SQLite
        return isinstance(error, sqlite3.OperationalError)
    return code & 0xFF in _PASSING and code != sqlite3.SQLITE_IOERR_SHORT_READ


def _not_a_file(path: Path) -> str:
    """Return why SQLite cannot open `path` or its companion files; empty when it can. Raises OSError."""
    for ending in ("", *_COMPANIONS):
        each = path.with_name(path.name + ending)
        try:
            mode = each.stat().st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            return f"{each.name} is a link to itself"
        if not stat.S_ISREG(mode):
            return f"{each.name} is not a regular file"
    return ""


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def open_memory() -> sqlite3.Connection:
    """Open a journal in memory, for when no file can be written."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _prepare(connection)
    return connection


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


def last_hash(connection: sqlite3.Connection) -> bytes:
    """Return the hash of the last row; empty without a row."""
    row = connection.execute("SELECT hash FROM events ORDER BY serial DESC LIMIT 1").fetchone()
    return row[0] if row else b""


def events_after(connection: sqlite3.Connection, serial: int) -> Iterator[StoredEvent]:
    """Yield the events after `serial`, in order."""
    rows = connection.execute(
        "SELECT serial, CASE WHEN length(data) <= ? THEN data ELSE x'' END, hash FROM events"
        " WHERE serial > ? ORDER BY serial",
        (LONGEST_ROW, serial),
    )
    return map(StoredEvent._make, rows)


def run_events(connection: sqlite3.Connection) -> list[bytes]:
    """Return the data of all events about this machine's runs, the latest first.

    The list is read at once: an open statement would block our writes after other programs' writes.
    """
    rows = connection.execute(
        "SELECT data FROM events WHERE substr(data, 1, 12) = ? AND length(data) <= ? ORDER BY serial DESC",
        (RUN_EVENT, LONGEST_ROW),
    )
    return [data for (data,) in rows]


def add_events(connection: sqlite3.Connection, events: Iterable[StoredEvent]) -> None:
    connection.executemany("INSERT INTO events VALUES (?, ?, ?)", events)


@contextlib.contextmanager
def errors(path: Path) -> Iterator[None]:
    """Turn exceptions of SQLite and the file system into JournalError."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise JournalError(_message(path, error)) from error


def _connect(path: Path, patience: float) -> tuple[sqlite3.Connection, str]:
    """Return the connection, and a notice about an empty file. Raises sqlite3.Error, OSError, JournalError."""
    was_empty = path.is_file() and path.stat().st_size == 0
    # Autocommit: each statement is on the disk when it returns, unless BEGIN says otherwise.
    _make_private(path)
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}")
        # A network file system refuses WAL; the rollback journal is slower and as safe.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.text_factory = _text
        is_new = _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection, f"the journal {path} was empty: a new one was begun" if was_empty and is_new else ""


def _prepare(connection: sqlite3.Connection) -> bool:
    """Create the table in a new file, check any other file, and return whether the file is new.

    Raises:
        JournalError: A newer tcptutor wrote the journal.
        sqlite3.DatabaseError: The file is damaged, or its tables are not a journal's.
    """
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(str(verdict))
    is_new = False
    if _version(connection) == 0:
        with transaction(connection):
            # Read the version again under the lock: another tcptutor may have created the table just now.
            if is_new := _version(connection) == 0:
                connection.execute(_CREATE)
                connection.execute(f"PRAGMA user_version = {VERSION}")
    if (version := _version(connection)) > VERSION:
        raise JournalError(
            f"the journal was written by a newer tcptutor (version {version}, this one knows {VERSION}): "
            "update tcptutor to open it"
        )
    if version < VERSION:
        raise sqlite3.DatabaseError(f"version {version} was never released")
    kinds = dict(connection.execute("SELECT name, type FROM sqlite_master WHERE type != 'index'"))
    columns = [row[1:] for row in connection.execute("PRAGMA table_xinfo(events)")]
    # A view or trigger would change what we read and write.
    if any(kind != "table" for kind in kinds.values()) or columns != _COLUMNS:
        raise sqlite3.DatabaseError("its tables are not those of a journal")
    return is_new


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


_COLUMNS = [
    ("serial", "INTEGER", 0, None, 1, 0),
    ("data", "BLOB", 1, None, 0, 0),
    ("hash", "BLOB", 1, None, 0, 0),
]
"""Name, type, not null, default, primary key and hidden, as `PRAGMA table_xinfo` returns them."""


def _text(data: bytes) -> str:
    """Decode text with replacement characters: a corrupted letter is no reason to lose the others."""
    return data.decode("utf-8", "replace")


def _make_private(path: Path) -> None:
    """Keep the student's answers private, also where an earlier version let others read the file.

    SQLite gives its logs the mode of the file, and reports any problem that is ignored here.
    """
    with contextlib.suppress(OSError):
        # An existing file is not opened: closing it would release this process's SQLite locks.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, files.PRIVATE))
    for ending in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            file = path.with_name(path.name + ending)
            if stat.S_ISREG(mode := file.stat().st_mode) and stat.S_IMODE(mode) & 0o077:
                file.chmod(files.PRIVATE)


_COMPANIONS = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's companion files."""


def _set_aside(path: Path) -> Path:
    aside = labeled_name(path, "damaged")
    # The write-ahead log belongs to the damaged file: it may hold events that can still be rescued.
    for ending in ("", *_COMPANIONS):
        each = path.with_name(path.name + ending)
        # SQLite must not open a folder or pipe next to the damaged file.
        usable = each.is_file() or not ending
        with contextlib.suppress(FileNotFoundError):
            each.rename(aside.with_name(aside.name + ending + ("" if usable else ".damaged")))
    return aside


def _carry_over(damaged: Path, connection: sqlite3.Connection) -> int:
    """Copy the readable events of the journal `damaged`, unless the new journal has some, and return their number.

    Events keep serials and hashes, so a lost event leaves a gap in the chain, which each start reports. Raises
    sqlite3.Error when the new journal cannot be written.
    """
    events: dict[int, StoredEvent] = {}
    # Opened read-only, so that SQLite leaves the damaged file and its write-ahead log as they are.
    source = f"file:{quote(str(damaged))}?mode=ro" if damaged.is_file() else ":memory:"
    with (
        contextlib.suppress(sqlite3.Error, UnicodeDecodeError),
        contextlib.closing(sqlite3.connect(source, uri=True)) as old,
    ):
        old.execute("PRAGMA trusted_schema = OFF")  # run no function of an untrusted file
        if old.execute("SELECT type FROM sqlite_master WHERE name = 'events'").fetchall() == [("table",)]:
            # Read from both ends: each direction stops at an unreadable database page.
            for order in ("ASC", "DESC"):
                for event in _readable_events(old, order):
                    if event.serial in events:
                        break
                    events[event.serial] = event
    with transaction(connection):
        if connection.execute("SELECT 1 FROM events").fetchone():
            return 0  # another program has begun to use it
        add_events(connection, (events[serial] for serial in sorted(events)))
    return len(events)


def _readable_events(old: sqlite3.Connection, order: str) -> Iterator[StoredEvent]:
    select = "SELECT serial, CAST(data AS BLOB), CAST(hash AS BLOB) FROM events WHERE length(data) <= ?"
    with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeDecodeError):
        for serial, data, hash in old.execute(f"{select} ORDER BY serial {order}", (LONGEST_ROW,)):
            if not (isinstance(serial, int) and serial > 0 and isinstance(data, bytes)):
                continue
            is_readable = decode(data) is not None or decode_carried(data) is not None
            if isinstance(hash, bytes) and len(hash) == 32 and is_readable:
                yield StoredEvent(serial, data, hash)


def _message(path: Path, error: Exception) -> str:
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
