"""msgspec's validation messages in an author's words: the key, and its mistake.

msgspec reports "Object contains unknown field `asks` - at `$.question[0]`"; we report "question.asks" and "is
not a key here: the keys are prompt, choice, ...".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from tcptutor.base.errors import near

_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `(?P<path>[^`]*)`)?", re.DOTALL)
_FIELD = re.compile(r"Object (?P<how>contains unknown|missing required) field `(?P<name>[^`]*)`")
_VALUE = re.compile(r"Invalid (?:enum )?value '(?P<value>.*)'", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
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
    """Return `(key, reason)` for a validation `message` about `table`, which failed to convert to `kind`."""
    match = _MESSAGE.fullmatch(message)
    what, path = (match["what"], match["path"] or "") if match else (message, "")
    key, wanted, found = _walk(path, table, kind)
    if field := _FIELD.fullmatch(what):
        reason = "is missing"
        if field["how"] == "contains unknown":
            keys = tuple(_keys(_struct(wanted, found)))
            similar = near(field["name"], keys)
            reason = f"is not a key here{f' ({similar})' if similar else ''}: the keys are {', '.join(keys)}"
        return f"{key}.{field['name']}".lstrip("."), reason
    if value := _VALUE.fullmatch(what):
        return key, f"{value['value']!r} is not one of {', '.join(_values(wanted))}"
    plain = re.sub(r"`([^`]*)`", lambda name: _plain(name[1]), what)
    return key, plain.replace("Expected", "must be").replace(", got", ", not")


def _walk(path: str, table: Any, kind: Any) -> tuple[str, Any, Any]:
    """Return the author's key, the expected type and the actual value at `path`.

    Entries of a list are counted from 1. For the tag key, the expected type is the union of kinds.
    """
    key = ""
    for name, index in _STEP.findall(path):
        if name:
            key += f".{name}" if key else name
            struct = _struct(kind, table)
            if struct.__struct_config__.tag_field != name:
                fields = {field.encode_name: field.name for field in msgspec.structs.fields(struct)}
                kind = get_type_hints(struct)[fields[name]]
            table = table.get(name, {}) if isinstance(table, dict) else {}
        elif index == "...":  # a table with keys of the author's own: it is not said which
            kind, table = get_args(kind)[1], {}
        else:
            key += f"[{int(index) + 1}]" if len(table) > 1 else ""
            table = table[int(index)] if isinstance(table, list) else {}
    return key, kind, table


def _plain(types: str) -> str:
    return " or ".join(_TYPES.get(name.strip(), name.strip()) for name in types.split("|"))


def _parts(annotation: Any) -> Iterator[Any]:
    """Yield the structs and Literals inside `tuple[X | Y, ...]` or `X | None`."""
    if get_origin(annotation) is Literal or not get_args(annotation):
        yield annotation
        return
    for part in get_args(annotation):
        if part is not type(None) and part is not Ellipsis:
            yield from _parts(part)


def _struct(annotation: Any, table: Any) -> Any:
    structs = [each for each in _parts(annotation) if hasattr(each, "__struct_config__")]
    tag_field = structs[0].__struct_config__.tag_field
    tag = table.get(tag_field) if isinstance(table, dict) else None
    return next((each for each in structs if each.__struct_config__.tag == tag), structs[0])


def _values(annotation: Any) -> Iterator[str]:
    for part in _parts(annotation):
        yield from get_args(part) or (str(part.__struct_config__.tag),)


def _keys(struct: Any) -> Iterator[str]:
    if struct.__struct_config__.tag_field:
        yield struct.__struct_config__.tag_field
    yield from (field.encode_name for field in msgspec.structs.fields(struct))
