"""Choice of the backend that runs an experiment: the host's kernel if it can run the whole course, else the guest.

One course is one lab: pages that moved between kernels and clocks would contradict each other. A replay of recorded
runs is for machines where neither can run: asked for, or by `recordings` when the others have failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tcptutor.backends import boot, replay
from tcptutor.backends.base import Backend
from tcptutor.backends.guest import sizes
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.backends.host import HostBackend
from tcptutor.base.errors import ImageDamaged, KernelLacks, LabError, LabUnavailable
from tcptutor.run import Environment
from tcptutor.spec import Experiment

COURSE_QDISCS = ("netem", "tbf", "fq", "codel", "fq_codel", "cake", "red")
COURSE_ALGORITHMS = ("reno", "cubic", "bbr", "htcp", "bic", "vegas", "westwood", "cdg", "nv")
"""Needs of the course that comes with tcptutor, work by hand included."""
_NAMED = 3
"""Most things that a reason names before it counts the others."""


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
    """Return the queue disciplines and algorithms that `experiment` needs and the kernel of `here` does not have."""
    return _missing(experiment.qdiscs, experiment.congestion_controls, here)


def course_lacks(here: Environment) -> list[str]:
    """Return the queue disciplines and algorithms that the course needs and the kernel of `here` does not have."""
    return _missing(COURSE_QDISCS, COURSE_ALGORITHMS, here)


def _missing(qdiscs: Sequence[str], algorithms: Sequence[str], here: Environment) -> list[str]:
    return [kind for kind in qdiscs if kind not in here.qdiscs] + [
        name for name in algorithms if name not in here.algorithms
    ]


def some_of(names: Sequence[str]) -> str:
    """Return the first few of `names` as words."""
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


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
    """Return the backend for `experiment`.

    Raises LabUnavailable or KernelLacks, with the reason, when there is none.
    """
    if backend == "replay":
        return recordings(replay.ASKED)
    if backend == "guest" or clock == "virtual":
        if backend == "host":
            raise LabUnavailable(
                "the host's kernel has only the real clock: leave --clock out, or take --backend guest"
            )
        return _guest(experiment, clock, "asked for")
    here, why = await host_environment()
    missing = lacks(experiment, here) if here is not None else []
    if backend == "host":
        if missing:
            raise KernelLacks(f"this machine's kernel has no {', '.join(missing)}: take --backend guest")
        return ChosenBackend(HostBackend(), "host", "real", "asked for")
    if here is not None:
        absent = [*dict.fromkeys([*missing, *course_lacks(here)])]
        if not absent:
            return ChosenBackend(
                HostBackend(), "host", "real", "this machine's kernel has all that is needed"
            )
        why = f"this machine's kernel has no {some_of(absent)}"
    try:
        return _guest(experiment, clock, why)
    except (LabUnavailable, KernelLacks) as error:
        if here is not None and not missing:
            reason = f"{why}, which other experiments need; and {error}"
            return ChosenBackend(HostBackend(), "host", "real", reason)
        if isinstance(error, KernelLacks):
            raise
        raise LabUnavailable(f"{why}; and {error}") from error


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
