"""Parser of model parameters on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tcptutor.base import units
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
