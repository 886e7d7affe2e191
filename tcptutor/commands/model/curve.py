"""A model over a range of one argument, written LOW..HIGH: a table, JSON, or a chart."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tcptutor.base import units
from tcptutor.base.chart import COLORS, Chart, ChartAxis, ChartPanel, ChartSeries
from tcptutor.base.columns import table
from tcptutor.base.errors import ParameterError, UnitError
from tcptutor.theory import notation
from tcptutor.theory.catalogue import Argument, PublishedModel

_RANGE = re.compile(r"(.+?)\.\.(.+?)(?:/\s*(x?)([0-9]+))?")
_KINDS = ("rate", "time", "size", "ratio", "number", "count")
_DECADE = 10
"""Ratio of the ends from which on the values have equal ratios."""
_ROWS, FINE, _MOST_POINTS = 11, 101, 1000
"""Values of a table, of a smooth curve, and at most."""
_EXAMPLE = "write it like loss=0.01%..1% or rtt=10ms..100ms/10"


@dataclass(frozen=True)
class ModelCurve:
    """Results of a model at each value of an argument."""

    model: PublishedModel
    argument: Argument
    others: Mapping[str, Any]
    """The other arguments."""
    values: Sequence[float]
    results: Sequence[Sequence[float]]
    """A result for each flow at each value; not finite where the model is not."""
    is_log: bool


def range_of(settings: Mapping[str, str]) -> str | None:
    """Return the argument given as a range, None if no argument is. Raises ParameterError for several ranges."""
    names = [name for name, text in settings.items() if ".." in text]
    if len(names) > 1:
        raise ParameterError(
            f"{', '.join(names)}: only one argument can be a range: give the others one value"
        )
    return names[0] if names else None


def curve(model: PublishedModel, settings: Mapping[str, str], name: str, points: int = 0) -> ModelCurve:
    """Compute the model over the range of argument `name`, at `points` values if the range names no number.

    Raises ParameterError for an argument or a range that the model cannot have.
    """
    argument = next((each for each in model.parameters if each.name == name), None)
    if argument is None:
        notation.values(model.name, model.parameters, settings)  # the name is unknown
    if argument is None or argument.quantity.kind not in _KINDS:
        like = f": write it like {argument.quantity.example}" if argument else ""
        raise ParameterError(f"{name}: a range needs an argument that is a number{like}")
    match = _RANGE.fullmatch(settings[name].strip())
    if match is None:
        raise ParameterError(f"{name}: {units.quoted(settings[name])} is not a range: {_EXAMPLE}")
    low, high = _ends(name, match[1].strip(), match[2].strip(), argument)
    others = notation.values(model.name, model.parameters, {**settings, name: match[1].strip()})
    number = int(match[4]) if match[4] and len(match[4]) < 5 else points or _ROWS
    if not 2 <= number <= _MOST_POINTS or len(match[4] or "") > 4:
        raise ParameterError(f"{name}: a range has 2 to {_MOST_POINTS} values")
    is_log = bool(match[3]) or (not match[4] and 0 < low * _DECADE <= high)
    if is_log and low <= 0:
        raise ParameterError(f"{name}: equal ratios need two ends above 0")
    steps = [step / (number - 1) for step in range(number)]
    values = [low * (high / low) ** step if is_log else low + (high - low) * step for step in steps]
    results = [_results(model, {**others, name: value}) for value in values]
    if not any(math.isfinite(each) for result in results for each in result):
        raise ParameterError(f"{name}: {model.name} is not finite in this range: use less extreme values")
    del others[name]
    return ModelCurve(model, argument, others, values, results, is_log)


def _ends(name: str, low: str, high: str, argument: Argument) -> tuple[float, float]:
    """Return both ends in base units; an end without a unit has that of the other."""
    try:
        (_, low_unit), (_, high_unit) = units.split(low), units.split(high)
        ends = [
            notation.value(text, argument.quantity.kind)
            for text in (low if low_unit else low + high_unit, high if high_unit else high + low_unit)
        ]
    except UnitError as error:
        raise ParameterError(f"{name}: {error}: {_EXAMPLE}") from None
    if not ends[0] < ends[1]:
        raise ParameterError(f"{name}: {low} is not below {high}: {_EXAMPLE}")
    return ends[0], ends[1]


def _results(model: PublishedModel, values: Mapping[str, Any]) -> Sequence[float]:
    try:
        result = model.function(**values)
    except (OverflowError, ZeroDivisionError):
        result = math.inf
    return result if isinstance(result, tuple) else (float(result),)


def lines(curve: ModelCurve) -> list[str]:
    """Format a row for each value."""
    kind, unit = curve.argument.quantity.kind, curve.model.unit
    rows = [(curve.argument.name, curve.model.gives)]
    for value, result in zip(curve.values, curve.results, strict=True):
        numbers = [notation.result(each, unit) if math.isfinite(each) else units.UNKNOWN for each in result]
        rows.append((units.rounded(value, kind), ", ".join(numbers)))
    about = [("formula", curve.model.formula), ("source", curve.model.source)]
    return [_title(curve), *table(rows), "", *table(about, fold=True)]


def document(curve: ModelCurve) -> dict[str, Any]:
    """Return the curve as plain JSON: the argument's values, and a result or null for each."""
    results = [
        [each if math.isfinite(each) else None for each in result] if len(result) > 1
        else result[0] if math.isfinite(result[0]) else None
        for result in curve.results
    ]  # fmt: skip
    return {
        "model": curve.model.name,
        "parameters": {**curve.others, curve.argument.name: curve.values},
        "over": curve.argument.name,
        "result": {"value": results, "unit": notation.UNITS.get(curve.model.unit, curve.model.unit)},
        "formula": curve.model.formula,
        "source": curve.model.source,
    }


