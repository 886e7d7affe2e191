"""Records of single transfers in memory that the flows' process writes and the agent reads."""

from __future__ import annotations

import mmap

_NUMBERS = 2
"""Numbers of a record: start and end by the lab's clock, s; 0 if it has not started or ended."""


class TransferTimes:
    """Start and end of up to `most` transfers, in memory shared with child processes."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._memory = mmap.mmap(-1, max(mmap.PAGESIZE, 8 * _NUMBERS * most))
        self._numbers = memoryview(self._memory).cast("d")

    def start(self, place: int, now: float) -> None:
        self._numbers[_NUMBERS * place] = now

    def end(self, place: int, now: float) -> None:
        self._numbers[_NUMBERS * place + 1] = now

    def of(self, place: int) -> tuple[float | None, float | None]:
        """Return start and end of a transfer by the lab's clock, s."""
        start, end = self._numbers[_NUMBERS * place : _NUMBERS * (place + 1)]
        return start or None, end or None

    def close(self) -> None:
        """Release the memory; safe to call twice."""
        self._numbers.release()
        self._memory.close()
