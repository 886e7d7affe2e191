"""The archive format that the kernel unpacks as its initial RAM disk: cpio "newc" (cpio(5)).

Archives can be laid end to end, so that a small one with our own code follows the large one with the system.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from typing import NamedTuple


class Entry(NamedTuple):
    name: str
    mode: int
    data: bytes


def file(name: str, data: bytes, permissions: int = 0o644) -> Entry:
    return Entry(name, stat.S_IFREG | permissions, data)


def folder(name: str) -> Entry:
    return Entry(name, stat.S_IFDIR | 0o755, b"")


def archive(entries: Iterable[Entry]) -> bytes:
    """The entries as one archive, padded to a multiple of 512 bytes."""
    parts: list[bytes] = []
    for inode, entry in enumerate((*entries, Entry("TRAILER!!!", 0, b"")), start=1):
        name = entry.name.encode() + b"\0"
        fields = (inode, entry.mode, 0, 0, 1, 0, len(entry.data), 0, 0, 0, 0, len(name), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        parts += [_padded(header + name, 4), _padded(entry.data, 4)]
    return _padded(b"".join(parts), 512)


def _padded(data: bytes, multiple: int) -> bytes:
    return data + b"\0" * (-len(data) % multiple)
