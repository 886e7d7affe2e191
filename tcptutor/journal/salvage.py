"""Recovery of readable events from a damaged journal.

Events keep their serials and hashes: a lost event leaves a gap in the chain of hashes, which each start reports.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tcptutor.journal import schema
from tcptutor.journal.events import LONGEST, decode

MOST_BYTES = 1 << 30
"""Size of the largest damaged file that is read."""
_SELECT = "SELECT serial, CAST(data AS BLOB), CAST(hash AS BLOB) FROM events WHERE length(data) <= ?"


def carry_over(damaged: Path, connection: sqlite3.Connection) -> int:
    """Copy the events of the journal `damaged`, unless the new journal has some, and return their number.

    `damaged` is left unchanged.

    Raises:
        sqlite3.Error: The new journal cannot be written.
        OSError: The new journal cannot be written.
    """
    events: dict[int, tuple[int, bytes, bytes]] = {}
    with contextlib.suppress(sqlite3.Error, OSError, UnicodeDecodeError), _copied(damaged) as copy:
        # Read from both ends: each direction stops at an unreadable database page.
        for order in ("ASC", "DESC"):
            for row in _rows(copy, order):
                if row[0] in events:
                    break
                events[row[0]] = row
    with schema.transaction(connection):
        if connection.execute("SELECT 1 FROM events").fetchone():
            return 0  # another program has begun to use it
        connection.executemany(schema.ADD_EVENT, (events[serial] for serial in sorted(events)))
    return len(events)


@contextlib.contextmanager
def _copied(damaged: Path) -> Iterator[sqlite3.Connection]:
    """Open a copy of the journal and its write-ahead log: opening the original would change it.

    Raises:
        sqlite3.Error: The copy is no journal.
        OSError: The files cannot be copied.
    """
    files = [damaged.with_name(damaged.name + ending) for ending in ("", "-wal", "-journal")]
    present = [file for file in files if file.is_file()]
    if damaged not in present or sum(file.stat().st_size for file in present) > MOST_BYTES:
        raise FileNotFoundError
    with tempfile.TemporaryDirectory(prefix="tcptutor-journal-") as folder:
        for file in present:
            shutil.copyfile(file, Path(folder, file.name))
        with contextlib.closing(sqlite3.connect(Path(folder, damaged.name))) as copy:
            # Run no function or view of an untrusted file.
            copy.execute("PRAGMA trusted_schema = OFF")
            kinds = copy.execute("SELECT type FROM sqlite_master WHERE name = 'events'").fetchall()
            if kinds != [("table",)]:
                raise sqlite3.DatabaseError
            yield copy


def _rows(copy: sqlite3.Connection, order: str) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the readable events in that order, up to the first unreadable database page."""
    with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeDecodeError):
        for serial, data, hash in copy.execute(f"{_SELECT} ORDER BY serial {order}", (LONGEST,)):
            if not (isinstance(serial, int) and serial > 0 and isinstance(data, bytes)):
                continue
            if isinstance(hash, bytes) and len(hash) == 32 and decode(data) is not None:
                yield serial, data, hash
