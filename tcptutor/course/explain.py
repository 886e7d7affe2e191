"""msgspec's validation messages in an author's words: which key, and what is wrong with it.

msgspec says "Object contains unknown field `asks` - at `$.question[0]`"; we say "question.asks" and
"is not a key here: the keys are ask, choice, ...".
"""

from __future__ import annotations

import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `(?P<path>[^`]*)`)?", re.DOTALL)
_FIELD = re.compile(r"Object (?P<how>contains unknown|missing required) field `(?P<name>[^`]*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_TYPES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}


def explain(message: str, table: Any, kind: type) -> tuple[str, str]:
    """`(key, reason)` of a validation `message` about `table`, which should have been a `kind`."""
    match = _MESSAGE.fullmatch(message)
    what, path = (match["what"], match["path"] or "") if match else (message, "")
    key, names = _key(path, table)
    field = _FIELD.fullmatch(what)
    if field:
        reason = "is missing"
        if field["how"] == "contains unknown":
            reason = f"is not a key here: the keys are {_keys(kind, names)}"
        return f"{key}.{field['name']}".lstrip("."), reason
    if what.startswith("Invalid enum value"):
        value = what.removeprefix("Invalid enum value ").strip("'")
        return key, f"{value!r} is not one of {', '.join(get_args(_at(kind, names)))}"
    plain = re.sub(r"`([^`]*)`", lambda name: _plain(name[1]), what)
    return key, plain.replace("Expected", "must be").replace(", got", ", not")


def _key(path: str, table: Any) -> tuple[str, list[str]]:
    """The key as an author reads it, and the names on the way; an entry of several is counted from 1."""
    key, names = "", []
    for name, index in _STEP.findall(path):
        if name:
            key += f".{name}" if key else name
            names.append(name)
            table = table.get(name, {}) if isinstance(table, dict) else {}
        else:
            key += f"[{int(index) + 1}]" if len(table) > 1 else ""
            table = table[int(index)] if isinstance(table, list) else {}
    return key, names


def _plain(types: str) -> str:
    return " or ".join(_TYPES.get(name.strip(), name.strip()) for name in types.split("|"))


def _at(kind: Any, names: list[str]) -> Any:
    """The struct or Literal at `names` below the struct `kind`."""
    for name in names:
        fields = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
        kind = _inner(get_type_hints(kind)[fields[name]])
    return kind


def _inner(annotation: Any) -> Any:
    """The struct or Literal inside `tuple[X, ...]` or `X | None`; else the annotation."""
    if get_origin(annotation) is Literal:
        return annotation
    return next((_inner(part) for part in get_args(annotation) if part is not type(None)), annotation)


def _keys(kind: Any, names: list[str]) -> str:
    return ", ".join(field.encode_name for field in msgspec.structs.fields(_at(kind, names)))
