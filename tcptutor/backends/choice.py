"""Which backend runs an experiment, and why: the host's kernel if it has all that is needed, else the guest.

A replay of recorded runs is for where neither can run: asked for, or by `instead` when the others have failed.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from tcptutor import places
from tcptutor.backends import replay
from tcptutor.backends.base import Backend
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.backends.host import HostBackend
from tcptutor.errors import ImageDamaged, KernelLacks, LabError, LabUnavailable
from tcptutor.run import Environment
from tcptutor.spec import Experiment


class Choice(NamedTuple):
    """What was chosen, and the reason for the screen."""

    backend: Backend
    name: str
    clock: str
    reason: str


class _Known(msgspec.Struct):
    boot: str
    environment: Environment | None
    reason: str


def lacks(experiment: Experiment, here: Environment) -> list[str]:
    """What `experiment` needs and that kernel does not have."""
    found = [kind for kind in experiment.qdiscs if kind not in here.qdiscs]
    return found + [name for name in experiment.congestion_controls if name not in here.algorithms]


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


async def host_environment(*, fresh: bool = False) -> tuple[Environment | None, str]:
    """What the host's kernel can do, or None and why it cannot; remembered until the next boot."""
    memory = places.cache() / "host.json"
    if not fresh:
        try:
            known = msgspec.json.decode(memory.read_bytes(), type=_Known)
            if known.boot == _boot():
                return known.environment, known.reason
        except (OSError, msgspec.MsgspecError):
            pass
    backend = HostBackend()
    try:
        found: tuple[Environment | None, str] = (await backend.open(), "")
    except (LabUnavailable, LabError) as error:
        found = (None, str(error))
    finally:
        await backend.close()
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_bytes(msgspec.json.encode(_Known(_boot(), *found)))
    except OSError:
        pass  # it is only a memory: the next start looks again
    return found


async def choose(experiment: Experiment, backend: str = "auto", clock: str = "auto") -> Choice:
    """The backend for `experiment`. Raises LabUnavailable or KernelLacks, with the reason, when there is none."""
    if backend == "replay":
        return instead(replay.ASKED)
    if backend == "guest" or clock == "virtual":
        if backend == "host":
            raise LabUnavailable(
                "the host's kernel has only the real clock: leave --clock out, or take --backend guest"
            )
        return _guest(clock, "asked for")
    here, why = await host_environment()
    if backend == "host":
        if here is not None and (missing := lacks(experiment, here)):
            raise KernelLacks(f"this machine's kernel has no {', '.join(missing)}: take --backend guest")
        return Choice(HostBackend(), "host", "real", "asked for")
    if here is not None and not (missing := lacks(experiment, here)):
        return Choice(HostBackend(), "host", "real", "this machine's kernel has all that is needed")
    reason = f"this machine's kernel has no {', '.join(missing)}" if here is not None else why
    try:
        return _guest(clock, reason)
    except LabUnavailable as error:
        raise LabUnavailable(f"{reason}; and {error}") from error


def instead(reason: str) -> Choice:
    """Recorded runs, because of `reason`."""
    return Choice(replay.ReplayBackend(reason), "replay", "recorded", reason)


def _guest(clock: str, reason: str) -> Choice:
    snapshots = Snapshots()
    snapshots.image.check()
    if clock == "auto":
        # Real time is worth having only where the guest is as fast as it.
        try:
            clock = "real" if snapshots.manifest("real").kvm else "virtual"
        except ImageDamaged:
            clock = "virtual"
    return Choice(GuestBackend(clock, snapshots), "guest", clock, reason)
