"""QEMU's devices in the guest, and its kernel: shared memory, a repeatable pause, and the seed of random numbers."""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from collections.abc import Callable
from pathlib import Path

from tcptutor.wire.ring import SIZE, Ring

_SHARED_MEMORY = ("0x1af4", "0x1110")
"""PCI vendor and device of QEMU's shared memory (docs/specs/ivshmem-spec)."""
_WATCHDOG = ("0x8086", "0x25ab")
"""PCI vendor and device of Intel's 6300ESB."""
_CONFIG, _LOCK = 0x60, 0x68
"""Offsets in its configuration space (Intel 6300ESB datasheet, section 16)."""
_MICROSECONDS_NO_INTERRUPT = b"\x07\x00"
_ENABLE = b"\x02"
_RELOAD = 0x0C
_KEYS = (0x80, 0x86)
"""Values to write to the reload register before each other write."""
_TICKS = 25_000
"""Length of each of the two stages; a tick is 32/33 µs."""
_AWAKE = 0.053
"""Time to stay awake, s, longer than both stages: a sleeping guest's clock would be advanced. On a busy host QEMU stops
the guest 20 ms or more after its timer has expired."""
_RESEED = 0x5207
"""RNDRESEEDCRNG, linux/random.h."""
_POOL = Path("/dev/urandom")


def open_ring() -> Ring | None:
    """Open the guest's end of the ring; None if the machine has no shared memory device."""
    device = _find_device(*_SHARED_MEMORY)
    return Ring(_map_resource(device, 2, SIZE)) if device else None


def find_pause() -> Callable[[], None] | None:
    """Return a function that pauses this machine until QEMU resumes it; None without the watchdog.

    QEMU is configured to pause the machine when the watchdog expires. A stop requested from outside takes effect after
    an instruction that depends on the host, and a stop by one of the guest's instructions leaves a moment in which its
    clock may run on. A timer of QEMU's on the guest's clock interrupts the guest in an idle loop, so its next steps do
    not depend on where exactly it stopped. If it stops later, the poll count in shared memory shows it.
    """
    device = _find_device(*_WATCHDOG)
    if device is None:
        return None
    memory = memoryview(_map_resource(device, 0, 16))
    longs, words = memory.cast("I"), memory.cast("H")
    config = os.open(device / "config", os.O_RDWR)

    def pause() -> None:
        os.pwrite(config, _MICROSECONDS_NO_INTERRUPT, _CONFIG)
        for stage in (0, 1):
            for key in _KEYS:
                words[_RELOAD // 2] = key
            longs[stage] = _TICKS
        end = time.monotonic() + _AWAKE
        os.pwrite(config, _ENABLE, _LOCK)
        while time.monotonic() < end:
            pass

    return pause


def reseed(seed: int) -> None:
    """Reseed the kernel's random numbers, as used by iptables' statistic and hashed queues, from `seed`.

    The numbers also depend on earlier draws. Needs root, and a kernel that serves a single lab, as in the guest.
    """
    pool = os.open(_POOL, os.O_WRONLY)
    try:
        os.write(pool, seed.to_bytes(16, "little", signed=True))
        fcntl.ioctl(pool, _RESEED)
    finally:
        os.close(pool)


def _find_device(vendor: str, device: str) -> Path | None:
    """Enable the first device of these ids (as in /sys, "0x1af4"), and return its folder; None without the device."""
    for folder in sorted(Path("/sys/bus/pci/devices").glob("*")):
        if (_text(folder / "vendor"), _text(folder / "device")) == (vendor, device):
            (folder / "enable").write_text("1")
            return folder
    return None


def _map_resource(device: Path, resource: int, size: int) -> mmap.mmap:
    """Map the first `size` bytes of a device's memory resource. Raises OSError."""
    handle = os.open(device / f"resource{resource}", os.O_RDWR)
    try:
        return mmap.mmap(handle, size)
    finally:
        os.close(handle)


def _text(path: Path) -> str:
    return path.read_text().strip()
