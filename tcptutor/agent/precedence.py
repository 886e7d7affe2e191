"""The agent's samples before the flows' own work, where a processor has not time enough for both."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

_HIGHEST = -20


@contextmanager
def precedence() -> Iterator[None]:
    """This thread before all others that have an ordinary priority, for the length of the block.

    The kernel shares a processor among threads, and each flow has two: of 16 flows that never wait, the thread that
    takes the samples would get one part of 33. Without the right to it, nothing changes.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, _HIGHEST)
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)
