"""How the guest has its own machine stopped: by a watchdog (Intel's 6300ESB), which QEMU is told to take as a pause.

A stop that is asked for from outside comes after an instruction that depends on the other machine, and a stop by an
instruction of the guest's leaves a moment in which its clock may run on. A timer of QEMU's own, on the guest's clock,
finds the guest in a loop that does nothing: wherever in it the guest is stopped, what it does after is the same. One
that is stopped later is not: the shared memory tells how often the guest came out of the loop.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from tcptutor.wire import pci

_DEVICE = ("0x8086", "0x25ab")
_CONFIG, _LOCK = 0x60, 0x68
"""Places in its configuration space (Intel 6300ESB datasheet, section 16)."""
_MICROSECONDS_NO_INTERRUPT = b"\x07\x00"
_ENABLE = b"\x02"
_RELOAD = 0x0C
_KEYS = (0x80, 0x86)
"""What has to be written to the reload register before each other write."""
_TICKS = 25_000
"""Of each of its two stages; a tick is 32/33 µs."""
_AWAKE = 0.053
"""Seconds, more than both stages take: on a busy machine QEMU's main thread stops the guest 20 ms and more after its
timer ran out. The guest may not sleep meanwhile: its clock would be put forward."""


def in_guest() -> Callable[[], None] | None:
    """What stops the machine until it is told to go on; None where there is no such device."""
    device = pci.find(*_DEVICE)
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
