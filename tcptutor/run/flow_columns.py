"""The samples of each flow, column by column, without a row object per sample."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from tcptutor.run.tables import SampleTable


def rows_of_flows(samples: SampleTable) -> dict[int, Sequence[int]]:
    """Return the indexes of each flow's rows, by its number; a range where they are even."""
    numbers = samples.column("flow")
    if not numbers:
        return {}
    try:
        turn = numbers.index(numbers[0], 1)
    except ValueError:
        turn = len(numbers)
    first = numbers[:turn]
    # Flows that last from start to end are sampled in turns.
    if len(set(first)) == turn and (first * (len(numbers) // turn + 1))[: len(numbers)] == numbers:
        return {number: range(at, len(numbers), turn) for at, number in enumerate(first)}
    rows: dict[int, list[int]] = {}
    for row, number in enumerate(numbers):
        rows.setdefault(number, []).append(row)
    return {number: _even(found) for number, found in rows.items()}


def _even(rows: list[int]) -> Sequence[int]:
    even = range(rows[0], rows[-1] + 1, rows[1] - rows[0] if len(rows) > 1 else 1)
    return even if len(even) == len(rows) and rows == list(even) else rows


def picked(column: array[Any], rows: Sequence[int]) -> list[Any]:
    """Return a column's numbers of some rows."""
    if isinstance(rows, range):
        return column[rows.start : rows.stop : rows.step].tolist()
    # itemgetter with a single index returns no tuple, but one row is always a range.
    return list(itemgetter(*rows)(column))


class FlowColumns:
    """Columns of a flow's samples in order of time; each is picked once."""

    def __init__(self, samples: SampleTable, rows: Sequence[int]) -> None:
        """Prepare the samples of those rows, at least one, as in `rows_of_flows`."""
        self._samples, self._rows = samples, rows
        self._columns: dict[str, list[Any]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> list[Any]:
        """Return a field of all samples."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = picked(self._samples.column(name), self._rows)
        return found
