"""One setup at a time: a lock that the kernel takes back however its holder ends."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tcptutor.errors import SetupError, refused


@contextmanager
def only_one(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock in `folder`, which is made. When another holds it, call `waiting` and wait for it to end.

    Raises SetupError when `folder` cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / "setup.lock").open("w")
    except OSError as error:
        raise SetupError(
            f"cannot write in {folder}: {refused(error, 'set XDG_CACHE_HOME to a folder of yours')}"
        ) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
