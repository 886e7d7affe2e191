"""Reader and writer of pcapng (draft-ietf-opsawg-pcapng), the packet format of Wireshark.

The reader accepts our own files: little-endian, a single section, Ethernet, times in nanoseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tcptutor.run.frames import CapturedPacket

_SECTION, _INTERFACE, _STATISTICS, _PACKET = 0x0A0D0D0A, 1, 5, 6
_ORDER = 0x1A2B3C4D
_ETHERNET = 1
_NANOSECONDS = 9
# Options: of every block, of a section, of an interface, of an interface's statistics.
_END, _COMMENT = 0, 1
_USER_APPLICATION = 4
_NAME, _RESOLUTION = 2, 9
_PASSED, _DROPPED = 4, 5
_HEAD = struct.Struct("<II")
_PACKET_HEAD = struct.Struct("<IIIII")
"""Interface, time (high and low 32 bits), captured bytes, bytes of the packet."""


class CapturedInterface(NamedTuple):
    """A captured interface and its packet counts."""

    name: str
    packets: int = 0
    """Packets in the file."""
    dropped: int = 0
    """Packets dropped because the capture buffer was full."""


def write(
    interfaces: Sequence[CapturedInterface], packets: Iterable[CapturedPacket], snaplen: int, comment: str
) -> Iterator[bytes]:
    """Yield the file in pieces. `packets` are in order of time."""
    section = struct.pack("<IHHq", _ORDER, 1, 0, -1)
    yield _block(_SECTION, section, {_COMMENT: comment.encode(), _USER_APPLICATION: b"tcptutor"})
    for each in interfaces:
        options = {_NAME: each.name.encode(), _RESOLUTION: bytes([_NANOSECONDS])}
        yield _block(_INTERFACE, struct.pack("<HHI", _ETHERNET, 0, snaplen), options)
    last = 0
    for packet in packets:
        last = packet.ns
        head = _PACKET_HEAD.pack(packet.interface, *_halves(last), len(packet.data), packet.length)
        yield _block(_PACKET, head + _padded(packet.data), {})
    for number, each in enumerate(interfaces):
        passed = each.packets + each.dropped
        counts = {_PASSED: struct.pack("<Q", passed), _DROPPED: struct.pack("<Q", each.dropped)}
        yield _block(_STATISTICS, struct.pack("<III", number, *_halves(last)), counts)


def _halves(ns: int) -> tuple[int, int]:
    return ns >> 32, ns & 0xFFFFFFFF


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _block(kind: int, body: bytes, options: dict[int, bytes]) -> bytes:
    for code, value in options.items():
        body += struct.pack("<HH", code, len(value)) + _padded(value)
    if options:
        body += struct.pack("<HH", _END, 0)
    length = len(body) + 12
    return _HEAD.pack(kind, length) + body + struct.pack("<I", length)


def read(data: bytes | bytearray) -> tuple[list[str], Iterator[CapturedPacket]]:
    """Return the names of the interfaces, and the packets. Raises ValueError for damage, also while iterating."""
    blocks = _blocks(memoryview(data))
    kind, body = next(blocks, (0, memoryview(b"")))
    if kind != _SECTION or len(body) < 4 or struct.unpack_from("<I", body)[0] != _ORDER:
        raise ValueError("not a pcapng file of a little-endian machine")
    names = []
    for kind, body in _blocks(memoryview(data)):
        if kind == _INTERFACE:
            names.append(bytes(_options(body[8:]).get(_NAME, b"")).decode(errors="replace"))
    return names, (_packet(body, len(names)) for kind, body in blocks if kind == _PACKET)


def _blocks(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at < len(data):
        if len(data) - at < 12:
            raise ValueError(f"half a block at byte {at}")
        kind, length = _HEAD.unpack_from(data, at)
        if length < 12 or length % 4 or length > len(data) - at:
            raise ValueError(f"a block of {length} bytes at byte {at}")
        yield kind, data[at + 8 : at + length - 4]
        at += length


def _options(body: memoryview) -> dict[int, memoryview]:
    found, at = dict[int, memoryview](), 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == _END:
            break
        found[code] = body[at + 4 : at + 4 + length]
        at += 4 + length + -length % 4
    return found


def _packet(body: memoryview, interfaces: int) -> CapturedPacket:
    if len(body) < _PACKET_HEAD.size:
        raise ValueError("half a packet")
    interface, high, low, kept, length = _PACKET_HEAD.unpack_from(body)
    if interface >= interfaces:
        raise ValueError(f"a packet of interface {interface}, of {interfaces}")
    begin = _PACKET_HEAD.size
    return CapturedPacket(high << 32 | low, interface, length, bytes(body[begin : begin + kept]))
