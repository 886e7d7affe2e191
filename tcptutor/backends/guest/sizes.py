"""How much memory a guest has: a few sizes, each with snapshots of its own, and the one that holds an experiment."""

from __future__ import annotations

from pathlib import Path

from tcptutor.base import units
from tcptutor.base.errors import KernelLacks
from tcptutor.spec import Experiment
from tcptutor.wire import memory

ORDINARY = 384
"""MiB: holds what the lessons ask for, and starts in a second."""
SIZES = (ORDINARY, 1024, 4096, 16384)
"""MiB. The larger ones are for fast long paths, and made when an experiment first needs them."""
_QEMU_MIB = 100
"""What QEMU itself needs beside the guest's memory."""
_SYSTEM, _PAGES = 210 << 20, 0.03
"""What the guest's own system takes, measured: bytes, and a share of the memory, for what is known of each page."""
_MEMINFO = Path("/proc/meminfo")


_FLOWS, _PROGRAMS = 64, 700 << 10
"""So many flows fit into every guest. Of each further one, bytes at both ends: measured with a program at each end, and
more than its threads take; with 256 flows of small buffers a guest of 384 MiB ended."""


def tcp_bytes(size: int, flows: int = 0) -> int:
    """What TCP may hold in a guest of `size` MiB before its kernel holds it back: `memory.SHARE` of what is free, and
    of what the programs of so many `flows` leave.
    """
    programs = _PROGRAMS * max(0, flows - _FLOWS)
    return round(memory.SHARE * ((size << 20) * (1 - _PAGES) - _SYSTEM - programs))


def available() -> int | None:
    """MiB that programs can still have on this machine; None where it does not tell."""
    for line in _MEMINFO.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) >> 10
    return None


def fitting(size: int) -> int:
    """How many guests of `size` MiB this machine's free memory holds, at least one."""
    return max(1, room(size))


def room(size: int) -> int:
    """For how many more guests of `size` MiB this machine's free memory has room; for one where it does not tell."""
    free = available()
    return 1 if free is None else free // (size + _QEMU_MIB)


def size(experiment: Experiment) -> int:
    """MiB of the smallest guest that holds it. Raises KernelLacks when none does, or this machine has not enough."""
    kept = memory.capture_bytes(experiment)
    wanted = memory.tcp_bytes(experiment) + memory.udp_bytes(experiment) + kept
    needs = (
        f"the flows' buffers on this path{' and the capture' if kept else ''} may take {units.size(wanted)}"
    )
    instead = f"take a lower rate, a shorter delay or queue, {'a smaller capture_size, ' if kept else ''}or fewer flows"
    flows = experiment.total_streams
    found = next((size for size in SIZES if wanted <= tcp_bytes(size, flows)), None)
    if found is None:
        raise KernelLacks(
            f"{needs}, and the largest guest holds {units.size(tcp_bytes(SIZES[-1]))}: {instead}"
        )
    free = available()
    # The ordinary one is not refused: it takes what it needs little by little, and most runs need half of it.
    if found > ORDINARY and free is not None and free < found + _QEMU_MIB:
        raise KernelLacks(
            f"{needs}, so the guest needs {units.size(found << 20)} of memory and this machine has"
            f" {units.size(free << 20)} free: {instead}"
        )
    return found
