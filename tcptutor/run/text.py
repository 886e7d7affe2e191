"""A run as JSON text, written and read in pieces of some thousand numbers, so that other threads can run in between.

Since format 2 a table is an object with an array of numbers per column. Format 1 had an array of rows.
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

MAX_REST = 4 << 20
"""Most bytes outside of tables: results, settings and sentences of a few hundred flows take a tenth of it."""
_MAX_KEYS = 1000
"""Most members of an object."""
_MAX_BRACKETS = 2_000_000
"""Most brackets of a value: an hour of a single flow has two for each row of format 1."""
NUMBERS = 4096
"""Numbers of a column written per call. Reading uses PIECE bytes of text per call."""

_KINDS: dict[str, Any] = {"q": list[int], "b": list[bool | int], "d": list[float]}
"""Type of a column in the text, by its array's typecode."""
_MANY_DIGITS = re.compile(rb"\.\d{10}|e-")
"""A number that may have more digits than we write."""
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
    """Yield the text of `run` in pieces."""
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
    if column.typecode == "d" and _MANY_DIGITS.search(text):
        text = _encode(rounded(column))
    return text[1:-1]


def _kind(table: Table[Any], column: str) -> Any:
    return list[float | None] if table.is_optional(column) else _KINDS[table.column(column).typecode]


class _Allowance:
    """Counts down the numbers that may still be read."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, count: int) -> None:
        """Raise ValueError when `count` numbers are too many."""
        self._left -= count
        if self._left < 0:
            raise ValueError("more samples than a file of this size can hold")

    def limited(self, numbers: list[Any]) -> list[Any]:
        self.take(len(numbers))
        return numbers


class RunText:
    """The text of a run, split into its parts without decoding the tables.

    Raises ValueError for text that is not a JSON object.
    """

    def __init__(self, text: bytearray) -> None:
        self._text, self._at = text, 0
        self._tables: dict[str, dict[str, slice] | slice] = {}
        rest: dict[str, msgspec.Raw] = {}
        room = MAX_REST
        for name in self._members():
            if name not in TABLES:
                where = self._value()
                room -= where.stop - where.start
                if room < 0:
                    raise ValueError(f"more than {MAX_REST >> 20} MiB outside of its tables")
                rest[name] = msgspec.Raw(bytes(text[where]))
            elif self._is(b"{"):
                self._tables[name] = {column: self._value() for column in self._members()}
            else:
                self._tables[name] = self._value()
        self._take(_END)
        self.rest = _encode(rest)
        """The text without tables, as a JSON object."""

    def read(self, most: int = sys.maxsize) -> Run:
        """Decode the run, with at most `most` numbers in tables.

        Raises ValueError, OverflowError, or an error of msgspec for invalid text.
        """
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
                        column: map(left.limited, self._pieces(where[column], _kind(table, column)))
                        for column in columns
                    }
                )
            setattr(run, name, table)
        return run

    def _rows(self, where: slice, kind: Any) -> Iterator[list[Any]]:
        """Yield the array of rows at `where` in pieces."""
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
        """Yield the array of numbers at `where` in pieces."""
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
        """Yield the keys of the object at the current position; take each value before the next key."""
        self._take(_OPEN)
        if self._is(b"}"):
            self._take(_CLOSE)
            return
        more, left = True, _MAX_KEYS
        while more:
            if not (left := left - 1):
                raise ValueError(f"an object of more than {_MAX_KEYS} members")
            key = msgspec.json.decode(self._text[self._take(_STRING)], type=str)
            self._take(_COLON)
            yield key
            more = self._text[self._take(_AFTER)] == b","

    def _value(self) -> slice:
        """Return the range of the value at the current position, and move past it."""
        if self._is(b'"'):
            return self._take(_STRING)
        if not (self._is(b"[") or self._is(b"{")):
            return self._take(_SCALAR)
        start = self._take(_ANY).start
        end = self._text.find(b"]", start)
        # Most values are long arrays of numbers, and `find` is fifty times as fast as a pattern.
        if end < 0 or any(self._text.find(inner, start + 1, end) >= 0 for inner in (b"[", b"{", b'"')):
            end = self._closing_bracket(start)
        self._at = end + 1
        return slice(start, end + 1)

    def _closing_bracket(self, start: int) -> int:
        depth = 0
        for match in islice(_BRACKET.finditer(self._text, start), _MAX_BRACKETS):
            depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(match[0], 0)
            if depth == 0:
                return match.start()
        raise ValueError(f"no end of the value at byte {start}, or too many brackets in it")

    def _is(self, token: bytes) -> bool:
        match = _ANY.match(self._text, self._at)
        return match is not None and match[1] == token

    def _take(self, pattern: re.Pattern[bytes]) -> slice:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise ValueError(f"malformed at byte {self._at}")
        self._at = match.end()
        return slice(*match.span(1))
