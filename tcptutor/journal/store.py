"""The SQLite file itself: opened, checked, moved aside when damaged, its rows; its errors in one line each."""

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
from tcptutor.journal.fold import Folded

PATIENCE = 5.0
"""Seconds that a command waits for another program that is writing."""
_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*\\(?:u|b|f|r)")
"""In JSON, of a character that is not printable; printable ones, tabs and newlines msgspec does not write so."""
_MOST_FOLDED = 64 << 20
"""Bytes of the events' fold."""


def open_store(path: Path, patience: float = PATIENCE) -> tuple[sqlite3.Connection, str]:
    """A connection to the journal in `path`, made if it is not there, and a notice (empty if all is well).

    A damaged file is moved aside and a new journal begun with what can be read of it; the notice says so and where the
    old one is. `patience`: seconds that each statement waits for another program that is writing.
    Raises JournalError when the place cannot be written or the journal is of a newer version.
    """
    with errors(path):
        files.make_private(path.parent)
        reason, found = _not_a_file(path), _identity(path)
    if not reason:
        try:
            return _connect(path, patience)
        except OSError as error:
            raise JournalError(_line(path, error)) from error
        except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite quotes names as they stand
            if _is_passing(error):
                raise JournalError(_line(path, error)) from error
            reason = str(error)
    with errors(path):
        if _identity(path) != found:  # another program has done it meanwhile
            return _connect(path, patience)
        aside = _move_aside(path)
        connection, _ = _connect(path, patience)
        carried = salvage.carry_over(aside, connection)
    told = f"{carried} of its events were carried over to a new one" if carried else "a new one was begun"
    return connection, f"the journal was damaged ({escaped(reason)[:200]}): it is kept as {aside}, {told}"


_PASSING = frozenset(
    {
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS,
    }
)  # fmt: skip
"""Codes of errors that say nothing of the file: it cannot be used right now."""


def _is_passing(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # Python's own
        return isinstance(error, sqlite3.OperationalError)
    return code & 0xFF in _PASSING and code != sqlite3.SQLITE_IOERR_SHORT_READ


def _not_a_file(path: Path) -> str:
    """Why SQLite cannot be given what stands there; empty when it can. Raises OSError."""
    for ending in ("", *_BESIDE):
        each = path.with_name(path.name + ending)
        try:
            mode = each.stat().st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            return f"{each.name} leads to itself"
        if not stat.S_ISREG(mode):
            return f"{each.name} is not a regular file"
    return ""


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells the file from another one that takes its name; None for none."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def open_memory() -> sqlite3.Connection:
    """A journal that lasts as long as the program, for when no file can be written."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(connection, lambda _version: None)
    return connection


def events_after(connection: sqlite3.Connection, serial: int) -> Iterator[StoredEvent]:
    """The events after that one, in their order."""
    rows = connection.execute(
        "SELECT serial, CASE WHEN length(data) <= ? THEN data ELSE x'' END, hash FROM events"
        " WHERE serial > ? ORDER BY serial",
        (LONGEST, serial),
    )
    return map(StoredEvent._make, rows)


def runs_back(connection: sqlite3.Connection) -> list[bytes]:
    """The data of all events about runs, the last one first.

    All of it at once: while a statement is open, nothing can be written after what another program has written.
    """
    rows = connection.execute(
        "SELECT data FROM events WHERE substr(data, 1, 12) = ? AND length(data) <= ? ORDER BY serial DESC",
        (b'{"kind":"run', LONGEST),
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
    row = connection.execute(
        "SELECT data, seal FROM folded WHERE version = ? AND length(data) <= ?", (fold.VERSION, _MOST_FOLDED)
    ).fetchone()
    if row is None:
        return Folded()
    data, seal = row
    try:
        kept = msgspec.json.decode(data, type=Folded)
    except UNREADABLE:
        return Folded()
    # Ours has escapes in the place of what is not printable, as events have once they are read.
    if not is_printable(bytes(data).decode("utf-8", "replace"), lines=True) or _ESCAPE.search(data):
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
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        raise JournalError(_line(path, error)) from error


def _connect(path: Path, patience: float) -> tuple[sqlite3.Connection, str]:
    """The journal, and a notice where something of it had to be mended. Raises sqlite3.Error, OSError."""
    was_empty = path.is_file() and path.stat().st_size == 0
    # Autocommit: each statement is on the disk when it returns, unless BEGIN says otherwise.
    _make_private(path)
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}")
        # On a network file system WAL is refused; the rollback journal is slower and as safe.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.text_factory = _text
        _check(connection)
        made = schema.migrate(connection, lambda version: _copy(path, version))
        mended = schema.mend(connection)
    except BaseException:
        connection.close()
        raise
    notice = f"the journal {path} was empty: a new one was begun" if was_empty and made else mended
    return connection, notice


def _text(data: bytes) -> str:
    """A letter that the disk has changed is no reason to lose the others."""
    return data.decode("utf-8", "replace")


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
    copy = labeled_name(path, f"version-{version}")
    half = copy.with_name(copy.name + ".part")
    _make_private(half)
    try:
        # A connection of its own: it reads what is stored, while ours holds the lock for what comes.
        with (
            contextlib.closing(sqlite3.connect(path)) as old,
            contextlib.closing(sqlite3.connect(half)) as new,
        ):
            old.backup(new)
        half.replace(copy)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


_BESIDE = ("-wal", "-shm", "-journal")
"""Ends of the names of what SQLite keeps beside its file."""


def _move_aside(path: Path) -> Path:
    aside = labeled_name(path, "damaged")
    # The write-ahead log belongs to the damaged file: it may hold what can still be rescued.
    for ending in ("", *_BESIDE):
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
