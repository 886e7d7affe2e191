"""Definition of a sweep, and validation of a sweep file that may come from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tcptutor.base.printable import is_printable
from tcptutor.sweep.grid import MAX_CELLS, SEED, Axis
from tcptutor.sweep.row import Outcome, Row

_LARGEST = 1e18
"""Largest number accepted, beyond which sums of squares overflow."""
_NEVER_NEGATIVE = (
    "throughput_bps",
    "retransmits",
    "losses",
    "loss_rate",
    "jain_index",
    "wall_s",
    "experiment_s",
)


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """Identity of a sweep; two sweeps with equal definitions are the same."""

    experiment: str
    scale: str
    settings: dict[str, str]
    axes: tuple[Axis, ...]
    seed: int | None
    backend: str
    clock: str
    cells: int
    digest: str
    """Hash of all cells' experiments, which changes with the experiment's file."""

    def difference(self, other: Definition) -> str:
        """Return the first field in which `other` differs, as text; empty when equal."""
        for name in self.__struct_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                if name == "digest":
                    return "the experiment has changed since"
                return f"its {'grid' if name == 'axes' else name} is {_text(mine)}, not {_text(theirs)}"
        return ""


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={each}" for key, each in value.items()) or "none"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    return str(value)


def check_definition(definition: Definition) -> None:
    """Raise ValueError with a reason for an invalid definition."""
    _check_values(definition)
    if not 1 <= definition.cells <= MAX_CELLS:
        raise ValueError(f"a sweep has 1 to {MAX_CELLS} cells")
    names = [axis.name for axis in definition.axes]
    if len(set(names)) < len(names) or not all(0 < len(axis.values) <= MAX_CELLS for axis in definition.axes):
        raise ValueError("an axis is repeated, has no values, or too many")


def check_outcome(outcome: Outcome, definition: Definition) -> None:
    """Raise ValueError with a reason unless `outcome` is valid and belongs to `definition`."""
    _check_values(outcome)
    if not 0 <= outcome.cell < definition.cells:
        raise ValueError("belongs to another sweep")
    names = {axis.name for axis in definition.axes if axis.name != SEED}
    # Without axes the cells are a list, and each names its own settings.
    settings = [set(outcome.point)] + ([set(outcome.values)] if isinstance(outcome, Row) else [])
    if definition.axes and any(each != names for each in settings):
        raise ValueError("belongs to another sweep")
    if isinstance(outcome, Row) and any((getattr(outcome, name) or 0) < 0 for name in _NEVER_NEGATIVE):
        raise ValueError("has a negative number where none is possible")


def _check_values(struct: msgspec.Struct) -> None:
    for value in _leaves(msgspec.to_builtins(struct)):
        if isinstance(value, str) and not is_printable(value):
            raise ValueError("has a text that is not printable")
        if isinstance(value, (int, float)) and not abs(value) <= _LARGEST:
            raise ValueError("has a number that is too large, or not a number")


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
