"""Whether a file of the cache is as it was written: looked at in places each time, or read as a whole."""

from __future__ import annotations

import hashlib
import os
import shutil
from io import BufferedReader
from pathlib import Path

import msgspec

from tcptutor.base import files

KIND = files.small_kind("manifest of the guest's cache", "run `tcptutor setup`")
"""The small files of the cache."""
_END = 1 << 16
"""Bytes of each end that are looked at."""
_PLACES, _PAGE = 64, 4096
"""How many places between them, evenly, and bytes of each."""


class FileDigest(msgspec.Struct, frozen=True):
    """What a file was when it was written."""

    size: int
    """Bytes."""
    places: str
    """SHA-256 of its ends and of some pages between them: most damage shows there, in a millisecond."""
    whole: str
    """SHA-256 of all of it."""

    @classmethod
    def of(cls, path: Path) -> FileDigest:
        """Of the regular file `path`. Raises OSError."""
        with files.open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            return cls(size, _places(file, size), _whole(file))

    def fits(self, path: Path, *, whole: bool = False) -> bool:
        """Whether `path` is that file, by its size and some places, or as a `whole`. Raises FileNotFoundError."""
        try:
            with files.open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                return size == self.size and (
                    _whole(file) == self.whole if whole else _places(file, size) == self.places
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
    """Make room for a file or folder at `path`, whatever is there; nothing where nothing is. Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
