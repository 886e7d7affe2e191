"""Locks that mark open resources for other programs; the kernel releases them even if the holder crashes."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tcptutor.base import files, places


class SharedLock:
    """A lock on a file that several programs can hold at a time; call `close`."""

    def __init__(self, file: Path) -> None:
        self._handle: IO[bytes] | None = None
        with contextlib.suppress(OSError):
            files.make_private(file.parent)
            files.close_to_others(file.parent)
            self._handle = file.open("a+b")
            # A reader tries an exclusive lock, and so learns whether any program holds the shared lock.
            fcntl.flock(self._handle, fcntl.LOCK_SH)

    @property
    def is_open(self) -> bool:
        """True until `close`, unless the file cannot be opened."""
        return self._handle is not None

    def close(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None


def is_held(file: Path) -> bool:
    """Return whether a program holds the lock."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # opening a pipe would block
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


@contextlib.contextmanager
def app_is_open() -> Iterator[None]:
    """Show other programs during the block that the app works on the student's data."""
    lock = SharedLock(_app_file())
    try:
        yield
    finally:
        lock.close()


def is_app_open() -> bool:
    """Return whether an app works on the student's data now."""
    return is_held(_app_file())


def _app_file() -> Path:
    return places.state() / "app.lock"
