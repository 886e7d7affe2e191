"""Files of a machine's saved state: compressed with zstd, and in QEMU's qcow2 format (docs/interop/qcow2).

QEMU trusts zstd's pipe in both directions: only zstd's exit status shows whether a snapshot was written completely,
and whether it is intact. In record mode QEMU can save its state only to a disk's snapshot, in the same stream that it
reads when it starts from a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO

from tcptutor.backends import programs
from tcptutor.base.errors import LabError


def decompress(snapshot: Path) -> contextlib.AbstractAsyncContextManager[int]:
    """Open a pipe with the content of `snapshot`. Raises LabError on exit if the file is damaged."""
    return _through("-dcq", "--", str(snapshot), into=False)


def compress(snapshot: Path) -> contextlib.AbstractAsyncContextManager[int]:
    """Open a pipe into `snapshot`. Raises LabError on exit unless everything was written."""
    return _through("-q", "-3", "-T0", "-f", "-o", str(snapshot), into=True)


@contextlib.asynccontextmanager
async def _through(*arguments: str, into: bool) -> AsyncIterator[int]:
    command = [programs.find("zstd"), *arguments]
    reading, writing = os.pipe()
    ours, theirs = (writing, reading) if into else (reading, writing)
    with contextlib.ExitStack() as end:
        end.callback(os.close, ours)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=theirs if into else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL if into else theirs,
                stderr=asyncio.subprocess.PIPE,
            )
        finally:
            os.close(theirs)
        # QEMU may hang when its state is cut short, so a failure of zstd ends the wait.
        failed = asyncio.timeout(None)
        watching = asyncio.create_task(_expire_on_failure(process, failed))
        try:
            async with failed:
                yield ours
        except BaseException as error:
            watching.cancel()
            programs.kill(process)
            reason = await _last_words(process)
            if failed.expired() or (isinstance(error, LabError) and reason):
                raise LabError(reason or f"zstd ended with status {process.returncode}") from None
            raise
        watching.cancel()
    reason = await _last_words(process)
    if process.returncode != 0:
        raise LabError(reason or f"zstd ended with status {process.returncode}")


async def _expire_on_failure(process: asyncio.subprocess.Process, failed: asyncio.Timeout) -> None:
    if await process.wait() != 0:
        failed.reschedule(asyncio.get_running_loop().time())


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """Return the reason from zstd's error line, after the names of program and file; empty without an error."""
    _, output = await process.communicate()
    return output.decode(errors="replace").strip().rpartition(" : ")[2]


_BITS = 16
_CLUSTER = 1 << _BITS
_SIZE = 1 << 20
"""Size of the unused virtual disk, bytes."""
_HEADER = struct.Struct(">4sIQIIQIIQQIIQQQQII")
_SNAPSHOT = struct.Struct(">QIHHIIQII")
_PLACE = 0x00FF_FFFF_FFFF_FE00
"""Bits of a table entry with the cluster's offset."""
_ENTRIES = _CLUSTER // 8


def empty_disk() -> bytes:
    """Return an image without a state, for QEMU to save into."""
    header = _HEADER.pack(
        b"QFI\xfb", 3, 0, 0, _BITS, _SIZE, 0, 1, 3 * _CLUSTER, _CLUSTER, 1, 0, 0, 0, 0, 0, 4, _HEADER.size + 8
    )
    references = struct.pack(">Q", 2 * _CLUSTER)
    counts = struct.pack(">4H", 1, 1, 1, 1)
    return b"".join(part.ljust(_CLUSTER, b"\0") for part in (header, references, counts, b""))


def state_in(image: IO[bytes]) -> Iterator[bytes]:
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
