"""Queue of saves that failed because the disk was full or the journal was locked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tcptutor.base.errors import JournalError


class DeferredFile(NamedTuple):
    """The file that a journal in memory moves to."""

    path: Path
    patience: float
    """Seconds to wait for other writers."""
    problem: str
    """Reason why it cannot be opened."""


_LONG_ATTEMPT = 0.25
"""Seconds from which an attempt is noticeable, as when a large run is packed. A lock is waited for less long."""
_PAUSE_FACTOR = 20
"""Pause after a long attempt, as a multiple of its duration."""


class WaitingSaves:
    """Failed saves. Each is retried after the saves before it, so that events keep their order."""

    def __init__(self) -> None:
        self._saves: deque[Callable[[], object]] = deque()
        self._paused_until = 0.0
        self.problem = ""
        """Reason why the first save failed; empty for an empty queue."""

    def add(self, save: Callable[[], object], problem: str) -> None:
        """Queue `save`, which raises JournalError until it succeeds."""
        self.problem = self.problem or problem
        self._saves.append(save)

    def retry(self, *, at_once: bool = False) -> bool:
        """Retry the saves in order, and return whether none is left. Never raises.

        After a long attempt, as of a large run, retries pause for a while, except with `at_once`.
        """
        began = time.monotonic()
        if began < self._paused_until and not at_once:
            return not self._saves
        while self._saves:
            try:
                self._saves[0]()
            except JournalError as error:
                self.problem = str(error)
                took = time.monotonic() - began
                if took > _LONG_ATTEMPT:
                    self._paused_until = began + (1 + _PAUSE_FACTOR) * took
                return False
            self._saves.popleft()
        self.problem = ""
        return True
