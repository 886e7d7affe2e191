"""Integrity checks of cached files, by a few sampled places or by all bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
from io import BufferedReader
from pathlib import Path

import msgspec

from tcptutor.base import files

KIND = files.small_kind("manifest of the guest's cache", "run `tcptutor setup`")
"""File kind of the cache's manifests."""
_END = 1 << 16
"""Bytes of each end of a file that are sampled."""
_PLACES, _PAGE = 64, 4096
"""Number of evenly spaced samples between the ends, and bytes of each."""


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
