"""What can still be read of a damaged journal, carried over to a new one.

Its events are taken as they are, with their serials and hashes: where some between them are lost the chain of hashes
has a gap, which is told at each start.
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
"""Of a damaged file; of a larger one nothing is taken."""
_SELECT = "SELECT serial, CAST(data AS BLOB), CAST(hash AS BLOB) FROM events WHERE length(data) <= ?"


def carry_over(damaged: Path, connection: sqlite3.Connection) -> int:
    """Put the events of the journal `damaged` into that of `connection`, which has none; how many they are.

    `damaged` stays as it is. Raises sqlite3.Error and OSError of the new journal alone.
    """
    events: dict[int, tuple[int, bytes, bytes]] = {}
    with contextlib.suppress(sqlite3.Error, OSError, UnicodeDecodeError), _copied(damaged) as copy:
        # From both ends: each way stops at a page that cannot be read.
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
    """A connection to a copy, with its write-ahead log: to open it would change it. Raises sqlite3.Error, OSError."""
    files = [damaged.with_name(damaged.name + ending) for ending in ("", "-wal", "-journal")]
    there = [file for file in files if file.is_file()]
    if damaged not in there or sum(file.stat().st_size for file in there) > MOST_BYTES:
        raise FileNotFoundError
    with tempfile.TemporaryDirectory(prefix="tcptutor-journal-") as folder:
        for file in there:
            shutil.copyfile(file, Path(folder, file.name))
        with contextlib.closing(sqlite3.connect(Path(folder, damaged.name))) as copy:
            # No function or view of a strange file is run.
            copy.execute("PRAGMA trusted_schema = OFF")
            kinds = copy.execute("SELECT type FROM sqlite_master WHERE name = 'events'").fetchall()
            if kinds != [("table",)]:
                raise sqlite3.DatabaseError
            yield copy


def _rows(copy: sqlite3.Connection, order: str) -> Iterator[tuple[int, bytes, bytes]]:
    """Events that can be read, in that order, up to a page that cannot be."""
    with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeDecodeError):
        for serial, data, hash in copy.execute(f"{_SELECT} ORDER BY serial {order}", (LONGEST,)):
            if not (isinstance(serial, int) and serial > 0 and isinstance(data, bytes)):
                continue
            if isinstance(hash, bytes) and len(hash) == 32 and decode(data) is not None:
                yield serial, data, hash
