"""Exclusive file locks between processes, which the kernel releases however the holder ends.

The file stays in place. On a file system without locks everyone proceeds at once.
"""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO

_POLL_S = 0.1


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
