"""View of the lab at a moment: current kernel state, initial state, and a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

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
