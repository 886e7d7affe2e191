"""Path of a simulation: a link with its queue, drop-tail, for all flows together or one for each."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from tcptutor.theory.domain import at_least, positive, require

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketPath:
    """A link with its queue, and the delay behind it."""

    delay: float
    """Seconds in each direction, 0 or above."""
    rate: float | None = None
    """Rate of the link, bit/s, above 0; None for a link that takes no time."""
    queue: float = math.inf
    """Packets that may wait, 0 or above; the one that is being sent does not wait."""
    schedule: Literal["fifo", "round-robin"] = "fifo"
    """Whether all flows share one queue, or each has its own and bytes are shared by deficit round robin."""
    quantum: float = 1500
    """Bytes that a queue may send per turn of the round robin, above 0."""
    cuts: tuple[tuple[float, float], ...] = ()
    """Spans in which whatever is sent in either direction dies: begin and end, seconds."""

    def __post_init__(self) -> None:
        at_least("delay", self.delay, 0, "seconds in each direction")
        if self.rate is not None:
            positive("rate", self.rate, "a link without a rate carries nothing")
        require(self.rate is not None or self.delay > 0, "delay", self.delay, "above 0", "no round trip")
        require(self.queue >= 0, "queue", self.queue, "0 or above", "packets that may wait")
        positive("quantum", self.quantum, "bytes per turn")

    def is_cut(self, t: float) -> bool:
        return any(begin <= t < end for begin, end in self.cuts)

    def service(self, size: float) -> float:
        """Return the seconds that the link needs for `size` bytes."""
        return 0.0 if self.rate is None else 8 * size / self.rate

    def segments(self, size: float) -> float:
        """Return the BDP in segments of `size` bytes: those that an empty path holds until the first ACK is back.

        Infinite without a rate.
        """
        return math.inf if self.rate is None else 1 + 2 * self.delay / self.service(size)


class PacketLink(Generic[T]):
    """Queue and schedule of the bottleneck; flows are known by their index."""

    def __init__(self, path: PacketPath, sizes: Sequence[float]) -> None:
        self.busy = False
        self._room = path.queue
        self._sizes = sizes
        own = path.schedule == "round-robin"
        self._quantum = path.quantum if own else math.inf
        self._queues = [deque[tuple[int, T]]() for _ in (sizes if own else sizes[:1])]
        self._deficits = [0.0] * len(self._queues)
        self._turns: deque[int] = deque()  # queues with packets; the first has its turn
        self._granted = False  # whether the first has got its quantum

    @property
    def waiting(self) -> int:
        return sum([len(queue) for queue in self._queues])

    def join(self, flow: int, packet: T) -> bool:
        """Let a packet of a flow wait; return False if the queue is full."""
        if self.busy and self.waiting >= self._room:
            return False
        place = flow if len(self._queues) > 1 else 0
        if not self._queues[place]:
            self._turns.append(place)
        self._queues[place].append((flow, packet))
        return True

    def next(self) -> T | None:
        """Take out the next packet: of several queues by deficit round robin (Shreedhar and Varghese 1995)."""
        while self._turns:
            place = self._turns[0]
            if not self._granted:
                self._deficits[place] += self._quantum
                self._granted = True
            flow, packet = self._queues[place][0]
            if self._sizes[flow] > self._deficits[place]:
                self._turns.rotate(-1)
                self._granted = False
                continue
            self._deficits[place] -= self._sizes[flow]
            self._queues[place].popleft()
            if not self._queues[place]:
                self._turns.popleft()
                self._deficits[place] = 0.0
                self._granted = False
            return packet
        return None
