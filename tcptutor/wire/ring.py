"""Ring buffer in memory that QEMU shares between the guest and the host program.

A virtio port interrupts the guest at an instant that depends on the host. Shared memory does not: on the virtual clock
watching a run does not disturb it, and a request that was stored before the guest resumes is found at the same instant
each time.

Layout: bytes written (u64), bytes read (u64), bytes of the request (u64), polls for a request by the guest (u64), the
circular data, then room for deferred path changes (doubles, as `wire.deferred` stores them) and for the request.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Iterable

from tcptutor.spec import Change
from tcptutor.wire import deferred

SIZE = 16 << 20
"""Bytes of the region."""
HEADER = 64
REQUEST = 1 << 16
"""Bytes of the longest request."""
_DEFERRED = 8 * deferred.LENGTH
TAIL = _DEFERRED + REQUEST
"""Bytes behind the circular data."""
_WRITTEN, _READ, _REQUESTED, _POLLS = 0, 1, 2, 3


class Ring:
    """Either end of the mapped ring, for a single writer and a single reader, without locks."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._counters = memoryview(memory)[:HEADER].cast("Q")
        self._data = memoryview(memory)[HEADER:-TAIL]
        self.deferred = memoryview(memory)[-TAIL:-REQUEST].cast("d")
        """Path changes of the submitted run, as `deferred.store` writes them."""
        self._request = memoryview(memory)[-REQUEST:]
        self._seen_read = 0

    def write(self, data: bytes) -> None:
        """Append `data`; waits while the ring is full, which happens only when the reader has stopped."""
        rest = memoryview(data)
        while rest:
            written = self._counters[_WRITTEN]
            room = len(self._data) - (written - self._seen_read)
            if room <= 0:
                # The reader's position depends on the host, and even the size of that number would change how many
                # instructions Python takes here. Read it only when the ring seems full.
                if self._seen_read == self._counters[_READ]:
                    time.sleep(0.01)
                self._seen_read = self._counters[_READ]
                continue
            place = written % len(self._data)
            part = rest[: min(room, len(self._data) - place)]
            self._data[place : place + len(part)] = part
            # Published last: the reader must never see a count ahead of the data.
            self._counters[_WRITTEN] = written + len(part)
            rest = rest[len(part) :]

    def read(self) -> bytes:
        """Return all unread bytes, if any."""
        read, written = self._counters[_READ], self._counters[_WRITTEN]
        if read == written:
            return b""
        place, length = read % len(self._data), written - read
        first = bytes(self._data[place : place + length])
        data = first + bytes(self._data[: length - len(first)])
        self._counters[_READ] = written
        return data

    def submit(self, request: bytes, changes: Iterable[Change] = ()) -> None:
        """Store a request for the guest, which must be stopped meanwhile.

        Args:
            request: At most REQUEST bytes.
            changes: Path changes that the agent learns only when they are due.
        """
        deferred.store(self.deferred, changes)
        self._request[: len(request)] = request
        self._counters[_REQUESTED] = len(request)

    def take_request(self) -> bytes:
        """Remove and return the submitted request; empty without a request."""
        # Counted first: a guest whose snapshot is taken here has already polled, as the host can see.
        self._counters[_POLLS] += 1
        length = self._counters[_REQUESTED]
        if not length:
            return b""
        self._counters[_REQUESTED] = 0
        return bytes(self._request[:length])

    @property
    def polls(self) -> int:
        return self._counters[_POLLS]

    def skip(self) -> None:
        self._counters[_READ] = self._counters[_WRITTEN]

    def close(self) -> None:
        """Unmap the memory; safe to call twice."""
        self._counters.release()
        self._data.release()
        self.deferred.release()
        self._request.release()
        self._memory.close()
