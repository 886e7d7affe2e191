"""The command: list the models, explain one, or compute it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tcptutor.calculator import read, say, window
from tcptutor.errors import ParameterError, UsageError
from tcptutor.theory.catalogue import GROUPS, MODELS, PublishedModel

_GIVES = {"rate": "payload, bit/s", "time": "seconds", "size": "bytes", "share": "a ratio, written in %"}


def run_model(name: str | None, words: Sequence[str], as_json: bool) -> int:
    """`tcptutor model [NAME [KEY=VALUE...]]`: the exit code. Raises UsageError."""
    if name is None:
        _print_json({"models": _listing()}) if as_json else print("\n".join(_list()))
        return 0
    known = name.replace("-", "_").lower()
    if known not in MODELS and known != window.NAME:
        names = [*MODELS, window.NAME]
        raise UsageError(f"no model {name!r}{read.near(known, names) or ':'} `tcptutor model` lists them all")
    settings = read.pairs(words)
    if known == window.NAME:
        return window.run(settings, as_json)
    model = MODELS[known]
    if not settings:
        _print_json(_described(model)) if as_json else print("\n".join(_explained(model)))
        return 0
    values = read.values(model.name, model.parameters, settings)
    result = _computed(model, values)
    if as_json:
        _print_json(
            {
                "model": model.name,
                "parameters": values,
                "result": {"value": result, "unit": say.UNITS.get(model.unit, model.unit)},
                "formula": model.formula,
                "source": model.source,
            }
        )
    else:
        print("\n".join(_answer(model, values, result)))
    return 0


def _computed(model: PublishedModel, values: Mapping[str, Any]) -> float | list[float]:
    """The number, or one for each flow. Raises ParameterError where no finite number comes out."""
    try:
        result = model.function(**values)
    except (OverflowError, ZeroDivisionError):
        result = math.inf
    numbers = list(result) if isinstance(result, tuple) else [float(result)]
    if not all(map(math.isfinite, numbers)):
        names = ", ".join(name for name, value in values.items() if value is not None)
        raise ParameterError(f"{names}: {model.name} of these is no finite number: take less extreme ones")
    return numbers if isinstance(result, tuple) else numbers[0]


def _answer(model: PublishedModel, values: Mapping[str, Any], result: float | list[float]) -> list[str]:
    numbers = result if isinstance(result, list) else [result]
    rows = [
        (parameter.name, say.argument(values[parameter.name], parameter.quantity.kind))
        for parameter in model.parameters
        if values[parameter.name] is not None
    ]
    return [
        f"{model.name}: {', '.join(say.result(number, model.unit) for number in numbers)}",
        *say.table([*rows, ("formula", model.formula), ("source", model.source)]),
    ]


def _explained(model: PublishedModel) -> list[str]:
    about = [
        ("formula", model.formula),
        ("source", model.source),
        ("gives", _GIVES.get(model.unit, model.unit)),
    ]
    example = say.usage(model.name, model.parameters)
    return [f"{model.name}: {model.gives}", *say.explanation(about, model.parameters, example)]


def _list() -> list[str]:
    """A table in parts: name, parameters, what it gives."""
    widths = (max(map(len, MODELS)), 21)
    lines = []
    for title, models in GROUPS.items():
        rows = [(each.name, say.signature(each.parameters), each.gives) for each in models]
        lines += [title, *say.table(rows, widths)]
    lines += ["A window over time"]
    lines += say.table([(window.NAME, say.signature(window.PARAMETERS), window.GIVES)], widths)
    example = say.usage("mathis", MODELS["mathis"].parameters)
    return [
        *lines,
        "",
        "tcptutor model NAME tells more of one; with its parameters it computes:",
        f"  {example}",
    ]


def _listing() -> list[dict[str, Any]]:
    return [*map(_described, MODELS.values()), window.described()]


def _described(model: PublishedModel) -> dict[str, Any]:
    return {
        "model": model.name,
        "gives": model.gives,
        "unit": say.UNITS.get(model.unit, model.unit),
        "parameters": [say.description(parameter) for parameter in model.parameters],
        "formula": model.formula,
        "source": model.source,
    }


def _print_json(document: dict[str, Any]) -> None:
    print(json.dumps(document, allow_nan=False))
