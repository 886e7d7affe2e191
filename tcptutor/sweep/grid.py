"""The grid of a sweep: parameters with their values, and the cells they form.

An axis is written `loss=0.01%,0.1%,1%` (a list of values; separated by `|` for parameters with commas in
their values),
`rtt=10ms..100ms/10` (ten values with equal differences) or `loss=0.01%..1%/x5` (five values with equal
ratios). `rtt`
is an alias of `delay`, the complete RTT that the lab adds; `seed` can be an axis as well.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from tcptutor import spec
from tcptutor.base import units
from tcptutor.base.errors import ParameterError, UnitError, UsageError
from tcptutor.spec import Experiment
from tcptutor.spec.parameters import read_sysctl, sysctl_name

MAX_CELLS = 10_000
_SEED_DIGITS = 10
SEED = "seed"
_ALIASES = {"rtt": "delay"}
_WHOLE = "count"
_EXAMPLE = "write it like loss=0.01%,0.1%,1% or rtt=10ms..100ms/10 or loss=0.01%..1%/x5"
_RANGE = re.compile(r"(.+?)\.\.(.+?)/\s*(x?)\s*([0-9]+)")
_LONGEST = 200_000
"""Maximum length of an axis, characters: enough for MAX_CELLS values."""
_NUMBER = re.compile(r"\s*[+-]?[\d.]+(?:[eE][+-]?\d+)?\s*")


class Axis(msgspec.Struct, frozen=True):
    """A parameter with its values as the user wrote them."""

    name: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}={','.join(self.values)}"


class Cell(msgspec.Struct, frozen=True):
    """An experiment of the grid, with its position."""

    index: int
    point: dict[str, str]
    """Value of each axis except the seed, as text."""
    experiment: Experiment


def parameter_name(name: str) -> str:
    """Return the canonical name of a parameter."""
    return _ALIASES.get(name, name)


def read_axis(text: str) -> Axis:
    """Parse a `--grid` option. Raises UsageError, or ParameterError for a value."""
    if len(text) > _LONGEST:
        raise UsageError(f"--grid {units.quoted(text)} has {len(text)} characters: give fewer values")
    alias, equals, values = text.partition("=")
    name = parameter_name(alias.strip())
    if not (name and equals and values.strip()):
        raise UsageError(f"--grid {units.quoted(text)} is not NAME=VALUES: {_EXAMPLE}")
    kind = _axis_unit(name)
    if ".." in values:
        texts = _range(text, values, kind)
    else:
        own_commas = name in spec.PARAMETERS and spec.PARAMETERS[name].is_list
        separator = "|" if "|" in values or own_commas else ","
        texts = tuple(value.strip() for value in values.split(separator))
    if "" in texts:
        raise UsageError(f"--grid {units.quoted(text)} has an empty value: {_EXAMPLE}")
    spellings: dict[object, str] = {}
    for value in texts:
        parsed = _parse_value(name, value)
        if parsed in spellings:
            raise UsageError(
                f"--grid {units.quoted(text)} has {value!r} and {spellings[parsed]!r}, equal values: leave one out"
            )
        spellings[parsed] = value
    return Axis(name, texts)


def read_axes(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Parse all `--grid` options of a sweep. Raises UsageError, also for more than MAX_CELLS cells."""
    axes = tuple(read_axis(text) for text in texts)
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--grid has {name} twice: give all its values in one")
    count = math.prod(len(axis.values) for axis in axes)
    if count > MAX_CELLS:
        raise UsageError(f"the grid has {count} cells, at most {MAX_CELLS} are possible: give fewer values")
    return axes


