"""Whether hardware virtualisation works. /dev/kvm can be there and still not work: only a real boot tells."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from tcptutor.backends import boot
from tcptutor.backends.guest.machine import Machine, Mode
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import LabError, LabUnavailable

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
    machine = Machine(snapshots.architecture)
    try:
        async with asyncio.timeout(limit):
            await machine.boot(Mode("real", kvm=True), snapshots.image)
            return bool(await machine.readline())
    except (LabError, TimeoutError):
        return False
    finally:
        await machine.kill()
