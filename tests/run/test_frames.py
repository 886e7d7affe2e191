"""The kernel's ring of packets, read from bytes that are laid out as linux/if_packet.h has them."""

from __future__ import annotations

import struct

import pytest

from tcptutor.run import frames
from tcptutor.spec.frame_sizes import ALL_HEADERS


def _place(size: int, seconds: int, ns: int, length: int, data: bytes) -> bytes:
    header = struct.pack("=IIIHHII", 1, length, len(data), 66, 80, seconds, ns)
    return (header.ljust(66, b"\x55") + data).ljust(size, b"\0")


def test_all_headers_of_a_segment_fit_into_a_place_of_160_bytes() -> None:
    """14 of Ethernet, 20 of IPv4, 20 of TCP, 40 of its options."""
    assert ALL_HEADERS == 14 + 20 + 20 + 40
    assert frames.slot_size(ALL_HEADERS) == 160
    assert frames.ring_shape(32 << 20, ALL_HEADERS) == (1024, 204)


def test_a_block_is_read_up_to_the_first_empty_place() -> None:
    size = frames.slot_size(54)
    block = _place(size, 5, 7, 1514, b"a" * 60) + _place(size, 5, 9, 42, b"b" * 42)
    found = list(frames.packets(block.ljust(frames.BLOCK, b"\0"), 54))
    assert found == [
        frames.Packet(5_000_000_007, 1514, b"a" * 54),
        frames.Packet(5_000_000_009, 42, b"b" * 42),
    ]


@pytest.mark.parametrize("snaplen", [54, 94, 1514, 9014])
def test_a_packet_fits_into_its_place_whatever_is_kept_of_it(snaplen: int) -> None:
    size = frames.slot_size(snaplen)
    assert size % 16 == 0
    assert size <= frames.BLOCK
    assert next(frames.packets(_place(size, 0, 0, 9014, b"x" * snaplen), snaplen)).data == b"x" * snaplen


def test_memory_for_one_block_is_one_block() -> None:
    assert frames.ring_shape(1, 9014) == (1, 3)
