"""`tcptutor model`: the models as a calculator with units: list the models, or describe or compute a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tcptutor.base.columns import table
from tcptutor.base.errors import UsageError, unknown
from tcptutor.commands.model import curve, trajectory
from tcptutor.commands.output import print_json, print_lines
from tcptutor.commands.targets import check_plot, draw_plot
from tcptutor.theory import notation
from tcptutor.theory.catalogue import GROUPS, MODELS, PublishedModel

_NEEDS_RANGE = "--plot needs a model and a range of one argument, such as loss=0.01%..1%"
_GIVES = {"rate": "payload, bit/s", "time": "seconds", "size": "bytes", "share": "a ratio, written in %"}
__all__ = ["run_model"]


def run_model(name: str | None, words: Sequence[str], as_json: bool, plot: Path | None, replace: bool) -> int:
    """Run `tcptutor model [NAME [KEY=VALUE...]]` and return the exit code. Raises TutorError."""
    check_plot(plot, [], replace=replace, as_json=as_json)
    if name is None:
        if plot is not None:
            raise UsageError(_NEEDS_RANGE)
        print_json({"models": _listing()}) if as_json else print_lines(_list())
        return 0
    known = _full_name(name)
    settings = notation.pairs(words)
    if known == trajectory.NAME:
        return trajectory.run(settings, as_json, plot)
    model = MODELS[known]
    if swept := curve.range_of(settings):
        computed = curve.curve(model, settings, swept, curve.FINE if plot else 0)
        if plot is not None:
            draw_plot(plot, curve.chart(computed))
        elif as_json:
            print_json(curve.document(computed))
        else:
            print_lines(curve.lines(computed))
        return 0
    if plot is not None:
        raise UsageError(_NEEDS_RANGE)
    if not settings:
        print_json(_described(model)) if as_json else print_lines(_explanation(model))
        return 0
    values = notation.values(model.name, model.parameters, settings)
    result = model.compute(values)
    if as_json:
        print_json(
            {
                "model": model.name,
                "parameters": values,
                "result": {"value": result, "unit": notation.UNITS.get(model.unit, model.unit)},
                "formula": model.formula,
                "source": model.source,
            }
        )
    else:
        print_lines(_answer(model, values, result))
    return 0


def _full_name(name: str) -> str:
    names, known = [*MODELS, trajectory.NAME], name.replace("-", "_").lower()
    begins = [each for each in names if each == known] or [each for each in names if each.startswith(known)]
    if len(begins) == 1:
        return begins[0]
    if begins:
        raise UsageError(f"{name!r} matches {len(begins)} models: write {' or '.join(begins)}")
    raise UsageError(unknown("model", name, names, "`tcptutor model` lists them all"))


def _answer(model: PublishedModel, values: Mapping[str, Any], result: float | list[float]) -> list[str]:
    numbers = result if isinstance(result, list) else [result]
    rows = [
        (parameter.name, notation.argument(values[parameter.name], parameter.quantity.kind))
        for parameter in model.parameters
        if values[parameter.name] is not None
    ]
    return [
        f"{model.name}: {', '.join(notation.result(number, model.unit) for number in numbers)}",
        *table([*rows, ("formula", model.formula), ("source", model.source)], fold=True),
    ]


def _explanation(model: PublishedModel) -> list[str]:
    about = [
        ("formula", model.formula),
        ("source", model.source),
        ("gives", _GIVES.get(model.unit, model.unit)),
    ]
    example = notation.usage(model.name, model.parameters)
    return [f"{model.name}: {model.gives}", *notation.explanation(about, model.parameters, example)]


def _list() -> list[str]:
    """Format a table by topic: name, parameters, result."""
    widths = (max(map(len, MODELS)), 21)
    lines = []
    for title, models in GROUPS.items():
        rows = [(each.name, notation.signature(each.parameters), each.gives) for each in models]
        lines += [title, *table(rows, widths, fold=True)]
    lines += ["A window over time"]
    lines += table(
        [(trajectory.NAME, notation.signature(trajectory.PARAMETERS), trajectory.GIVES)], widths, fold=True
    )
    example = notation.usage("mathis", MODELS["mathis"].parameters)
    return [
        *lines,
        "",
        "`tcptutor model NAME` describes one; with parameters it computes:",
        f"  {example}",
    ]


def _listing() -> list[dict[str, Any]]:
    return [*map(_described, MODELS.values()), trajectory.description()]


def _described(model: PublishedModel) -> dict[str, Any]:
    return {
        "model": model.name,
        "gives": model.gives,
        "unit": notation.UNITS.get(model.unit, model.unit),
        "parameters": [notation.description(parameter) for parameter in model.parameters],
        "formula": model.formula,
        "source": model.source,
    }
