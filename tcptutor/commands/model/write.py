"""Formatting of model results and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tcptutor.base import units
from tcptutor.base.columns import table
from tcptutor.theory.catalogue import Argument, Kind

UNITS = {"rate": "bit/s", "time": "s", "size": "bytes", "share": "1", "number": "1"}
"""Base units of results for --json; other units have their own names."""

_SMALL = 10_000
"""Bytes below which a size is a plain number, as for segments and packets."""


def result(value: float, unit: str) -> str:
    """Format a result like "8.97 Mbit/s", "122 segments"."""
    match unit:
        case "rate":
            return units.rate(value, 4)
        case "time":
            return units.seconds(value, 4)
        case "size":
            return units.write(value, "size") if value < 2**60 else f"{value:.4g} bytes"
        case "share":
            return units.percent(value, 4)
        case "number":
            return f"{value:.4g}"
        case _:
            return f"{value:.0f} {unit}" if 1e4 <= value < 1e15 else f"{value:.4g} {unit}"


def argument(value: Any, kind: Kind) -> str:
    """Format a parameter's value so that it can be typed again."""
    if value is None:
        return "none"
    if kind in _WRITERS:
        return _WRITERS[kind](value)
    return units.write(value, kind).replace(" ", "")


def _list(write: Callable[[Any], str]) -> Callable[[Sequence[Any]], str]:
    return lambda values: ",".join(map(write, values))


def _size(value: float) -> str:
    return f"{value:g}" if value < _SMALL else units.write(value, "size").replace(" ", "")


def _stream(stream: tuple[float, float, float]) -> str:
    mss, rtt, loss = stream
    return f"{mss:g}:{argument(rtt, 'time')}:{argument(loss, 'ratio')}"


_WRITERS: dict[Kind, Callable[[Any], str]] = {
    "names": _list(str),
    "numbers": _list(lambda each: f"{each:.10g}"),
    "queue": _size,
    "rates": _list(lambda each: f"{each:.10g}"),
    "size": _size,
    "sizes": _list(_size),
    "streams": _list(_stream),
    "switch": lambda each: "yes" if each else "no",
    "times": _list(lambda each: argument(each, "time")),
}


def signature(parameters: Iterable[Argument]) -> str:
    """Format the parameters like "mss rtt loss [c]", optional parameters in brackets."""
    return " ".join(each.name if each.required else f"[{each.name}]" for each in parameters)


def usage(model: str, parameters: Iterable[Argument]) -> str:
    """Return a command with an example for every required parameter."""
    words = (f"{each.name}={each.quantity.example}" for each in parameters if each.required)
    return " ".join(["tcptutor model", model, *words])


def explanation(about: Sequence[tuple[str, str]], parameters: Sequence[Argument], example: str) -> list[str]:
    """Describe a model and its usage."""
    return [
        *table(about, fold=True),
        "parameters",
        *table([(parameter.name, _meaning(parameter)) for parameter in parameters], fold=True),
        "example",
        f"  {example}",
    ]


def _meaning(parameter: Argument) -> str:
    meaning, example = parameter.quantity.meaning, parameter.quantity.example
    if parameter.required:
        return f"{meaning}, like {example}"
    if parameter.default is None:
        return f"{meaning}, like {example}; optional"
    return f"{meaning}; default {argument(parameter.default, parameter.quantity.kind)}"


def description(parameter: Argument) -> dict[str, Any]:
    """Describe a parameter for --json."""
    return {
        "name": parameter.name,
        "kind": parameter.quantity.kind,
        "required": parameter.required,
        "default": parameter.default,
        "meaning": parameter.quantity.meaning,
        "example": parameter.quantity.example,
    }
