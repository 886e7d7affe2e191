"""Test of hardware virtualization. /dev/kvm may exist and still not work; only a boot shows it."""

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
"""Longest trial boot, seconds. A guest boots in a few with a working KVM, and hangs with a broken KVM."""


def works(snapshots: Snapshots, limit: float = LIMIT) -> bool | None:
    """Return whether the guest boots with KVM; None when it was never tried and has no image to try.

    The real clock's snapshot records it; otherwise a trial is made once per boot of this machine.
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
