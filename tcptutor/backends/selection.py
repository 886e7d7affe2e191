"""Choice of the backend for an experiment: the host's kernel if it supports all course pages, else the guest.

All pages of a course use the same lab: pages that moved between kernels and clocks would contradict each other.
Replaying recorded runs is for machines where neither can run: on request, or through `choose_replay` when the others
have failed.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from tcptutor.backends import replay
from tcptutor.backends.guest import sizes
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.backends.host import HostBackend
from tcptutor.backends.session import Session
from tcptutor.base import places
from tcptutor.base.errors import ImageDamaged, KernelLacks, LabError, LabUnavailable
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Event


class Backend(Protocol):
    """A place to run experiments sequentially. A backend that failed can be opened again."""

    async def open(self, on_build: Callable[[], object] = lambda: None) -> Environment:
        """Bring the lab up and return its environment; no-op when it is up. Raises LabUnavailable.

        `on_build` is called if that takes a minute or more: an update has made a prepared part useless.
        """
        ...

    async def describe(self, on_build: Callable[[], object] = lambda: None) -> Environment:
        """Return the environment as `open` does, but without bringing up what takes much memory."""
        ...

    def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        """Run `experiment` and yield its events; the last event is Finished.

        Closing the iterator early (`aclose`, or cancelling the task) stops the run in the lab. Raises LabError when
        the run fails; the events before the failure remain valid.
        """
        ...

    def session(self, experiment: Experiment, trap: str = "") -> AbstractAsyncContextManager[Session]:
        """Set up the lab for `experiment` and keep it open for interactive use in real time.

        `trap` names a fault to plant before the session starts (`agent.traps.TRAPS`); empty for a healthy lab. Raises
        LabUnavailable without a lab, LabError or KernelLacks when the lab cannot be set up.
        """
        ...

    async def close(self) -> None:
        """Shut the lab down and clean up. Never raises; safe to call twice."""
        ...


COURSE_QDISCS = ("netem", "tbf", "fq", "codel", "fq_codel", "cake", "red")
COURSE_ALGORITHMS = ("reno", "cubic", "bbr", "htcp", "bic", "vegas", "westwood", "cdg", "nv", "dctcp")
"""Algorithms that the bundled course needs, interactive sessions included."""
_NAMED = 3
"""Maximum number of items that a reason lists by name."""


class ChosenBackend(NamedTuple):
    """The backend chosen for an experiment."""

    backend: Backend
    name: str
    clock: str
    reason: str
    """Explanation of the choice, for the screen."""
    memory: int = 0
    """Memory of the guest in MiB; 0 for other backends."""


def abbreviate(names: Sequence[str]) -> str:
    """Join the first few of `names` with commas and count the rest."""
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


async def host_environment(*, fresh: bool = False) -> tuple[Environment | None, str]:
    """Return the environment of the host's kernel, or None and the reason; probed once per boot unless `fresh`."""
    if not fresh and (known := places.recall_since_boot("host.json", tuple[Environment | None, str])):
        return known
    backend = HostBackend()
    answer: tuple[Environment | None, str]
    try:
        answer = (await backend.open(), "")
    except LabUnavailable as error:
        answer = (None, str(error))
    except LabError as error:  # a busy machine may answer next time
        return None, str(error)
    finally:
        await backend.close()
    places.remember_until_boot("host.json", answer)
    return answer


async def host_runs_course() -> bool:
    """Check whether the host's kernel can run all pages of the shipped course."""
    here, _ = await host_environment()
    return here is not None and not _missing(COURSE_QDISCS, COURSE_ALGORITHMS, here)


async def choose(
    experiment: Experiment, backend: str = "auto", clock: str = "auto", *, paced: bool = False
) -> ChosenBackend:
    """Return the backend for `experiment`; with `paced` for a session, in which idle time passes as on this machine.

    Raises LabUnavailable or KernelLacks with the reason when no backend can run it.
    """
    if backend == "replay":
        return choose_replay(replay.REQUESTED)
    if backend == "guest" or clock == "virtual":
        if backend == "host":
            raise LabUnavailable(
                "the host backend has no virtual clock: leave out --clock, or use --backend guest"
            )
        return _guest(experiment, clock, "asked for", paced)
    here, why = await host_environment()
    missing = _missing(experiment.qdiscs, experiment.congestion_controls, here) if here is not None else []
    if backend == "host":
        if missing:
            raise KernelLacks(f"this machine's kernel has no {', '.join(missing)}: use --backend guest")
        return ChosenBackend(HostBackend(), "host", "real", "asked for")
    if here is not None:
        absent = [*dict.fromkeys([*missing, *_missing(COURSE_QDISCS, COURSE_ALGORITHMS, here)])]
        if not absent:
            return ChosenBackend(
                HostBackend(), "host", "real", "this machine's kernel has everything the course needs"
            )
        why = f"this machine's kernel has no {abbreviate(absent)}"
    try:
        return _guest(experiment, clock, why, paced)
    except (LabUnavailable, KernelLacks) as error:
        if here is not None and not missing:
            reason = f"{why}, which other experiments need; and {error}"
            return ChosenBackend(HostBackend(), "host", "real", reason)
        if isinstance(error, KernelLacks):
            raise
        raise LabUnavailable(f"{why}; and {error}") from error


async def choose_for_session(
    experiment: Experiment, backend: str = "auto", clock: str = "auto"
) -> ChosenBackend:
    """Return the backend for typing commands on hosts with the kernel features of `experiment`.

    Root's shells open in the guest, where they cannot touch this machine. Raises as `choose` does.
    """
    if backend == "auto" and os.geteuid() == 0:
        return _guest(experiment, clock, "root's shells open in the guest", paced=True)
    return await choose(experiment, backend, clock, paced=True)


def choose_replay(reason: str) -> ChosenBackend:
    """Return the replay backend, with `reason` as the explanation."""
    return ChosenBackend(replay.ReplayBackend(reason), "replay", "recorded", reason)


def _missing(qdiscs: Sequence[str], algorithms: Sequence[str], here: Environment) -> list[str]:
    """Return the queue disciplines and algorithms that the kernel of `here` lacks."""
    return [kind for kind in qdiscs if kind not in here.qdiscs] + [
        name for name in algorithms if name not in here.algorithms
    ]


def _guest(experiment: Experiment, clock: str, reason: str, paced: bool = False) -> ChosenBackend:
    memory = sizes.size(experiment)
    snapshots = Snapshots(memory=memory)
    snapshots.image.check()
    if clock == "auto":
        # An emulated guest is too slow for the real clock.
        try:
            clock = "real" if Snapshots().manifest("real").kvm else "virtual"
        except ImageDamaged:
            clock = "virtual"
    return ChosenBackend(GuestBackend(clock, snapshots, paced=paced), "guest", clock, reason, memory)
