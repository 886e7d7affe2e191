"""One setup at a time: a lock that the kernel takes back however its holder ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tcptutor.backends import locks
from tcptutor.errors import SetupError, refused


@contextmanager
def only_one(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock in `folder`, which is made. When another holds it, call `waiting` and wait for it to end.

    Raises SetupError when `folder` cannot be written.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locks.held(folder / "setup.lock", waiting))
        except OSError as error:
            raise SetupError(
                f"cannot write in {folder}: {refused(error, 'set XDG_CACHE_HOME to a folder of yours')}"
            ) from error
        yield
