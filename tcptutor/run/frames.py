"""Captured packets: in a packet socket's ring as the kernel leaves them (linux/if_packet.h, TPACKET_V2), and in a run.

A ring consists of blocks and a block of equal slots. A slot holds a header and the first bytes of a packet.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

BLOCK = 1 << 15
"""Bytes of a block; a multiple of the page size on every machine."""
_HEADER = struct.Struct("=IIIHHII")
"""struct tpacket2_hdr, its first 28 bytes: status, length, snaplen, mac, net, seconds, nanoseconds."""
_ALIGNMENT = 16
_FRAME_OFFSET = 66
"""Offset of an Ethernet frame in its slot, after tpacket2_hdr and sockaddr_ll, so that the IP header is aligned."""


class Packet(NamedTuple):
    """Packet captured at an interface."""

    ns: int
    """Capture time by the kernel's clock, ns."""
    length: int
    """Length of the Ethernet frame, bytes."""
    data: bytes
    """First bytes of the frame, at most `snaplen`."""


class CapturedPacket(NamedTuple):
    """A packet at an interface."""

    ns: int
    """Time of capture, ns since 1970."""
    interface: int
    """Index in the list of interfaces."""
    length: int
    """Length of the Ethernet frame, bytes."""
    data: bytes
    """The first bytes of the frame."""


def slot_size(snaplen: int) -> int:
    """Return the bytes of a slot that holds `snaplen` bytes of a packet."""
    return -(-(_FRAME_OFFSET + snaplen) // _ALIGNMENT) * _ALIGNMENT


def ring_shape(size: int, snaplen: int) -> tuple[int, int]:
    """Return the number of blocks in a ring of about `size` bytes, and the number of slots in a block."""
    return max(1, size // BLOCK), BLOCK // slot_size(snaplen)


def packets(block: bytes, snaplen: int) -> Iterator[Packet]:
    """Yield the packets in a block in capture order."""
    size = slot_size(snaplen)
    for start in range(0, len(block) - size + 1, size):
        status, length, captured, mac, _, seconds, ns = _HEADER.unpack_from(block, start)
        if not status:
            return
        begin = start + mac
        data = block[begin : begin + min(captured, snaplen, size - mac)]
        yield Packet(seconds * 1_000_000_000 + ns, length, data)
