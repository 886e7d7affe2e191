"""The journal's SQLite file: opening, checking, replacing a damaged file, its rows and its errors."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tcptutor.base import files
from tcptutor.base.errors import JournalError, refused
from tcptutor.base.files import labeled_name
from tcptutor.base.places import STATE_ELSEWHERE
from tcptutor.base.printable import escaped, is_printable
from tcptutor.journal import fold, salvage, schema
from tcptutor.journal.events import LONGEST, UNREADABLE, StoredEvent, link
from tcptutor.journal.fold import JournalFold

PATIENCE = 5.0
"""Seconds that a command waits for other writers."""
_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*\\(?:u|b|f|r)")
"""A JSON escape of an unprintable character; msgspec writes printable characters, tabs and newlines otherwise."""
_MOST_FOLD_BYTES = 64 << 20
"""Bytes of the largest saved fold."""


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
        carried = salvage.carry_over(aside, connection)
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
    schema.migrate(connection, lambda _version: None)
    return connection


def events_after(connection: sqlite3.Connection, serial: int) -> Iterator[StoredEvent]:
    """Yield the events after `serial`, in order."""
    rows = connection.execute(
        "SELECT serial, CASE WHEN length(data) <= ? THEN data ELSE x'' END, hash FROM events"
        " WHERE serial > ? ORDER BY serial",
        (LONGEST, serial),
    )
    return map(StoredEvent._make, rows)


def run_events(connection: sqlite3.Connection) -> list[bytes]:
    """Return the data of all events about runs, the latest first.

    The list is read at once: an open statement would block our writes after other programs' writes.
    """
    rows = connection.execute(
        "SELECT data FROM events WHERE substr(data, 1, 12) = ? AND length(data) <= ? ORDER BY serial DESC",
        (b'{"kind":"run', LONGEST),
    )
    return [data for (data,) in rows]


def first_hash(connection: sqlite3.Connection) -> bytes:
    """Return the hash of the first event; empty for an empty journal."""
    row = connection.execute("SELECT hash FROM events WHERE serial = 1").fetchone()
    return bytes(row[0]) if row else b""


def add_event(connection: sqlite3.Connection, stored: StoredEvent) -> None:
    connection.execute(schema.ADD_EVENT, stored)


def load_fold(connection: sqlite3.Connection) -> JournalFold:
    """Return the saved fold of the events; empty if it is missing, damaged or of other events."""
    row = connection.execute(
        "SELECT data, seal FROM folded WHERE version = ? AND length(data) <= ?",
        (fold.VERSION, _MOST_FOLD_BYTES),
    ).fetchone()
    if row is None:
        return JournalFold()
    data, seal = row
    try:
        saved = msgspec.json.decode(data, type=JournalFold)
    except UNREADABLE:
        return JournalFold()
    # A fold of decoded events has escapes in place of unprintable characters.
    if not is_printable(bytes(data).decode("utf-8", "replace"), lines=True) or _ESCAPE.search(data):
        return JournalFold()
    last = connection.execute("SELECT hash FROM events WHERE serial = ?", (saved.serial,)).fetchone()
    return saved if last == (saved.hash,) and seal == link(saved.hash, data) else JournalFold()


def save_fold(connection: sqlite3.Connection, folded: JournalFold) -> None:
    """Save the fold next to the events, and replace the earlier fold."""
    data = msgspec.json.encode(folded)
    connection.execute(
        "INSERT OR REPLACE INTO folded VALUES (1, ?, ?, ?)", (fold.VERSION, data, link(folded.hash, data))
    )


@contextlib.contextmanager
def errors(path: Path) -> Iterator[None]:
    """Turn exceptions of SQLite and the file system into JournalError."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise JournalError(_message(path, error)) from error


def _connect(path: Path, patience: float) -> tuple[sqlite3.Connection, str]:
    """Return the connection, and a notice where the file had to be repaired. Raises sqlite3.Error, OSError."""
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
        _check(connection)
        is_new = schema.migrate(connection, lambda version: _copy(path, version))
        repair = schema.repair(connection)
    except BaseException:
        connection.close()
        raise
    notice = f"the journal {path} was empty: a new one was begun" if was_empty and is_new else repair
    return connection, notice


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


def _check(connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(str(verdict))


def _copy(path: Path, version: int) -> None:
    """Copy a journal of an older version, so that the older tcptutor can still open it."""
    copy = labeled_name(path, f"version-{version}")
    half = copy.with_name(copy.name + ".part")
    _make_private(half)
    try:
        # A second connection reads the stored version while ours holds the write lock.
        with (
            contextlib.closing(sqlite3.connect(path)) as old,
            contextlib.closing(sqlite3.connect(half)) as new,
        ):
            old.backup(new)
        half.replace(copy)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


_COMPANIONS = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's companion files."""


def _set_aside(path: Path) -> Path:
    aside = labeled_name(path, "damaged")
    # The write-ahead log belongs to the damaged file: it may hold events that can still be rescued.
    for ending in ("", *_COMPANIONS):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
    return aside


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
