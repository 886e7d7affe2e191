"""What several disciplines have in common: the scale of probabilities, lists of 32-bit numbers."""

from __future__ import annotations

import struct

_ATTRIBUTE = struct.Struct("=HH")
U32_MAX = 0xFFFFFFFF


def u32(probability: float) -> int:
    """A probability as the kernel takes it: parts of U32_MAX."""
    return round(probability * U32_MAX)


def numbers(prefix: str, names: str) -> tuple[tuple[str, str], ...]:
    """A map of attributes that are all 32-bit numbers: `prefix` before each of `names`, in the kernel's order."""
    return tuple((f"{prefix}_{name}", "uint32") for name in names.split())


def nested(data: bytes) -> dict[int, bytes]:
    """The payload of each attribute in `data`, by its number; of several with one number the last."""
    found, offset = {}, 0
    while offset + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < _ATTRIBUTE.size:
            break
        found[kind & 0x3FFF] = data[offset + _ATTRIBUTE.size : offset + length]
        offset += (length + 3) & ~3
    return found
