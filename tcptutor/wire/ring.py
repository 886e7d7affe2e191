"""Memory that QEMU shares between guest and host program: a ring of events, a request, and deferred path changes.

A virtio port interrupts the guest at an instant that depends on the host. Shared memory does not: on the virtual clock
watching a run does not disturb it, and a request that was stored before the guest resumes is found at the same instant
each time.

All work of the agent takes guest time, even reading a longer request. Two runs that differ only in deferred changes
must be identical to the byte until the first change. So their requests are equal, and the changes wait in the memory,
where a number gives the time of the next.

Layout: bytes written (u64), bytes read (u64), bytes of the request (u64), polls for a request by the guest (u64), the
circular data, then room for deferred path changes (doubles, as `store_changes` writes them) and for the request.
"""

from __future__ import annotations

import math
import mmap
import time
from array import array
from collections.abc import Iterable, MutableSequence
from typing import TypeAlias

import msgspec

from tcptutor.spec import Change, Experiment
from tcptutor.wire import plan
from tcptutor.wire.memory import largest_buffer

SIZE = 16 << 20
"""Bytes of the region."""
HEADER = 64
REQUEST = 1 << 16
"""Bytes of the longest request."""
_WRITTEN, _READ, _REQUESTED, _POLLS = 0, 1, 2, 3

Numbers: TypeAlias = "MutableSequence[float] | memoryview[float]"
_NAMES = ("rate", "delay", "jitter", "loss", "queue", "link", "mtu", "algorithm")
"""Names of changes that can be deferred; new flows must be prepared before the run."""
_NUMBERS = 3
"""Numbers per change: time in s, index of the name, value."""
MAX_CHANGES = 100
DEFERRED_LENGTH = _NUMBERS * MAX_CHANGES + 1
"""Numbers for MAX_CHANGES changes and the end mark."""
TAIL = 8 * DEFERRED_LENGTH + REQUEST
"""Bytes behind the circular data."""
_SET_BY_NETEM = {"delay", "jitter", "loss"}


class Ring:
    """Either end of the mapped ring, for a single writer and a single reader, without locks."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._counters = memoryview(memory)[:HEADER].cast("Q")
        self._data = memoryview(memory)[HEADER:-TAIL]
        self.deferred = memoryview(memory)[-TAIL:-REQUEST].cast("d")
        """Path changes of the submitted run, as `store_changes` writes them."""
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
        store_changes(self.deferred, changes)
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


class DeferredChanges:
    """Queue of path changes, sorted by time, in the format of `store_changes`."""

    def __init__(self, numbers: Numbers | None = None) -> None:
        self._numbers = array("d", [math.inf]) if numbers is None else numbers
        self._at = 0

    @property
    def due(self) -> float:
        """Time of the next change, s after the traffic began; infinite when the queue is empty.

        Reading it takes the same number of instructions in either case.
        """
        return self._numbers[self._at]

    def take(self) -> Change:
        at, name, value = (self._numbers[self._at + place] for place in range(_NUMBERS))
        self._at += _NUMBERS
        return Change(at, _NAMES[int(name)], value)


def store_changes(numbers: Numbers, changes: Iterable[Change]) -> None:
    """Write `changes` into `numbers`.

    Args:
        numbers: Memory for LENGTH numbers.
        changes: At most MAX_CHANGES changes, sorted by time.
    """
    place = 0
    for change in changes:
        for number in (change.at, _NAMES.index(change.name), change.value):
            numbers[place] = float(number)
            place += 1
    numbers[place] = math.inf


def split_deferred(experiment: Experiment) -> tuple[Experiment, tuple[Change, ...]]:
    """Split off the path changes that the agent need not know in advance.

    Returns:
        The experiment for the request, and the changes to defer. No change is deferred if hosts or path must be
        prepared for it, by a netem that is in place from the start, by larger buffers or by further flows.
    """
    path = experiment.path
    request = msgspec.structs.replace(experiment, path=msgspec.structs.replace(path, changes=()))
    shaped = plan.chain(plan.forward(path), experiment.hosts.mtu, experiment.seed)
    has_netem = any(qdisc.kind == "netem" for qdisc in shaped)
    same_qdiscs = has_netem or not _SET_BY_NETEM & {change.name for change in path.changes}
    same_buffers = largest_buffer(request) == largest_buffer(experiment)
    same_flows = all(change.name in _NAMES for change in path.changes)
    if len(path.changes) > MAX_CHANGES or not (same_qdiscs and same_buffers and same_flows):
        return experiment, ()
    return request, path.changes
