"""Whether what stands in the file of a sweep can be calculated with and shown: somebody else may have written it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tcptutor.base.printable import is_printable
from tcptutor.sweep.definition import Definition
from tcptutor.sweep.grid import MAX_CELLS, SEED
from tcptutor.sweep.row import Outcome, Row

_LARGEST = 1e18
"""Of numbers: beyond it, sums of squares are none any more."""
_NEVER_NEGATIVE = (
    "throughput_bps",
    "retransmits",
    "losses",
    "loss_rate",
    "jain_index",
    "wall_s",
    "experiment_s",
)


def check_definition(definition: Definition) -> None:
    """Raise ValueError, which says why, for a definition that no sweep has."""
    _check_values(definition)
    if not 1 <= definition.cells <= MAX_CELLS:
        raise ValueError(f"a sweep has 1 to {MAX_CELLS} cells")
    names = [axis.name for axis in definition.axes]
    if len(set(names)) < len(names) or not all(0 < len(axis.values) <= MAX_CELLS for axis in definition.axes):
        raise ValueError("an axis is there twice, has no values, or too many")


def check_outcome(outcome: Outcome, definition: Definition) -> None:
    """Raise ValueError, which says why, for what is no outcome of a cell of that sweep."""
    _check_values(outcome)
    if not 0 <= outcome.cell < definition.cells:
        raise ValueError("is of another sweep")
    names = {axis.name for axis in definition.axes if axis.name != SEED}
    # Without axes the cells are a list, and each says of itself what it has.
    told = [set(outcome.point)] + ([set(outcome.values)] if isinstance(outcome, Row) else [])
    if definition.axes and any(each != names for each in told):
        raise ValueError("is of another sweep")
    if isinstance(outcome, Row) and any((getattr(outcome, name) or 0) < 0 for name in _NEVER_NEGATIVE):
        raise ValueError("has a number below zero that cannot be")


def _check_values(whole: msgspec.Struct) -> None:
    for value in _leaves(msgspec.to_builtins(whole)):
        if isinstance(value, str) and not is_printable(value):
            raise ValueError("has a text that is not printable")
        if isinstance(value, (int, float)) and not abs(value) <= _LARGEST:
            raise ValueError("has a number that is too large, or none")


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value
