"""What a person writes after a model's name, as the numbers that it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tcptutor.base import units
from tcptutor.base.errors import ParameterError, UnitError, UsageError, unknown
from tcptutor.theory.catalogue import Argument
from tcptutor.theory.quantities import Kind

_SWITCH = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def pairs(words: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE each. Raises UsageError for another form, and for a name that comes twice."""
    settings: dict[str, str] = {}
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        if not (name and equals and text):
            raise UsageError(f"{word!r} is not NAME=VALUE: write it like rtt=20ms or loss=0.1%")
        if name in settings:
            raise ParameterError(f"{name}: given twice: leave one of them out")
        settings[name] = text
    return settings


def values(model: str, parameters: Sequence[Argument], settings: Mapping[str, str]) -> dict[str, Any]:
    """Every parameter in its base unit, defaults included.

    Raises ParameterError for one that is unknown, missing, or not a quantity of its kind.
    """
    names = [parameter.name for parameter in parameters]
    for name in settings:
        if name not in names:
            raise ParameterError(unknown(f"parameter of {model}", name, names))
    read = {parameter.name: _given(parameter, settings) for parameter in parameters}
    for parameter in parameters:
        if parameter.required and parameter.name not in settings:
            what, like = parameter.quantity.meaning, parameter.quantity.example
            raise ParameterError(
                f"{parameter.name}: {model} needs it, {what}: write it like {parameter.name}={like}"
            )
    return read


def _given(parameter: Argument, settings: Mapping[str, str]) -> Any:
    text = settings.get(parameter.name)
    optional = not parameter.required and parameter.default is None
    if text is None or (optional and text.lower() == "none"):
        return parameter.default
    try:
        return value(text, parameter.quantity.kind)
    except UnitError as error:
        raise ParameterError(f"{parameter.name}: {error}") from None


def value(text: str, kind: Kind) -> Any:
    """`text` in the base unit of `kind`. Raises UnitError.

    Bytes may go without a unit, and a probability may be a plain number: nobody writes 1448 or 1e-3 otherwise.
    """
    if kind in _READERS:
        return _READERS[kind](text)
    plain = kind in ("size", "ratio") and units.is_plain(text)
    return units.parse(text, "number" if plain else kind)


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise UnitError(f"{text!r} is neither yes nor no")
    return _SWITCH[text.lower()]


def _queue(text: str) -> float | str:
    """Bytes, or the text as it is when it counts BDPs, which need the path."""
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