def chart(curve: ModelCurve) -> Chart:
    """Draw the results over the argument; logarithmic axes where the values have equal ratios."""
    scale, unit = units.axis_unit(curve.values[-1], curve.argument.quantity.kind)
    finite = [each for result in curve.results for each in result if math.isfinite(each)]
    up_scale, up_unit = units.axis_unit(max(finite), curve.model.unit)
    flows = [*zip(*curve.results, strict=True)]
    series = [
        ChartSeries(
            points=[
                (value / scale, result / up_scale)
                for value, result in zip(curve.values, results, strict=True)
                if math.isfinite(result)
            ],
            label=f"flow {number + 1}" if len(flows) > 1 else "",
            color=COLORS[number % len(COLORS)],
        )
        for number, results in enumerate(flows)
    ]
    is_log = curve.is_log and min(finite) > 0 and max(finite) > _DECADE * min(finite)
    low, high = min(finite) / up_scale, max(finite) / up_scale
    y = (
        ChartAxis(low=low / 1.1, high=high * 1.1, is_log=True)
        if is_log
        else ChartAxis(low=min(0.0, low), high=1.04 * high if high > 0 else 1.0)
    )
    name, ends = curve.argument.name, (curve.values[0] / scale, curve.values[-1] / scale)
    return Chart(
        title=[_title(curve), curve.model.formula],
        panels=[
            ChartPanel(
                heading=_with_unit(curve.model.gives, up_unit or _unit(curve.model)), series=series, y=y
            )
        ],
        x=ChartAxis(low=ends[0], high=ends[1], label=_with_unit(name, unit), is_log=curve.is_log),
    )


def _with_unit(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name


def _unit(model: PublishedModel) -> str:
    return "" if model.unit in ("number", "share") else model.unit


def _title(curve: ModelCurve) -> str:
    kinds = {each.name: each.quantity.kind for each in curve.model.parameters}
    given = [
        f"{name}={notation.argument(value, kinds[name])}"
        for name, value in curve.others.items()
        if value is not None
    ]
    return f"{curve.model.name} {' '.join(given)}".strip()
