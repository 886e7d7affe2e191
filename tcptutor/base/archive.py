"""Files of ours that hold several others: plain tar archives, which any tool opens.

They are read one header at a time, and nothing of what tar's extensions could ask for is done: no links, no devices, no
folders, no other place.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from io import BufferedIOBase
from typing import IO, NamedTuple


class ArchiveMember(NamedTuple):
    """A file in an archive."""

    name: str
    start: int
    """The first byte of its content."""
    size: int


class NoArchive(ValueError):
    """What is read is no archive of ours, or not whole."""


def header(name: str, size: int) -> bytes:
    """What stands before the content of a file. Without dates, owners and modes that differ: equal files make equal
    archives.
    """
    told = tarfile.TarInfo(name)
    told.size, told.mode = size, 0o644
    return told.tobuf(tarfile.USTAR_FORMAT)


def padding(size: int) -> bytes:
    """What stands after the content of a file."""
    return bytes(-size % tarfile.BLOCKSIZE)


def member(name: str, content: bytes) -> bytes:
    """A whole file, as it stands in an archive."""
    return header(name, len(content)) + content + padding(len(content))


def end() -> bytes:
    """What stands after the last file."""
    return bytes(2 * tarfile.BLOCKSIZE)


def members(source: BufferedIOBase | IO[bytes], most: int) -> Iterator[ArchiveMember]:
    """The files in it, in their order; `source` stands at the content of each when it is given.

    Raises NoArchive for anything else than regular files of at most `most` bytes, and OSError.
    """
    while True:
        block = source.read(tarfile.BLOCKSIZE)
        if block == bytes(tarfile.BLOCKSIZE):
            return
        try:
            told = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.TarError, ValueError) as error:
            if len(block) < tarfile.BLOCKSIZE:
                raise NoArchive("it ends too early") from error
            raise NoArchive(f"no header at byte {source.tell() - len(block)}") from error
        if told.type != tarfile.REGTYPE or not 0 <= told.size <= most:
            raise NoArchive("a file of another kind or size than ours")
        found = ArchiveMember(told.name, source.tell(), told.size)
        yield found
        source.seek(found.start + found.size + len(padding(found.size)))
