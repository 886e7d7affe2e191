"""Whether hardware virtualisation works. /dev/kvm can be there and still not work: only a real boot tells."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import msgspec

from tcptutor import places
from tcptutor.backends.guest import layer
from tcptutor.backends.guest.machine import Machine, Mode, kernel_command
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.errors import LabError, LabUnavailable

DEVICE = Path("/dev/kvm")
LIMIT = 12.0
"""A working one boots the guest in a few seconds, a broken one stalls."""


class _Known(msgspec.Struct):
    boot: str
    works: bool


def works(snapshots: Snapshots, limit: float = LIMIT) -> bool | None:
    """Whether the guest boots with it; None when there is neither an answer from before nor an image to try.

    What the real clock's snapshot was made with is such an answer; one found here holds until the next boot.
    """
    with contextlib.suppress(LabUnavailable):
        return snapshots.manifest("real").kvm
    memory = places.cache() / "kvm.json"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        known = msgspec.json.decode(memory.read_bytes(), type=_Known)
        if known.boot == boot:
            return known.works
    try:
        snapshots.image.check()
        answer = asyncio.run(_boots(snapshots, limit))
        memory.write_bytes(msgspec.json.encode(_Known(boot, answer)))
    except (LabUnavailable, OSError):
        return None
    return answer


async def _boots(snapshots: Snapshots, limit: float) -> bool:
    # Named like a build's, so that setup removes it should we be killed.
    initrd = snapshots.folder / f".initrd.kvm.{os.getpid()}"
    machine = Machine(snapshots.architecture)
    try:
        initrd.write_bytes(snapshots.image.base.read_bytes() + layer.archive())
        words = kernel_command(snapshots.architecture).format(clock="real")
        kernel = ["-kernel", str(snapshots.image.kernel), "-append", words]
        async with asyncio.timeout(limit):
            await machine.start(Mode("real", kvm=True), [*kernel, "-initrd", str(initrd)])
            return bool(await machine.readline())
    except (LabError, TimeoutError):
        return False
    finally:
        await machine.kill()
        initrd.unlink(missing_ok=True)
