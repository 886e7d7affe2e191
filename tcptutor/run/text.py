"""A run as JSON text, written and read in pieces: one call handles some thousand numbers, then other threads may run.

Since format 2 a table is an object with an array of numbers for each column. Format 1 had an array of rows.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from tcptutor.base.files import PIECE
from tcptutor.run.record import TABLES, Run
from tcptutor.run.tables import Table, rounded

REST = 4 << 20
"""Bytes of what is not in tables, at most: results, settings and sentences of a few hundred flows are a tenth of it."""
_KEYS = 1000
"""Members of an object that are looked at."""
_BRACKETS = 2_000_000
"""Brackets of a value, at most: an hour of one flow has two for each row of format 1."""
NUMBERS = 4096
"""How many of a column are written in one call. Read are those in PIECE bytes of text."""

_KINDS: dict[str, Any] = {"q": list[int], "b": list[bool | int], "d": list[float]}
"""What is in the text of a column, by its array's typecode."""
_FINE = re.compile(rb"\.\d{10}|e-")
"""A number with more digits than are written, or perhaps so."""
_IN_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BEFORE = rb"[ \t\r\n]*+"
_STRING = re.compile(_BEFORE + b"(" + _IN_STRING + b")", re.DOTALL)
_SCALAR = re.compile(_BEFORE + rb'([^\s,:\[\]{}"]++)')
_BRACKET = re.compile(_IN_STRING + rb"|[\[\]{}]", re.DOTALL)
_SEPARATOR = re.compile(_BEFORE + b"," + _BEFORE)
_ANY, _OPEN, _COLON, _AFTER, _CLOSE, _END = (
    re.compile(_BEFORE + b"(" + token + b")", re.DOTALL)
    for token in (b".", rb"\{", b":", b"[,}]", rb"\}", rb"\Z")
)

_run = msgspec.json.Decoder(Run)
_encode = msgspec.json.Encoder().encode


def write(run: Run) -> Iterator[bytes]:
    """The text of `run`, piece by piece."""
    lead = b"{"
    for name in run.__struct_fields__:
        yield lead + _encode(name) + b":"
        value = getattr(run, name)
        if isinstance(value, Table):
            yield from _write_table(value)
        else:
            yield _encode(value)
        lead = b","
    yield b"}"


def _write_table(table: Table[Any]) -> Iterator[bytes]:
    lead = b"{"
    for name in table.row.__struct_fields__:
        column = table.column(name)
        yield lead + _encode(name) + b":["
        for start in range(0, len(column), NUMBERS):
            yield (b"," if start else b"") + _numbers(column[start : start + NUMBERS])
        yield b"]"
        lead = b","
    yield b"}"


def _numbers(column: array[Any]) -> bytes:
    text = _encode(column.tolist())
    if column.typecode == "d" and _FINE.search(text):
        text = _encode(rounded(column))
    return text[1:-1]


def _kind(table: Table[Any], column: str) -> Any:
    return list[float | None] if table.may_lack(column) else _KINDS[table.column(column).typecode]


