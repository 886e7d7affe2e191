"""Ways in which a file can be damaged: by a disk, by a program that was cut short, by somebody."""

from __future__ import annotations

import json
import os
import random
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], None]
"""Done to a file that is good."""


def _replaced(by: Damage) -> Damage:
    def damage(path: Path) -> None:
        path.unlink()
        by(path)

    return damage


def _changed(how: Callable[[bytes], bytes]) -> Damage:
    return lambda path: _write(path, how(path.read_bytes()))


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _flipped(data: bytes) -> bytes:
    chance, changed = random.Random(1), bytearray(data)
    for _ in range(200):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _middle_of_zeros(data: bytes) -> bytes:
    third = len(data) // 3
    return data[:third] + bytes(third) + data[2 * third :]


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 << 30)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as there:
        # The name of a socket has 107 bytes at most.
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            there.bind(path.name)
        finally:
            os.chdir(here)


DAMAGES: dict[str, Damage] = {
    "empty": _changed(lambda _: b""),
    "zeros": _changed(lambda data: bytes(len(data))),
    "zeros in the middle": _changed(_middle_of_zeros),
    "half": _changed(lambda data: data[: len(data) // 2]),
    "ten bytes less": _changed(lambda data: data[:-10]),
    "flipped bits": _changed(_flipped),
    "random bytes": _changed(lambda data: random.Random(2).randbytes(len(data))),
    "text": _changed(lambda _: b"what somebody has written with an editor\n" * 200),
    "brackets": _changed(lambda _: b"[" * 100_000),
    "digits": _changed(lambda _: b'{"format_version": ' + b"9" * 5000 + b"}"),
    "other JSON": _changed(lambda _: b'{"format_version": 1, "benches": {"a": 1}, "board": 3}'),
    "not UTF-8": _changed(lambda _: b'{"format_version": 1, "benches": "\xff\xfe"}'),
    "huge": _huge,
    "a folder": _replaced(Path.mkdir),
    "a pipe": _replaced(os.mkfifo),
    "a socket": _replaced(_socket),
    "a loop": _replaced(lambda path: path.symlink_to(path.name)),
    "a device": _replaced(lambda path: path.symlink_to("/dev/zero")),
}  # fmt: skip


def _sql(*statements: str) -> Damage:
    def damage(path: Path) -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        connection.close()

    return damage


JOURNAL_DAMAGES: dict[str, Damage] = {
    **DAMAGES,
    "no table of events": _sql("DROP TABLE events"),
    "a view": _sql("CREATE VIEW notes AS SELECT 1 AS version"),
    "a column less": _sql("ALTER TABLE events DROP COLUMN hash"),
    "events without end": _sql(
        "DROP TABLE events",
        "CREATE VIEW events AS WITH RECURSIVE n(serial) AS (SELECT 1 UNION ALL SELECT serial + 1 FROM n)"
        " SELECT serial, x'00' AS data, x'00' AS hash FROM n",
    ),
    "a trigger": _sql("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END"),
    "tables but no version": _sql("PRAGMA user_version = 0"),
    "a version that was never released": _sql("PRAGMA user_version = 1"),
    "a version below zero": _sql("PRAGMA user_version = -3"),
    "a journal beside that is a folder": lambda path: path.with_name(f"{path.name}-wal").mkdir(),
    "a log of zeros": lambda path: path.with_name(f"{path.name}-wal").write_bytes(bytes(5000)) and None,
}


def _second(event: dict[str, object]) -> Damage:
    """Another event in the place of the second."""
    return _sql(f"UPDATE events SET data = CAST('{json.dumps(event)}' AS BLOB) WHERE serial = 2")


CHANGED_EVENTS: dict[str, Damage] = {
    "another event": _sql("UPDATE events SET data = x'7b7d' WHERE serial = 2"),
    "text that is not UTF-8": _sql("UPDATE events SET data = x'22fffe22' WHERE serial = 2"),
    "brackets": _sql(f"UPDATE events SET data = CAST('{'[' * 50_000}' AS BLOB) WHERE serial = 2"),
    "a huge event": _sql("UPDATE events SET data = zeroblob(200000000) WHERE serial = 2"),
    "wrong types": _second({"kind": "visited", "at": 3, "module": [], "step": {}}),
    "a wrong hash": _sql("UPDATE events SET hash = x'00' WHERE serial = 2"),
    "a number too large": _second(
        {"kind": "hinted", "at": "", "module": "m", "step": "s", "activity": "q", "level": 10**4000}
    ),
    "an event less": _sql("DELETE FROM events WHERE serial = 2"),
}  # fmt: skip
"""Of a journal that is whole as a database: the chain of its events is broken."""
