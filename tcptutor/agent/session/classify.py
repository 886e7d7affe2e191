"""Classification of packets: the class that a discipline's filters select, as far as addresses decide it."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import NamedTuple

from tcptutor.agent.netlink import FilterState

_U32_CLASSID, _U32_LINK, _U32_SEL, _U32_POLICE, _U32_ACT = 1, 3, 5, 6, 7
_SEL, _KEY = struct.Struct("=BBBxHHhhI"), struct.Struct(">II8s")
_FLOWER_CLASSID, _FLOWER_ACT, _FLOWER_TYPE, _FLOWER_FLAGS, _FLOWER_IN_HARDWARE = 1, 3, 8, 22, 86
_FLOWER_ADDRESSES = {10: 11, 12: 13}
"""Attributes of the source and destination address, and of their masks."""
_MATCHALL_CLASSID, _MATCHALL_ACT = 1, 2
_IPV4 = 0x0800


class Ends(NamedTuple):
    """Sender and receiver of a packet, known before any traffic."""

    source: str
    destination: str


class ClassChoice(NamedTuple):
    """Result of a discipline's filters for a packet."""

    classid: int | None = None
    """Selected class; None if the filters select none."""
    unread: str = ""
    """Filter that the agent cannot decode, such as "a u32 filter"; empty if it decodes all."""


def choose(filters: Iterable[FilterState], ends: Ends) -> ClassChoice:
    """Return the result of the first matching filter."""
    for rule in filters:
        matches = _MATCHES.get(rule.kind, _unknown)(rule, ends)
        if matches is False:
            continue
        classid, actions = _RESULTS.get(rule.kind, (0, ()))
        if matches is None or any(number in rule.options for number in actions) or not classid:
            return ClassChoice(unread=f"a {_name(rule)} filter")
        named = rule.options.get(classid)
        return ClassChoice(int.from_bytes(named, "little") if named else None)
    return ClassChoice()


def _name(rule: FilterState) -> str:
    """Return the filter's kind, or that of an action that changes or redirects packets."""
    if rule.kind == "u32" and _U32_POLICE in rule.options:
        return "police"
    content = b"".join(rule.options.values())
    return next((action for action in ("police", "mirred") if action.encode() in content), rule.kind)


def _unknown(_one: FilterState, _ends: Ends) -> bool | None:
    return None


def _always(_one: FilterState, _ends: Ends) -> bool | None:
    return True


def _u32(rule: FilterState, ends: Ends) -> bool | None:
    if _U32_SEL not in rule.options:
        return False  # a hash table
    sel = rule.options[_U32_SEL]
    if _U32_LINK in rule.options or len(sel) < _SEL.size:
        return None
    count = _SEL.unpack_from(sel)[2]
    keys = sel[_SEL.size : _SEL.size + count * _KEY.size]
    return _all([_key(keys[at : at + _KEY.size], ends) for at in range(0, len(keys), _KEY.size)])


def _key(key: bytes, ends: Ends) -> bool | None:
    """Match 32 bits of the IP header; None if the agent does not know them."""
    mask, value, where = _KEY.unpack(key.ljust(_KEY.size, b"\0"))
    offset, base = struct.unpack("=ii", where)
    if not mask:
        return True
    address = {12: ends.source, 16: ends.destination}.get(offset) if not base else None
    return None if address is None else (int(IPv4Address(address)) ^ value) & mask == 0


def _flower(rule: FilterState, ends: Ends) -> bool | None:
    known = {_FLOWER_CLASSID, _FLOWER_ACT, _FLOWER_TYPE, _FLOWER_FLAGS, _FLOWER_IN_HARDWARE}
    known |= _FLOWER_ADDRESSES.keys() | set(_FLOWER_ADDRESSES.values())
    results: list[bool | None] = [None] if set(rule.options) - known else []
    kind = rule.options.get(_FLOWER_TYPE)
    if kind is not None:
        results.append(int.from_bytes(kind, "big") == _IPV4)
    for (address, mask), host in zip(_FLOWER_ADDRESSES.items(), ends, strict=True):
        if address in rule.options:
            bits = int.from_bytes(rule.options.get(mask, b"\xff" * 4), "big")
            expected = int.from_bytes(rule.options[address], "big")
            results.append((int(IPv4Address(host)) ^ expected) & bits == 0)
    return _all(results)


def _all(results: list[bool | None]) -> bool | None:
    if False in results:
        return False
    return None if None in results else True


_MATCHES = {"u32": _u32, "flower": _flower, "matchall": _always}
_RESULTS = {
    "u32": (_U32_CLASSID, (_U32_POLICE, _U32_ACT)),
    "flower": (_FLOWER_CLASSID, (_FLOWER_ACT,)),
    "matchall": (_MATCHALL_CLASSID, (_MATCHALL_ACT,)),
}
"""Attributes of the class and of the actions, by kind."""
