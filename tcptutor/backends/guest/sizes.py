"""Memory sizes of guests, each with its own snapshots, and the choice of a size for an experiment."""

from __future__ import annotations

from pathlib import Path

from tcptutor.base import units
from tcptutor.base.errors import KernelLacks
from tcptutor.spec import Experiment
from tcptutor.wire import memory

DEFAULT_SIZE = 384
"""Default size, MiB: enough for the lessons, and starts within a second."""
SIZES = (DEFAULT_SIZE, 1024, 4096, 16384)
"""Available sizes, MiB. Larger guests serve fast long paths and are built when an experiment first needs them."""
_QEMU_MIB = 100
"""Memory of QEMU itself in addition to the guest's, MiB."""
_SYSTEM, _PAGES = 210 << 20, 0.03
"""Memory of the guest's own system, measured: bytes, plus a share for the kernel's page structures."""
_MEMINFO = Path("/proc/meminfo")


_FLOWS, _PROGRAMS = 64, 700 << 10
"""Flows that fit into every guest, and bytes per further flow at both ends.

Measured with an iperf3 process at each end, with a margin for threads: a guest of 384 MiB ran out of memory with 256
flows of small buffers.
"""


def tcp_bytes(size: int, flows: int = 0) -> int:
    """Return how many bytes TCP may hold in a guest of `size` MiB with this many `flows`.

    It is `memory.SHARE` of the memory that the system and the flows' programs leave.
    """
    programs = _PROGRAMS * max(0, flows - _FLOWS)
    return round(memory.SHARE * ((size << 20) * (1 - _PAGES) - _SYSTEM - programs))


def available() -> int | None:
    """Return the memory still available on this machine, MiB; None where the kernel does not report it."""
    for line in _MEMINFO.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) >> 10
    return None


def guests_that_fit(size: int) -> int:
    """Return how many guests of `size` MiB this machine's free memory holds, at least 1."""
    return max(1, room_for(size))


def room_for(size: int) -> int:
    """Return how many more guests of `size` MiB fit into free memory; 1 where that is unknown."""
    free = available()
    return 1 if free is None else free // (size + _QEMU_MIB)


def size(experiment: Experiment) -> int:
    """Return the smallest guest that holds `experiment`, MiB.

    Raises:
        KernelLacks: No size is large enough, or this machine has too little memory.
    """
    capture = memory.capture_bytes(experiment)
    wanted = memory.tcp_bytes(experiment) + memory.udp_bytes(experiment) + capture
    needs = f"the flows' buffers on this path{' and the capture' if capture else ''} may take {units.size(wanted)}"
    smaller = "a smaller capture_size, " if capture else ""
    instead = f"take a lower rate, a shorter delay or queue, {smaller}or fewer flows"
    flows = experiment.total_streams
    smallest = next((size for size in SIZES if wanted <= tcp_bytes(size, flows)), None)
    if smallest is None:
        raise KernelLacks(
            f"{needs}, and the largest guest holds {units.size(tcp_bytes(SIZES[-1]))}: {instead}"
        )
    free = available()
    # The default size is never refused: its memory is allocated on demand, and most runs need half of it.
    if smallest > DEFAULT_SIZE and free is not None and free < smallest + _QEMU_MIB:
        raise KernelLacks(
            f"{needs}, so the guest needs {units.size(smallest << 20)} of memory and this machine has"
            f" {units.size(free << 20)} free: {instead}"
        )
    return smallest
