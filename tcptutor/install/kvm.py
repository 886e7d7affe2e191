"""Whether hardware virtualisation works. /dev/kvm can be there and still not work: only a real boot tells."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from tcptutor.backends import boot
from tcptutor.backends.guest import initramfs
from tcptutor.backends.guest.machine import Machine, Mode, kernel_command
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.errors import LabError, LabUnavailable

DEVICE = Path("/dev/kvm")
LIMIT = 12.0
"""Seconds for the trial: with a working one the guest boots in a few, a broken one stalls."""


def works(snapshots: Snapshots, limit: float = LIMIT) -> bool | None:
    """Whether the guest boots with it; None when it was not tried yet and there is no image to try it with.

    What the real clock's snapshot was made with tells; else one trial a boot does.
    """
    with contextlib.suppress(LabUnavailable):
        return snapshots.manifest("real").kvm
    if (known := boot.recall("kvm.json", bool)) is not None:
        return known
    try:
        snapshots.image.check()
        answer = asyncio.run(_boots(snapshots, limit))
    except (LabUnavailable, OSError):
        return None
    boot.remember("kvm.json", answer)
    return answer


async def _boots(snapshots: Snapshots, limit: float) -> bool:
    # Named like a build's, so that setup removes it should we be killed.
    initrd = snapshots.folder / f".initrd.kvm.{os.getpid()}"
    machine = Machine(snapshots.architecture)
    try:
        initrd.write_bytes(snapshots.image.base.read_bytes() + initramfs.layer())
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
