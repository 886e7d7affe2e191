"""A machine's state in a disk image: what is read of one that was written, and of what holds none."""

from __future__ import annotations

import io
import struct

import pytest

from tcptutor.backends.guest import saved_state

CLUSTER = 1 << 16


def _with_state(state: bytes, length: int | None = None) -> io.BytesIO:
    """An image as QEMU leaves it: a snapshot whose clusters lie anywhere, zeros not stored."""
    image = bytearray(saved_state.empty_disk())
    pieces = [state[at : at + CLUSTER] for at in range(0, len(state), CLUSTER)]
    base = len(image)
    table, level1, level2 = base, base + CLUSTER, base + 2 * CLUSTER
    data = base + 3 * CLUSTER
    entries = []
    for piece in reversed(pieces):
        entries.append(data if any(piece) else 1)
        if any(piece):
            image.extend(bytes(data - len(image)) + piece.ljust(CLUSTER, b"\0"))
            data += CLUSTER
    entries.reverse()
    image[table : table + 48] = struct.pack(
        ">QIHHIIQIIQ", level1, 2, 1, 4, 0, 0, 0, 0, 16, len(state) if length is None else length
    )
    image[level1 : level1 + 16] = struct.pack(">QQ", 0, level2 | 1 << 63)
    image[level2 : level2 + 8 * len(entries)] = struct.pack(
        f">{len(entries)}Q", *(entry if entry == 1 else entry | 1 << 63 for entry in entries)
    )
    image[60:72] = struct.pack(">IQ", 1, table)
    return io.BytesIO(bytes(image))


def test_a_state_is_read_whole_with_its_zeros() -> None:
    state = b"begin" + bytes(3 * CLUSTER) + b"middle" * 30000 + b"end"
    assert b"".join(saved_state.state_in(_with_state(state))) == state


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (io.BytesIO(saved_state.empty_disk()), "no state"),
        (_with_state(b"x" * CLUSTER, length=1 << 40), "missing|cut off"),
        (io.BytesIO(_with_state(b"x" * CLUSTER).getvalue()[: 5 * CLUSTER]), "cut off"),
        (io.BytesIO(b"QFI"), "cut off"),
    ],
)
def test_what_holds_none_is_told(image: io.BytesIO, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        list(saved_state.state_in(image))
