"""Attributes of tc messages: pyroute2's classes for them, and helpers that several disciplines share."""

from __future__ import annotations

import struct

from tcptutor.agent.imports import bare_package

with bare_package("pyroute2"):
    from pyroute2.netlink import nla
    from pyroute2.netlink.rtnl.tcmsg import plugins, sched_netem, tcmsg

__all__ = ["U32_MAX", "nested", "nla", "numbers", "plugins", "sched_netem", "tcmsg", "u32"]

_ATTRIBUTE = struct.Struct("=HH")
U32_MAX = 0xFFFFFFFF


def u32(probability: float) -> int:
    """Scale a probability to the kernel's range, 0 to U32_MAX."""
    return round(probability * U32_MAX)


def numbers(prefix: str, names: str) -> tuple[tuple[str, str], ...]:
    """Return pyroute2's map of 32-bit attributes: `prefix` before each of `names`, in the kernel's order."""
    return tuple((f"{prefix}_{name}", "uint32") for name in names.split())


def nested(data: bytes) -> dict[int, bytes]:
    """Return the payload of each attribute in `data` by its number; repeated numbers keep the last payload."""
    payloads, offset = {}, 0
    while offset + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < _ATTRIBUTE.size:
            break
        payloads[kind & 0x3FFF] = data[offset + _ATTRIBUTE.size : offset + length]
        offset += (length + 3) & ~3
    return payloads
