"""What could not be saved, in its order, until it can: a disk was full, or another program held the journal."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from tcptutor.errors import JournalError


class WaitingSaves:
    """Saves that failed. Each is tried again after those before it, so that the journal tells things in their order."""

    def __init__(self) -> None:
        self._saves: deque[Callable[[], object]] = deque()
        self.problem = ""
        """Why the first of them could not be made, one line; empty when nothing waits."""

    def __len__(self) -> int:
        return len(self._saves)

    def add(self, save: Callable[[], object], problem: str) -> None:
        """`save` raised JournalError, and will do so until it can be made."""
        self.problem = self.problem or problem
        self._saves.append(save)

    def try_again(self) -> bool:
        """Make those that can be made now; whether none is left. Never raises."""
        while self._saves:
            try:
                self._saves[0]()
            except JournalError as error:
                self.problem = str(error)
                return False
            self._saves.popleft()
        self.problem = ""
        return True
