"""A disk image as a container for a machine's saved state, in QEMU's qcow2 format (docs/interop/qcow2).

In record mode QEMU can save its state only to a disk's snapshot. The saved stream is the same that QEMU reads when it
starts from a file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO

_BITS = 16
_CLUSTER = 1 << _BITS
_SIZE = 1 << 20
"""Size of the unused virtual disk, bytes."""
_HEADER = struct.Struct(">4sIQIIQIIQQIIQQQQII")
_SNAPSHOT = struct.Struct(">QIHHIIQII")
_PLACE = 0x00FF_FFFF_FFFF_FE00
"""Bits of a table entry with the cluster's offset."""
_ENTRIES = _CLUSTER // 8


def empty() -> bytes:
    """Return an image without a state, for QEMU to save into."""
    header = _HEADER.pack(
        b"QFI\xfb", 3, 0, 0, _BITS, _SIZE, 0, 1, 3 * _CLUSTER, _CLUSTER, 1, 0, 0, 0, 0, 0, 4, _HEADER.size + 8
    )
    references = struct.pack(">Q", 2 * _CLUSTER)
    counts = struct.pack(">4H", 1, 1, 1, 1)
    return b"".join(part.ljust(_CLUSTER, b"\0") for part in (header, references, counts, b""))


def content(image: IO[bytes]) -> Iterator[bytes]:
    """Yield the state in `image`, in pieces. Raises ValueError for an image without a state."""
    header = _HEADER.unpack(_read(image, 0, _HEADER.size))
    size, snapshots, place = header[5], header[11], header[12]
    if not snapshots:
        raise ValueError("no state was written")
    table, entries, *_, extra = _SNAPSHOT.unpack(_read(image, place, _SNAPSHOT.size))
    if extra < 8:
        raise ValueError("the state has no length")
    (left,) = struct.unpack(">Q", _read(image, place + _SNAPSHOT.size, 8))
    level1 = struct.unpack(f">{entries}Q", _read(image, table, 8 * entries))
    # The state follows the disk's clusters, at the next level-2 table.
    for entry in level1[-(-size // (_ENTRIES * _CLUSTER)) :]:
        level2 = struct.unpack(f">{_ENTRIES}Q", _read(image, entry & _PLACE, _CLUSTER))
        for cluster in level2:
            if not left:
                return
            length = min(left, _CLUSTER)
            stored = cluster & _PLACE and not cluster & 1
            yield _read(image, cluster & _PLACE, length) if stored else bytes(length)
            left -= length
    if left:
        raise ValueError("a part of the state is missing")


def _read(image: IO[bytes], place: int, length: int) -> bytes:
    image.seek(place)
    data = image.read(length)
    if len(data) != length:
        raise ValueError("the image of the state is cut off")
    return data
