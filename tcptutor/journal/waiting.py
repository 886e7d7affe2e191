"""What could not be saved, in its order, until it can: a disk was full, or another program held the journal."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tcptutor.base.errors import JournalError


class LaterFile(NamedTuple):
    """The file that a journal in memory moves to."""

    path: Path
    patience: float
    """Seconds to wait for another program that is writing."""
    problem: str
    """Why it cannot be opened, one line."""


_LONG = 0.25
"""Seconds that a try takes where somebody would notice: a large run is packed for one. A lock is waited for less."""
_REST = 20
"""After a long try there is none for so many times as long."""


class WaitingSaves:
    """Saves that failed. Each is tried again after those before it, so that the journal tells things in their order."""

    def __init__(self) -> None:
        self._saves: deque[Callable[[], object]] = deque()
        self._rests_until = 0.0
        self.problem = ""
        """Why the first of them could not be made, one line; empty when nothing waits."""

    def add(self, save: Callable[[], object], problem: str) -> None:
        """`save` raised JournalError, and will do so until it can be made."""
        self.problem = self.problem or problem
        self._saves.append(save)

    def try_again(self, *, at_once: bool = False) -> bool:
        """Make those that can be made now; whether none is left. Never raises.

        After a try that took long, a large run's, none is made for a while, except `at_once`.
        """
        began = time.monotonic()
        if began < self._rests_until and not at_once:
            return not self._saves
        while self._saves:
            try:
                self._saves[0]()
            except JournalError as error:
                self.problem = str(error)
                took = time.monotonic() - began
                if took > _LONG:
                    self._rests_until = began + (1 + _REST) * took
                return False
            self._saves.popleft()
        self.problem = ""
        return True
