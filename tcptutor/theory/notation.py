"""Arguments of models as the user types them, and results as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tcptutor.base import units
from tcptutor.base.columns import table
from tcptutor.base.errors import ParameterError, UnitError, UsageError, unknown
from tcptutor.theory.catalogue import Argument, Kind

_SWITCH = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def pairs(words: Sequence[str]) -> dict[str, str]:
    """Split words of the form NAME=VALUE. Raises UsageError for any other form, ParameterError for a repeated name."""
    settings: dict[str, str] = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if not (name and equals and text):
            raise UsageError(f"{word!r} is not NAME=VALUE: write it like rtt=20ms or loss=0.1%")
        if name in settings:
            raise ParameterError(f"{name} appears twice: remove one")
        settings[name] = text
    return settings


def words(line: str) -> list[str]:
    """Split a line into words of the form NAME=VALUE; a value may have a blank before its unit, "rtt = 50 ms"."""
    return re.split(r"\s+(?=\w+\s*=)", line.strip())


def values(model: str, parameters: Sequence[Argument], settings: Mapping[str, str]) -> dict[str, Any]:
    """Return every parameter in its base unit, defaults included.

    Raises ParameterError for a parameter that is unknown, missing, or of the wrong kind.
    """
    names = [parameter.name for parameter in parameters]
    for name in settings:
        if name not in names:
            raise ParameterError(unknown(f"parameter of {model}", name, names))
    read = {parameter.name: _parsed(parameter, settings) for parameter in parameters}
    for parameter in parameters:
        if parameter.required and parameter.name not in settings:
            what, like = parameter.quantity.meaning, parameter.quantity.example
            raise ParameterError(
                f"{model} needs {parameter.name} ({what}): write it like {parameter.name}={like}"
            )
    return read


def _parsed(parameter: Argument, settings: Mapping[str, str]) -> Any:
    text = settings.get(parameter.name)
    optional = not parameter.required and parameter.default is None
    if text is None or (optional and text.lower() == "none"):
        return parameter.default
    try:
        return value(text, parameter.quantity.kind)
    except UnitError as error:
        raise ParameterError(f"{parameter.name}: {error}") from None


def value(text: str, kind: Kind) -> Any:
    """Return `text` in the base unit of `kind`. Raises UnitError.

    Bytes need no unit, and a probability may be a plain number: 1448 and 1e-3 are common notation.
    """
    if kind in _READERS:
        return _READERS[kind](text)
    plain = kind in ("size", "ratio") and units.is_plain(text)
    return units.parse(text, "number" if plain else kind)


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise UnitError(f"{text!r} is not yes or no")
    return _SWITCH[text.lower()]


def _queue(text: str) -> float | str:
    """Return bytes, or a text in BDP unchanged, which needs the path."""
    return text if units.split(text)[1].lower() == "bdp" else float(value(text, "size"))


def _rate_or_number(text: str) -> float:
    return units.parse(text, "number" if units.is_plain(text) else "rate")


def _stream(text: str) -> tuple[float, float, float]:
    parts = text.split(":")
    if len(parts) != 3:
        raise UnitError(f"{text!r} is not MSS:RTT:LOSS: write it like 1448:70ms:0.01%")
    mss, rtt, loss = parts
    return value(mss, "size"), value(rtt, "time"), value(loss, "ratio")


def _list(read: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    return lambda text: [read(part) for part in text.split(",")]


_READERS: dict[Kind, Callable[[str], Any]] = {
    "switch": _switch,
    "queue": _queue,
    "names": _list(lambda text: text.strip().lower()),
    "numbers": _list(_rate_or_number),
    "rates": _list(_rate_or_number),
    "sizes": _list(lambda text: value(text, "size")),
    "streams": _list(_stream),
    "times": _list(lambda text: value(text, "time")),
}


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


def reading(value: Any, kind: Kind) -> str:
    """Format a parameter's value with its unit, for a reader: "10 %", "1448 bytes"."""
    if kind == "size":
        return f"{value:g} bytes" if value < _SMALL else units.write(value, kind)
    if kind == "rates":
        return ", ".join(map(units.rate, value))
    return argument(value, kind) if kind in _WRITERS else units.write(value, kind)


def argument(value: Any, kind: Kind) -> str:
    """Format a parameter's value so that it can be typed again."""
    if value is None:
        return "none"
    if kind in _WRITERS:
        return _WRITERS[kind](value)
    return units.write(value, kind).replace(" ", "")


def _joined(write: Callable[[Any], str]) -> Callable[[Sequence[Any]], str]:
    return lambda values: ",".join(map(write, values))


def _size_text(value: float) -> str:
    return f"{value:g}" if value < _SMALL else units.write(value, "size").replace(" ", "")


def _stream_text(stream: tuple[float, float, float]) -> str:
    mss, rtt, loss = stream
    return f"{mss:g}:{argument(rtt, 'time')}:{argument(loss, 'ratio')}"


_WRITERS: dict[Kind, Callable[[Any], str]] = {
    "names": _joined(str),
    "numbers": _joined(lambda each: f"{each:.10g}"),
    "queue": _size_text,
    "rates": _joined(lambda each: f"{each:.10g}"),
    "size": _size_text,
    "sizes": _joined(_size_text),
    "streams": _joined(_stream_text),
    "switch": lambda each: "yes" if each else "no",
    "times": _joined(lambda each: argument(each, "time")),
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
