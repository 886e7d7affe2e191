"""View of the lab at a moment: current kernel state, initial state, and a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tcptutor.course.goals.interfaces import bottleneck, state_pairs
from tcptutor.course.goals.lab_run import LabRun
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import HostState, SessionState

ALGORITHM = "tcp_congestion_control"
"""Sysctl that sets the algorithm of new connections."""


class LabView(NamedTuple):
    """Everything a goal is judged by. `run` is None for goals about the current state of the lab."""

    state: SessionState
    """Kernel state; with a run, the state at its start."""
    start: SessionState
    """Kernel state at the start of the page."""
    before: Mapping[tuple[str, str], str] = {}
    """Original values of changed sysctls, by host and name, as reported by sessions."""
    run: LabRun | None = None
    changed: Mapping[str, HostState] = {}
    """Hosts at the last change of the network, by name: the start of their counters."""

    @property
    def experiment(self) -> Experiment:
        """Experiment of the run, with the flows' actual settings, or of the current state."""
        return self.state.experiment if self.run is None else self.run.experiment

    @property
    def pairs(self) -> int:
        return state_pairs(self.start)

    @property
    def bottleneck(self) -> str:
        """Interface the manuals shape for data."""
        return bottleneck(self.pairs)

    @property
    def hosts(self) -> tuple[str, ...]:
        """End hosts."""
        return tuple(f"h{number}" for number in range(1, 2 * self.pairs + 1))

    @property
    def senders(self) -> tuple[str, ...]:
        """Hosts that send to the host after them."""
        return self.hosts[::2]

    def sysctl(self, host: str, name: str) -> str | None:
        """Return a sysctl's value; None if it is unreported, unchanged and not set by the page."""
        found = {(one.name, key): value for one in self.state.hosts for key, value in one.sysctls.items()}
        found |= {(one.host, one.name): one.now for one in self.state.sysctls}
        asked = self.start.experiment.hosts.sysctls.get(name)
        return found.get((host, name), self.before.get((host, name), asked))


SYSCTL = re.compile(r"sysctl\.(?:(?P<host>[hs]\d)\.)?(?P<name>tcp_[a-z0-9_]{1,60}|ip_forward|[rw]mem_max)")


class GoalQuantity(NamedTuple):
    """Quantity of the lab or of a run."""

    name: str
    kind: str
    """units.Kind, `algorithm`, `sysctl` or `address`."""
    value: Callable[[LabView], Any]
    """Value in base units, or None; a tuple for several hosts."""
    choices: tuple[str, ...] = ()
    about_run: bool = False
    at_end: bool = False
    """True if only a finished run has it."""
    host: str = ""
    """Host of a sysctl; empty for all hosts and for other quantities."""

    @property
    def sysctl(self) -> str:
        """Name of the sysctl behind the quantity, or empty."""
        found = SYSCTL.fullmatch(self.name)
        return found["name"] if found else ALGORITHM if self.name == "hosts.algorithm" else ""
