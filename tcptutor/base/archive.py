"""Plain tar archives that hold several files and open in any tool.

They are read one header at a time. Links, devices, folders and paths outside the archive are refused, and
tar's extensions are ignored.
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
    """Offset of the first byte of its content."""
    size: int


class NotAnArchive(ValueError):
    """An archive that we did not write, or that is incomplete."""


def header(name: str, size: int) -> bytes:
    """Return the tar header of a file, without dates, owners or modes: equal files make equal archives."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o644
    return entry.tobuf(tarfile.USTAR_FORMAT)


def padding(size: int) -> bytes:
    """Return the zero bytes after a content of `size` bytes."""
    return bytes(-size % tarfile.BLOCKSIZE)


def member(name: str, content: bytes) -> bytes:
    """Return a complete archive entry: header, content and padding."""
    return header(name, len(content)) + content + padding(len(content))


def end() -> bytes:
    """Return the two empty blocks that end an archive."""
    return bytes(2 * tarfile.BLOCKSIZE)


def content(source: BufferedIOBase | IO[bytes], member: ArchiveMember) -> bytes:
    """Return the content of a file of an archive. Raises OSError."""
    source.seek(member.start)
    return source.read(member.size)


def members(source: BufferedIOBase | IO[bytes], most: int) -> Iterator[ArchiveMember]:
    """Yield the files of an archive in order, with `source` positioned at the content of each.

    Raises:
        NotAnArchive: On any entry that is not a regular file of at most `most` bytes.
        OSError: `source` cannot be read.
    """
    while True:
        block = source.read(tarfile.BLOCKSIZE)
        if block == bytes(tarfile.BLOCKSIZE):
            return
        try:
            entry = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.TarError, ValueError) as error:
            if len(block) < tarfile.BLOCKSIZE:
                raise NotAnArchive("it ends too early") from error
            raise NotAnArchive(f"no header at byte {source.tell() - len(block)}") from error
        if entry.type != tarfile.REGTYPE or not 0 <= entry.size <= most:
            raise NotAnArchive("a file of another kind or size than ours")
        current = ArchiveMember(entry.name, source.tell(), entry.size)
        yield current
        source.seek(current.start + current.size + len(padding(current.size)))
