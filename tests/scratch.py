"""A folder in memory for the tests' small files: a commit of a journal there never waits for a disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")
_MIN_SPACE = 1 << 30
"""Bytes; the users and screens of all tests need less than a tenth of that."""


@contextmanager
def in_memory(otherwise: Path) -> Iterator[Path]:
    """Make a folder in memory and remove it at the end; make `otherwise` if memory is short or mounted noexec."""
    if not _fits():
        otherwise.mkdir(exist_ok=True)
        yield otherwise
        return
    folder = Path(tempfile.mkdtemp(prefix="tests-", dir=_MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _fits() -> bool:
    try:
        can_execute = not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC
        return can_execute and shutil.disk_usage(_MEMORY).free >= _MIN_SPACE and os.access(_MEMORY, os.W_OK)
    except OSError:
        return False
