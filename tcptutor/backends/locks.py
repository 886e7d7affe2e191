"""One at a time, among all programs: a lock on a file that the kernel takes back however its holder ends.

The file stays where it is. Where the file system knows no locks everybody goes on at once, as without them.
"""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO

_LOOK_EVERY = 0.1


@contextmanager
def held(path: Path, waiting: Callable[[], None]) -> Iterator[bool]:
    """Hold the lock on `path`, whose folder is made; gives whether another held it first.

    When another does, call `waiting` and wait for it to end. Raises OSError when `path` cannot be written.
    """
    with _open(path) as handle:
        waited = not _taken(handle, fcntl.LOCK_EX)
        if waited:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield waited


@asynccontextmanager
async def held_async(path: Path, waiting: Callable[[], None], shared: bool = False) -> AsyncIterator[bool]:
    """As `held`, while the event loop goes on. `shared` shares it with others, and waits for one that does not."""
    with _open(path) as handle:
        waited = False
        while not _taken(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
            if not waited:
                waiting()
            waited = True
            await asyncio.sleep(_LOOK_EVERY)
        yield waited


def _open(path: Path) -> IO[bytes]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a+b")


def _taken(handle: IO[bytes], how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True
