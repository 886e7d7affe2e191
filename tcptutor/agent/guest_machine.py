"""Control of the guest's own machine: a repeatable pause for snapshots, and the seed of the kernel's random numbers."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from tcptutor.wire import pci

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


def find_pause() -> Callable[[], None] | None:
    """Return a function that pauses this machine until QEMU resumes it; None without the watchdog.

    QEMU is configured to pause the machine when the watchdog expires. A stop requested from outside takes effect after
    an instruction that depends on the host, and a stop by one of the guest's instructions leaves a moment in which its
    clock may run on. A timer of QEMU's on the guest's clock interrupts the guest in an idle loop, so its next steps do
    not depend on where exactly it stopped. If it stops later, the poll count in shared memory shows it.
    """
    device = pci.find(*_WATCHDOG)
    if device is None:
        return None
    memory = memoryview(pci.map_resource(device, 0, 16))
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
