"""The places of a packet socket's ring as the kernel leaves them (linux/if_packet.h, TPACKET_V2).

A ring is made of blocks, a block of places of one size, a place of a header and as much of a packet as has room.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

BLOCK = 1 << 15
"""Bytes of a block; whole pages on every machine."""
_HEADER = struct.Struct("=IIIHHII")
"""struct tpacket2_hdr, its first 28 bytes: status, length, snaplen, mac, net, seconds, nanoseconds."""
_ALIGNMENT = 16
_BEFORE = 66
"""Where an Ethernet frame begins in its place: so that its IP header is aligned, after tpacket2_hdr and sockaddr_ll."""


class Packet(NamedTuple):
    """One packet at one interface."""

    ns: int
    """When it passed, by the kernel's clock."""
    length: int
    """Of the whole Ethernet frame, bytes."""
    data: bytes
    """Its first bytes."""


def place_size(snaplen: int) -> int:
    """Bytes of a place that holds `snaplen` bytes of a packet."""
    return -(-(_BEFORE + snaplen) // _ALIGNMENT) * _ALIGNMENT


def places(size: int, snaplen: int) -> tuple[int, int]:
    """How many blocks a ring of at most `size` bytes has, one at least, and how many places are in each."""
    return max(1, size // BLOCK), BLOCK // place_size(snaplen)


def packets(block: bytes, snaplen: int) -> Iterator[Packet]:
    """The packets in a block, in the order in which they passed."""
    size = place_size(snaplen)
    for start in range(0, len(block) - size + 1, size):
        status, length, kept, mac, _, seconds, ns = _HEADER.unpack_from(block, start)
        if not status:
            return
        begin = start + mac
        data = block[begin : begin + min(kept, snaplen, size - mac)]
        yield Packet(seconds * 1_000_000_000 + ns, length, data)