class _Allowance:
    """How many numbers may still be read."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, count: int) -> None:
        """Raises ValueError when these are too many."""
        self._left -= count
        if self._left < 0:
            raise ValueError("more samples than a file of its size has")

    def counted(self, numbers: list[Any]) -> list[Any]:
        self.take(len(numbers))
        return numbers


class RunText:
    """The text of a run, with its parts found and none of them read yet.

    Raises ValueError for text that is no JSON object.
    """

    def __init__(self, text: bytearray) -> None:
        self._text, self._at = text, 0
        self._tables: dict[str, dict[str, slice] | slice] = {}
        rest: dict[str, msgspec.Raw] = {}
        room = REST
        for name in self._members():
            if name not in TABLES:
                where = self._value()
                room -= where.stop - where.start
                if room < 0:
                    raise ValueError(f"more than {REST >> 20} MiB beside its tables")
                rest[name] = msgspec.Raw(bytes(text[where]))
            elif self._is(b"{"):
                self._tables[name] = {column: self._value() for column in self._members()}
            else:
                self._tables[name] = self._value()
        self._take(_END)
        self.rest = _encode(rest)
        """What is not in tables, as a JSON object."""

    def read(self, most: int = sys.maxsize) -> Run:
        """The run, of `most` numbers in tables. Raises ValueError, OverflowError, or an error of msgspec, for what is
        not one."""
        run = _run.decode(self.rest)
        left = _Allowance(most)
        for name, where in self._tables.items():
            table = TABLES[name]()
            if isinstance(where, slice):
                width = len(table.row.__struct_fields__)
                for rows in self._rows(where, list[table.row]):  # type: ignore[name-defined]
                    left.take(width * len(rows))
                    table.extend(rows)
            else:
                columns = [column for column in table.row.__struct_fields__ if column in where]
                table.take_columns(
                    {
                        column: map(left.counted, self._pieces(where[column], _kind(table, column)))
                        for column in columns
                    }
                )
            setattr(run, name, table)
        return run

    def _rows(self, where: slice, kind: Any) -> Iterator[list[Any]]:
        """The array of rows that stands there, which are arrays of numbers, a piece at a time."""
        text, at, end = self._text, where.start + 1, where.stop - 1
        if text[where.start] != ord("["):
            raise ValueError(f"no array at byte {where.start}")
        while at < end:
            cut = end if end - at <= PIECE else text.rfind(b"]", at, at + PIECE) + 1
            if cut <= 0:
                raise ValueError(f"no row at byte {at}")
            yield msgspec.json.decode(b"[" + text[at:cut] + b"]", type=kind)
            at = cut
            if at < end and (after := _SEPARATOR.match(text, at, end)):
                at = after.end()

    def _pieces(self, where: slice, kind: Any) -> Iterator[list[Any]]:
        """The array of numbers that stands there, a piece at a time."""
        text, at, end = self._text, where.start + 1, where.stop - 1
        if text[where.start] != ord("["):
            raise ValueError(f"no column at byte {where.start}")
        while at < end:
            cut = end if end - at <= PIECE else text.rfind(b",", at, at + PIECE)
            if cut < 0:
                raise ValueError(f"no number at byte {at}")
            yield msgspec.json.decode(b"[" + text[at:cut] + b"]", type=kind)
            at = cut + 1

    def _members(self) -> Iterator[str]:
        """The keys of the object that begins here. Who takes one takes its value before the next."""
        self._take(_OPEN)
        if self._is(b"}"):
            self._take(_CLOSE)
            return
        more, left = True, _KEYS
        while more:
            if not (left := left - 1):
                raise ValueError(f"an object of more than {_KEYS} members")
            key = msgspec.json.decode(self._text[self._take(_STRING)], type=str)
            self._take(_COLON)
            yield key
            more = self._text[self._take(_AFTER)] == b","

    def _value(self) -> slice:
        """Where the value that begins here stands."""
        if self._is(b'"'):
            return self._take(_STRING)
        if not (self._is(b"[") or self._is(b"{")):
            return self._take(_SCALAR)
        start = self._take(_ANY).start
        end = self._text.find(b"]", start)
        # Most are long arrays of numbers, and `find` is fifty times as fast as a pattern.
        if end < 0 or any(self._text.find(inner, start + 1, end) >= 0 for inner in (b"[", b"{", b'"')):
            end = self._closing(start)
        self._at = end + 1
        return slice(start, end + 1)

    def _closing(self, start: int) -> int:
        """Where the bracket is that closes the one at `start`."""
        depth = 0
        for found in islice(_BRACKET.finditer(self._text, start), _BRACKETS):
            depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(found[0], 0)
            if depth == 0:
                return found.start()
        raise ValueError(f"no end of what begins at byte {start}, or too many brackets in it")

    def _is(self, token: bytes) -> bool:
        found = _ANY.match(self._text, self._at)
        return found is not None and found[1] == token

    def _take(self, pattern: re.Pattern[bytes]) -> slice:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError(f"malformed at byte {self._at}")
        self._at = found.end()
        return slice(*found.span(1))
