"""The guest's way out: bytes through memory that QEMU shares with the program that runs it.

A write to the virtio port makes the device answer with an interrupt, at an instant that depends on the other machine.
Memory answers with nothing, so on the virtual clock a run is not disturbed by being watched.

Layout: bytes written so far (u64), bytes read so far (u64), then the data, going round.
"""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

SIZE = 16 << 20
"""Of the whole region, bytes."""
HEADER = 64
_WRITTEN, _READ = 0, 1
_DEVICE = ("0x1af4", "0x1110")
"""PCI vendor and device of QEMU's shared memory (docs/specs/ivshmem-spec)."""


class Ring:
    """Either end of it, over the mapped region. One writer, one reader, neither ever waits for a lock."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._counters = memoryview(memory)[:HEADER].cast("Q")
        self._data = memoryview(memory)[HEADER:]

    def write(self, data: bytes) -> None:
        """Add `data`; waits while there is no room, which happens only when the reader has stopped reading."""
        rest = memoryview(data)
        while rest:
            written = self._counters[_WRITTEN]
            room = len(self._data) - (written - self._counters[_READ])
            if room <= 0:
                time.sleep(0.01)
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

    def skip(self) -> None:
        """Take all that is there as read."""
        self._counters[_READ] = self._counters[_WRITTEN]

    def close(self) -> None:
        """Give the memory back; safe to call twice."""
        self._counters.release()
        self._data.release()
        self._memory.close()


def in_guest() -> Ring | None:
    """The guest's end; None where the machine has no such device."""
    for device in Path("/sys/bus/pci/devices").glob("*"):
        names = tuple((device / name).read_text().strip() for name in ("vendor", "device"))
        if names == _DEVICE:
            (device / "enable").write_text("1")
            handle = os.open(device / "resource2", os.O_RDWR)
            try:
                return Ring(mmap.mmap(handle, SIZE))
            finally:
                os.close(handle)
    return None
