"""Decoding of JSON and MessagePack into typed structs, safe in threads.

msgspec collects the fields of a struct when the struct is first decoded, and another thread can use this description
before it is complete: if two threads decode a new type at the same time, the process ends with a segmentation fault.
So each type is prepared under a lock, with all structs in it, before it is used.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

_preparing = threading.RLock()
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


@overload
def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]: ...
@overload
def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]: ...
def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return the decoder of JSON for a type: a struct, a union of structs, or whatever msgspec accepts."""
    if kind not in _decoders:
        with _preparing:
            if kind not in _decoders:
                _decoders[kind] = msgspec.json.Decoder(kind)
    return _decoders[kind]


@overload
def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]: ...
@overload
def msgpack_decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]: ...
def msgpack_decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    """Return a decoder of MessagePack for a type."""
    with _preparing:
        return msgspec.msgpack.Decoder(kind)


@overload
def decode_json(data: bytes | bytearray | memoryview | str, kind: type[T]) -> T: ...
@overload
def decode_json(data: bytes | bytearray | memoryview | str, kind: Any) -> Any: ...
def decode_json(data: bytes | bytearray | memoryview | str, kind: Any) -> Any:
    """Decode JSON as a type.

    Raises:
        msgspec.MsgspecError: It is no JSON, or not of that type.
    """
    return json_decoder(kind).decode(data)


@overload
def convert(given: object, kind: type[T]) -> T: ...
@overload
def convert(given: object, kind: Any) -> Any: ...
def convert(given: object, kind: Any) -> Any:
    """Convert dicts, lists and plain values to a type.

    Raises:
        msgspec.ValidationError: They are not of that type.
    """
    json_decoder(kind)
    return msgspec.convert(given, kind)
