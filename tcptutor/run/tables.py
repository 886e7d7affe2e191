"""Rows of a struct stored as columns: an array of numbers per field, so that a million rows fit in memory."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, get_type_hints, overload

import msgspec

from tcptutor.run.bounds import bounds
from tcptutor.run.samples import (
    AckSample,
    QueueSample,
    Retransmission,
    Sample,
    SenderSample,
    TransferRecord,
    UdpSample,
)

Row = TypeVar("Row", bound=msgspec.Struct)
_CODES = {int: "q", bool: "b", float: "d", float | None: "d"}
DIGITS = 9
"""Decimals written of a fraction: nanoseconds."""
_KINDS = (int, bool, float)


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def _or_nan(numbers: Iterable[float | None]) -> Iterable[float]:
    return (math.nan if number is None else number for number in numbers)


def _array(code: str, numbers: Sequence[Any]) -> array[Any]:
    if numbers and numbers[0] == numbers[-1] and numbers.count(numbers[0]) == len(numbers):
        # Many columns have a single value, and to multiply an array is fast.
        return array(code, _or_nan(numbers[:1])) * len(numbers)
    return array(code, _or_nan(numbers) if code == "d" and None in numbers else numbers)


@cache
def _types(row: type[msgspec.Struct]) -> list[Any]:
    hints = get_type_hints(row)
    return [hints[name] for name in row.__struct_fields__]


def columns_type(row: type[msgspec.Struct]) -> Any:
    """Return a struct of the columns of such rows, as in a file; None stands for a column of the field's default.

    Decoding it checks the `bounds` of all numbers.
    """
    columns: list[tuple[str, Any] | tuple[str, Any, None]] = []
    for field, kind in zip(msgspec.structs.fields(row), _types(row), strict=True):
        column: Any = list[_bounded(field.name, kind)]  # type: ignore[misc]
        has_default = field.default is not msgspec.NODEFAULT
        columns.append((field.name, column | None, None) if has_default else (field.name, column))
    return msgspec.defstruct(row.__name__, columns)


def _bounded(field: str, kind: Any) -> Any:
    limits = bounds(field, kind)
    if limits is None:
        return int
    limited: Any = msgspec.Meta(ge=limits[0], le=limits[1])
    number: Any = Annotated[int, limited] if kind is int else Annotated[float, limited]
    return number if kind in _KINDS else number | None


_fields = cache(msgspec.structs.fields)


class Table(Sequence[Row], Generic[Row]):
    """A sequence of rows with access to the numbers of a field by `column`, without creating rows.

    None in a row is NaN in its column, and null in a file.
    """

    row: ClassVar[type[msgspec.Struct]]

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._types = _types(self.row)
        self._columns: list[array[Any]] = [array(_CODES[kind]) for kind in self._types]
        self._converters = [_or_none if kind not in _KINDS else kind for kind in self._types]
        """Converts a column's value to a row's."""
        self.extend(rows)

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Table[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Table[Row]:
        if isinstance(index, slice):
            part = type(self)()
            part._columns = [column[index] for column in self._columns]
            return part
        values = zip(self._converters, self._columns, strict=True)
        row: Any = self.row(*(kind(column[index]) for kind, column in values))
        return row  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Row]:
        columns = (
            map(converter, column) if converter in (bool, _or_none) else column
            for converter, column in zip(self._converters, self._columns, strict=True)
        )
        rows: Iterator[Any] = map(self.row, *columns)
        # A generator lets other threads run between two rows, also during list() of a million rows.
        return (row for row in rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table) or self.row is not other.row:
            return False
        # Compare bytes: NaN is not equal to itself.
        pairs = zip(self._columns, other._columns, strict=True)
        return all(
            one == other_column or one.tobytes() == other_column.tobytes() for one, other_column in pairs
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows)"

    def column(self, name: str) -> array[Any]:
        """Return the numbers of a field, in the order of the rows."""
        return self._columns[self.row.__struct_fields__.index(name)]

    def kind(self, name: str) -> Any:
        """Return the type of that column's values in a row: int, bool, float or float | None."""
        return self._types[self.row.__struct_fields__.index(name)]

    def is_optional(self, name: str) -> bool:
        """Return True if values of that column can be None."""
        return self._converters[self.row.__struct_fields__.index(name)] is _or_none

    def append(self, row: Row) -> None:
        self.extend((row,))

    def extend(self, rows: Iterable[Row]) -> None:
        if isinstance(rows, Table):
            for column, more in zip(self._columns, rows._columns, strict=True):
                column.extend(more)
            return
        new = list(zip(*map(msgspec.structs.astuple, rows), strict=True)) or [()] * len(self._columns)
        for name, column, values in zip(self.row.__struct_fields__, self._columns, new, strict=True):
            column.extend(_or_nan(values) if self.is_optional(name) else values)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns by field name, as written to a file."""
        names = self.row.__struct_fields__
        return {name: self._written(name, column) for name, column in zip(names, self._columns, strict=True)}

    def _written(self, name: str, column: array[Any]) -> list[Any]:
        if column.typecode != "d":
            return column.tolist()
        numbers = [round(number, DIGITS) for number in column]
        return [*map(_or_none, numbers)] if self.is_optional(name) else numbers

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[Any] | None]) -> Self:
        """Return a table from the columns of all fields; None fills a column with the field's default.

        Raises:
            ValueError: The columns differ in length.
            OverflowError: A number is out of a column's range.
        """
        table = cls()
        lengths = {len(values) for values in columns.values() if values is not None}
        if len(lengths) > 1:
            raise ValueError("columns of different lengths")
        for field, column in zip(_fields(cls.row), table._columns, strict=True):
            values = columns[field.name]
            if values is None:
                values = [field.default] * max(lengths)
            # An array of integers takes a list three times as fast as extend does.
            column.extend(_array(column.typecode, values))
        return table


class SampleTable(Table[Sample]):
    """The TCP state of all flows, in order of time."""

    row = Sample


class QueueTable(Table[QueueSample]):
    """The bottleneck's queue, in order of time."""

    row = QueueSample


class SenderTable(Table[SenderSample]):
    """The sending hosts' own queues, in order of time."""

    row = SenderSample


class UdpTable(Table[UdpSample]):
    """UDP flows, in order of time."""

    row = UdpSample


class AckTable(Table[AckSample]):
    """Single ACKs, in order of time."""

    row = AckSample


class TransferTable(Table[TransferRecord]):
    """Short flows and requests, in order of their starts."""

    row = TransferRecord


class RetransmissionTable(Table[Retransmission]):
    """Single retransmissions, in order of time."""

    row = Retransmission
