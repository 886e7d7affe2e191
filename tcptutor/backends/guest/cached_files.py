"""Files of the guest's cache: locks between processes, integrity checks, and leftovers of killed builds.

The kernel releases a lock however its holder ends; on a file system without locks everyone proceeds at once. Integrity
is checked by a few sampled places or by all bytes. Names of unfinished files contain the builder's process id.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO

import msgspec

from tcptutor.base import files

KIND = files.small_kind("manifest of the guest's cache", "run `tcptutor setup`")
"""File kind of the cache's manifests."""
_END = 1 << 16
"""Bytes of each end of a file that are sampled."""
_PLACES, _PAGE = 64, 4096
"""Number of evenly spaced samples between the ends, and bytes of each."""
_POLL_S = 0.1


class FileDigest(msgspec.Struct, frozen=True):
    """Size and hashes of a file at the time it was written."""

    size: int
    """Size, bytes."""
    places: str
    """SHA-256 of the ends and some pages between: detects most damage within a millisecond."""
    whole: str
    """SHA-256 of all bytes."""

    @classmethod
    def of(cls, path: Path) -> FileDigest:
        """Return the digest of the regular file `path`. Raises OSError."""
        with files.open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            return cls(size, _places(file, size), _whole(file))

    def matches(self, path: Path, *, thorough: bool = False) -> bool:
        """Check `path` against the digest by size and samples, or with `thorough` by all bytes.

        Raises FileNotFoundError.
        """
        try:
            with files.open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                return size == self.size and (
                    _whole(file) == self.whole if thorough else _places(file, size) == self.places
                )
        except FileNotFoundError:
            raise
        except OSError:
            return False


def _places(file: BufferedReader, size: int) -> str:
    fd, digest = file.fileno(), hashlib.sha256()
    digest.update(os.pread(fd, _END, 0))
    for place in range(1, _PLACES):
        digest.update(os.pread(fd, _PAGE, size * place // _PLACES))
    digest.update(os.pread(fd, _END, max(0, size - _END)))
    return digest.hexdigest()


def _whole(file: BufferedReader) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()


def clear(path: Path) -> None:
    """Remove the file or folder at `path`, if any. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


_NAME = re.compile(r"image\.(?P<image>\d+)\.part|\.(initrd|snapshot)\.\w+\.(?P<pid>\d+)")


def _began(pid: str) -> float:
    """Return the start time of process `pid`, seconds since 1970 (proc_pid_stat(5), field 22).

    Raises OSError when the process has ended.
    """
    # The process name, in parentheses, may contain spaces.
    state, *fields = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()
    if state == "Z":  # ended, not yet reaped
        raise ProcessLookupError
    ticks = float(fields[18])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def _belongs_to(path: Path, pid: str) -> bool:
    """Check that process `pid` lives and is old enough to have made `path`, as process ids are reused."""
    try:
        return _began(pid) <= path.lstat().st_mtime + 1
    except OSError:
        return False


def remove_leftovers(folder: Path) -> int:
    """Remove leftovers and return their number. Files of a running build stay."""
    removed = 0
    for path in folder.iterdir() if folder.is_dir() else ():
        match = _NAME.fullmatch(path.name)
        if match is None or _belongs_to(path, match["image"] or match["pid"]):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        removed += 1
    return removed


@contextmanager
def hold(path: Path, waiting: Callable[[], None]) -> Iterator[bool]:
    """Hold the lock on `path`, creating its folder; yield whether there was a wait for it.

    `waiting` is called before a wait. Raises OSError when `path` cannot be written.
    """
    with _open(path) as handle:
        waited = not _try_lock(handle, fcntl.LOCK_EX)
        if waited:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield waited


@asynccontextmanager
async def hold_async(path: Path, waiting: Callable[[], None], shared: bool = False) -> AsyncIterator[bool]:
    """Hold the lock as `hold` does without blocking the event loop.

    With `shared` other shared holders are allowed; an exclusive holder is waited for.
    """
    with _open(path) as handle:
        waited = False
        while not _try_lock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
            if not waited:
                waiting()
            waited = True
            await asyncio.sleep(_POLL_S)
        yield waited


def _open(path: Path) -> IO[bytes]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a+b")


def _try_lock(handle: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True
