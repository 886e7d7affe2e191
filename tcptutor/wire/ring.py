"""The guest's way in and out: bytes through memory that QEMU shares with the program that runs it.

A virtio port interrupts the guest at an instant that depends on the other machine. Memory does not: on the virtual
clock a run is not disturbed by being watched, and a request that is there before the guest moves is found at the same
instant each time.

Layout: bytes written so far (u64), bytes read so far (u64), bytes of the request (u64), how often the guest looked for
one (u64), then the data, going round, and at the end room for what changes during a run (doubles, as `later` has them)
and for the request.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Iterable

from tcptutor.spec import Change
from tcptutor.wire import later, pci

SIZE = 16 << 20
"""Of the whole region, bytes."""
HEADER = 64
REQUEST = 1 << 16
"""The longest request, bytes."""
_LATER = 8 * later.LENGTH
TAIL = _LATER + REQUEST
"""Bytes behind the data."""
_WRITTEN, _READ, _REQUESTED, _LOOKS = 0, 1, 2, 3
_DEVICE = ("0x1af4", "0x1110")
"""PCI vendor and device of QEMU's shared memory (docs/specs/ivshmem-spec)."""


class Ring:
    """Either end of it, over the mapped region. One writer, one reader, neither ever waits for a lock."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._counters = memoryview(memory)[:HEADER].cast("Q")
        self._data = memoryview(memory)[HEADER:-TAIL]
        self.later = memoryview(memory)[-TAIL:-REQUEST].cast("d")
        """What changes during the run that was handed in, as `later.put` leaves it."""
        self._request = memoryview(memory)[-REQUEST:]
        self._seen_read = 0

    def write(self, data: bytes) -> None:
        """Add `data`; waits while there is no room, which happens only when the reader has stopped reading."""
        rest = memoryview(data)
        while rest:
            written = self._counters[_WRITTEN]
            room = len(self._data) - (written - self._seen_read)
            if room <= 0:
                # Looked at only when it must be: how far the reader is depends on the other machine, and even
                # the size of the number would change how many instructions Python takes here.
                if self._seen_read == self._counters[_READ]:
                    time.sleep(0.01)
                self._seen_read = self._counters[_READ]
                continue
            place = written % len(self._data)
            part = rest[: min(room, len(self._data) - place)]
            self._data[place : place + len(part)] = part
            # Only now: the reader must never see a count that is ahead of the data.
            self._counters[_WRITTEN] = written + len(part)
            rest = rest[len(part) :]

    def read(self) -> bytes:
        """All that is there; empty when there is nothing new."""
        read, written = self._counters[_READ], self._counters[_WRITTEN]
        if read == written:
            return b""
        place, length = read % len(self._data), written - read
        first = bytes(self._data[place : place + length])
        data = first + bytes(self._data[: length - len(first)])
        self._counters[_READ] = written
        return data

    def hand_in(self, request: bytes, changes: Iterable[Change] = ()) -> None:
        """Leave a request for the guest, which does not move meanwhile; at most REQUEST bytes.

        changes: those that it is to know of only when they are due.
        """
        later.put(self.later, changes)
        self._request[: len(request)] = request
        self._counters[_REQUESTED] = len(request)

    def handed_in(self) -> bytes:
        """The request that was left, once; empty when there is none."""
        # Counted first: a guest that is saved here has looked already, for whoever asks.
        self._counters[_LOOKS] += 1
        length = self._counters[_REQUESTED]
        if not length:
            return b""
        self._counters[_REQUESTED] = 0
        return bytes(self._request[:length])

    @property
    def looks(self) -> int:
        """How often the guest has looked for a request."""
        return self._counters[_LOOKS]

    def skip(self) -> None:
        """Take all that is there as read."""
        self._counters[_READ] = self._counters[_WRITTEN]

    def close(self) -> None:
        """Give the memory back; safe to call twice."""
        self._counters.release()
        self._data.release()
        self.later.release()
        self._request.release()
        self._memory.close()


def in_guest() -> Ring | None:
    """The guest's end; None where the machine has no such device."""
    device = pci.find(*_DEVICE)
    return Ring(pci.mapped(device, 2, SIZE)) if device else None