def cells(
    build: Callable[[Mapping[str, str], int | None], Experiment],
    settings: Mapping[str, str],
    axes: Sequence[Axis],
    seed: int | None,
) -> list[Cell]:
    """Return every cell of the grid, validated; `build` makes an experiment from settings and a seed.

    The seed varies slowest, so that all settings are covered early. Raises UsageError for contradictory options,
    ParameterError for an impossible cell, and the errors of `build`.
    """
    for axis in axes:
        if axis.name in settings:
            raise UsageError(f"{axis.name} is in --grid and in --set: leave one out")
    seeds: list[int | None] = [int(value) for axis in axes if axis.name == SEED for value in axis.values]
    if seeds and seed is not None:
        raise UsageError("seed is in --grid and in --seed: leave one out")
    others = [axis for axis in axes if axis.name != SEED]
    grid: list[Cell] = []
    for cell_seed in seeds or [seed]:
        for values in itertools.product(*(axis.values for axis in others)):
            point = {axis.name: value for axis, value in zip(others, values, strict=True)}
            experiment = build({**settings, **point}, cell_seed)
            if experiment.flows.capture:
                raise UsageError(
                    "a sweep records no packets: leave out capture, and use `tcptutor run` for a cell with packets"
                )
            grid.append(Cell(len(grid), point, experiment))
    return grid


def _axis_unit(name: str) -> str:
    """Return the unit of an axis; "" where ranges make no sense. Raises ParameterError for an unknown name."""
    if name == SEED:
        return _WHOLE
    if sysctl_name(name) and name not in spec.PARAMETERS:
        return _WHOLE
    known = spec.parameter(name)
    return "" if known.is_list or known.kind in ("name", "changes") else known.kind


def _parse_value(name: str, value: str) -> object:
    if name == SEED:
        return _read_seed(value)
    if sysctl_name(name) and name not in spec.PARAMETERS:
        return read_sysctl(name, value)
    if spec.PARAMETERS[name].kind == "window" and value.lower().endswith("bdp"):
        return value.lower().replace(" ", "")  # its bytes depend on the cell's rate and delay
    return spec.read(name, value)


def _read_seed(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= _SEED_DIGITS and int(value) < 2**32):
        raise ParameterError(
            f"seed: {units.quoted(value)} is out of bounds: a whole number from 0 to 4294967295"
        )
    return int(value)


def _range(text: str, values: str, kind: str) -> tuple[str, ...]:
    match = _RANGE.fullmatch(values.strip())
    if match is None or not kind:
        raise UsageError(f"--grid {units.quoted(text)} is not a range: {_EXAMPLE}")
    count = int(match[4]) if len(match[4]) <= len(str(MAX_CELLS)) else MAX_CELLS + 1
    if not 2 <= count <= MAX_CELLS:
        raise UsageError(f"--grid {units.quoted(text)}: a range has 2 to {MAX_CELLS} values")
    try:
        low, high, unit = _ends(match[1].strip(), match[2].strip(), kind)
    except UnitError as error:
        raise UsageError(f"--grid {units.quoted(text)}: {error}") from None
    if match[3]:
        if low <= 0 or high <= 0:
            raise UsageError(f"--grid {units.quoted(text)}: equal ratios need two ends above 0")
        between = [low * (high / low) ** (step / (count - 1)) for step in range(count)]
    else:
        between = [low + (high - low) * step / (count - 1) for step in range(count)]
    if not all(map(math.isfinite, between)):
        raise UsageError(f"--grid {units.quoted(text)}: the ends are too far from each other: {_EXAMPLE}")
    if kind == _WHOLE:
        return tuple(str(round(value)) for value in between)
    return tuple(f"{value:.6g}{unit}" for value in between)


def _ends(low: str, high: str, kind: str) -> tuple[float, float, str]:
    """Return both ends in a common unit, with its spelling. Raises UnitError."""
    (first, first_unit), (last, last_unit) = units.split(low), units.split(high)
    spelled = _NUMBER.sub("", low if last == 0 and not last_unit else high, count=1)
    if first_unit == last_unit or not (first_unit and last_unit):
        if first_unit != last_unit and (first if not first_unit else last) != 0:
            raise UnitError(f"{low if not first_unit else high!r} has no unit")
        return first, last, spelled
    base = "size" if kind == "window" else kind
    try:
        ratio = units.parse(f"1 {first_unit}", base) / units.parse(f"1 {last_unit}", base)
    except UnitError:
        raise UnitError(
            f"the ends have the units {first_unit!r} and {last_unit!r}: give both in the same"
        ) from None
    return first * ratio, last, spelled
