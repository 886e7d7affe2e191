"""Mutations of files: of bytes, of text, of what stands in a JSON or TOML document."""

from __future__ import annotations

import gzip
import json
import random
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any

_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
CONTROL = "\x1b]52;c;c3RvbGVu\x07"
"""Sets the clipboard of a terminal that is shown it."""
_TOKENS = [
    *[
        "",
        "-1",
        "0",
        "1e308",
        "-1e308",
        "1e-308",
        "1e999",
        "NaN",
        "Infinity",
        "-0.0",
        "null",
        "true",
        "[]",
        "{}",
    ],
    *[
        "9" * 5000,
        "1" + "0" * 18,
        str(2**63),
        str(-(2**63) - 1),
        str(2**31),
        '""',
        '"x"',
        "2025-13-45",
        "1979-05-27",
    ],
    *[
        "[" * 5000,
        "{" * 5000,
        '{"a":' * 3000,
        "]" * 50,
        '"\\u001b]52;c;eA==\\u0007"',
        '"\\ud800"',
        '"\\u202e"',
    ],
]
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_VALUES: list[Any] = [
    *[
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31,
        2**53,
        2**63 - 1,
        2**64,
        -(2**63),
        10**400,
        1e308,
        -1e308,
        1e-308,
        0.5,
    ],
    *[
        float("nan"),
        float("inf"),
        float("-inf"),
        "",
        "x",
        CONTROL,
        "\ud800",
        "é" * 2000,
        "9" * 5000,
        "../../../etc/passwd",
    ],
    *[
        [],
        {},
        [[]] * 3,
        [None],
        {"": None},
        ["a"] * 1000,
        [0] * 10000,
        "2025-01-01",
        "1e9 Mbit/s",
        "a\nb",
        "\x00",
    ],
]


def mutated(data: bytes, chance: random.Random) -> bytes:
    """`data` with one to four mutations. What is packed by gzip is unpacked for it, and packed again most times."""
    if data[:2] == b"\x1f\x8b" and chance.random() < 0.8:
        return gzip.compress(mutated(gzip.decompress(data), chance), 1, mtime=0)
    if data[:1] in b"{[" and chance.random() < 0.6 and (found := _in_json(data, chance)) is not None:
        return found
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        data = chance.choice(_KINDS)(data, chance)
    return data


def bomb(size: int, byte: bytes = b" ") -> bytes:
    """Pack `size` times the same byte, one of JSON's spaces by default, with gzip.

    All blocks are the same, so one is packed: to pack gigabytes takes a processor a third of a minute.
    """
    block = byte * (1 << 20)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    whole, rest = divmod(size, len(block))
    end = zlib.compressobj(9, zlib.DEFLATED, -15)
    last = end.compress(byte * rest) + end.flush()
    checksum = 0
    for _ in range(whole):
        checksum = zlib.crc32(block, checksum)
    checksum = zlib.crc32(byte * rest, checksum)
    return _GZIP_HEADER + packed * whole + last + struct.pack("<II", checksum, size % (1 << 32))


def _place(data: bytes, chance: random.Random) -> int:
    return chance.randrange(len(data) + 1)


def _flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        if changed:
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: _place(data, chance)]


def _without(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    return data[:at] + data[at + chance.choice((1, 2, 10, 100, 1000)) :]


def _twice(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    piece = data[at : at + chance.choice((1, 10, 100, 1000))]
    return data[:at] + piece * chance.choice((2, 3, 100)) + data[at:]


def _random(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    return data[:at] + chance.randbytes(chance.choice((1, 4, 64))) + data[at:]


def _token(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    return data[:at] + chance.choice(_TOKENS).encode(errors="surrogatepass") + data[at:]


def _number(data: bytes, chance: random.Random) -> bytes:
    """Another number in the place of one."""
    found = list(_NUMBER.finditer(data, pos := chance.randrange(max(1, len(data))), pos + 4000))
    if not found:
        return _token(data, chance)
    which = chance.choice(found)
    return data[: which.start()] + chance.choice(_TOKENS).encode(errors="surrogatepass") + data[which.end() :]


def _lines(data: bytes, chance: random.Random) -> bytes:
    """Lines left out, said twice, or in another order."""
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return _flip(data, chance)
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    kind = chance.randrange(3)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(other, lines[at])
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return b"".join(lines)


def _zeros(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    length = chance.choice((1, 64, 4096, len(data)))
    return data[:at] + bytes(min(length, len(data) - at)) + data[at + length :]


def _control(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    return (
        data[:at]
        + chance.choice((CONTROL.encode(), b"\\u001b]0;x\\u0007", b"\xff\xfe", b"\x9b2J"))
        + data[at:]
    )


_KINDS: list[Callable[[bytes, random.Random], bytes]] = [
    *(
        _flip,
        _cut,
        _without,
        _twice,
        _random,
        _token,
        _number,
        _number,
        _number,
        _lines,
        _lines,
        _zeros,
        _control,
    )
]


def _in_json(data: bytes, chance: random.Random) -> bytes | None:
    """A value of the document, or of one of its lines, is another, missing, or elsewhere; None without a document."""
    lines = data.splitlines() if data.count(b"\n") > 1 and data[:1] == b"{" else [data]
    at = chance.randrange(len(lines))
    try:
        document = json.loads(lines[at])
    except (ValueError, RecursionError):
        return None
    for _ in range(chance.choice((1, 1, 2, 5))):
        document = _changed(document, chance)
    lines[at] = json.dumps(document).encode()
    return b"\n".join(lines) + (b"\n" if data.endswith(b"\n") else b"")


def _changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        kind = chance.random()
        if kind < 0.08:
            return {name: each for name, each in value.items() if name != key}
        if kind < 0.16:
            return {**value, key: value[chance.choice(list(value))]}
        return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        kind = chance.random()
        if kind < 0.1:
            return value[:at] + value[at + 1 :]
        if kind < 0.2:
            return value[:at] + [value[at]] * chance.choice((2, 1000)) + value[at:]
        return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    if isinstance(value, int | float) and not isinstance(value, bool) and chance.random() < 0.3:
        return chance.choice((-value, value * 1000003, value // 7, value + 1, value * 10**15))
    return chance.choice(_VALUES)
