"""Which backend runs an experiment, and why: the host's kernel if it has all that is needed, else the guest.

A replay of recorded runs is for where neither can run: asked for, or by `recordings` when the others have failed.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from tcptutor.backends import boot, replay
from tcptutor.backends.base import Backend
from tcptutor.backends.guest import sizes
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.backends.host import HostBackend
from tcptutor.errors import ImageDamaged, KernelLacks, LabError, LabUnavailable
from tcptutor.run import Environment
from tcptutor.spec import Experiment

BY_HAND = ("netem", "tbf", "fq")
"""Queue disciplines that the lab manuals set up by hand."""


class ChosenBackend(NamedTuple):
    """What was chosen for an experiment."""

    backend: Backend
    name: str
    clock: str
    reason: str
    """Why it was chosen, for the screen."""
    memory: int = 0
    """MiB of a guest; 0 elsewhere."""


def lacks(experiment: Experiment, here: Environment) -> list[str]:
    """What `experiment` needs and the kernel of `here` does not have."""
    qdiscs = [kind for kind in experiment.qdiscs if kind not in here.qdiscs]
    return qdiscs + [name for name in experiment.congestion_controls if name not in here.algorithms]


async def host_environment(*, fresh: bool = False) -> tuple[Environment | None, str]:
    """What the host's kernel can do, or None and why it cannot; asked once a boot unless `fresh`."""
    if not fresh and (known := boot.recall("host.json", tuple[Environment | None, str])):
        return known
    backend = HostBackend()
    answer: tuple[Environment | None, str]
    try:
        answer = (await backend.open(), "")
    except (LabUnavailable, LabError) as error:
        answer = (None, str(error))
    finally:
        await backend.close()
    boot.remember("host.json", answer)
    return answer


async def choose(experiment: Experiment, backend: str = "auto", clock: str = "auto") -> ChosenBackend:
    """The backend for `experiment`. Raises LabUnavailable or KernelLacks, with the reason, when there is none."""
    if backend == "replay":
        return recordings(replay.ASKED)
    if backend == "guest" or clock == "virtual":
        if backend == "host":
            raise LabUnavailable(
                "the host's kernel has only the real clock: leave --clock out, or take --backend guest"
            )
        return _guest(experiment, clock, "asked for")
    here, why = await host_environment()
    if backend == "host":
        if here is not None and (missing := lacks(experiment, here)):
            raise KernelLacks(f"this machine's kernel has no {', '.join(missing)}: take --backend guest")
        return ChosenBackend(HostBackend(), "host", "real", "asked for")
    if here is not None and not (missing := lacks(experiment, here)):
        return ChosenBackend(HostBackend(), "host", "real", "this machine's kernel has all that is needed")
    reason = f"this machine's kernel has no {', '.join(missing)}" if here is not None else why
    try:
        return _guest(experiment, clock, reason)
    except LabUnavailable as error:
        raise LabUnavailable(f"{reason}; and {error}") from error


async def choose_by_hand(
    experiment: Experiment, backend: str = "auto", needs: Experiment | None = None
) -> ChosenBackend:
    """The backend for a session on the network of `experiment`, on the real clock.

    It has what the commands of the lab manuals take, if any does here; and what `needs` does, of what a page asks for.
    Raises as `choose` does.
    """
    wanted = needs or experiment
    if backend == "auto":
        here, _ = await host_environment()
        if here is not None and (missing := [kind for kind in BY_HAND if kind not in here.qdiscs]):
            with contextlib.suppress(LabUnavailable):
                return _guest(wanted, "real", f"this machine's kernel has no {', '.join(missing)}")
    return await choose(wanted, backend, "real")


def recordings(reason: str) -> ChosenBackend:
    """Recorded runs in place of a lab, because of `reason`."""
    return ChosenBackend(replay.ReplayBackend(reason), "replay", "recorded", reason)


def _guest(experiment: Experiment, clock: str, reason: str) -> ChosenBackend:
    memory = sizes.size(experiment)
    snapshots = Snapshots(memory=memory)
    snapshots.image.check()
    if clock == "auto":
        # Real time is worth having only where the guest is as fast as it.
        try:
            clock = "real" if Snapshots().manifest("real").kvm else "virtual"
        except ImageDamaged:
            clock = "virtual"
    return ChosenBackend(GuestBackend(clock, snapshots), "guest", clock, reason, memory)
