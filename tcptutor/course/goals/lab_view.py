"""What is known of the lab at one moment: what the kernel holds, what it held at first, and a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tcptutor.course.goals.interfaces import bottleneck, state_pairs
from tcptutor.course.goals.lab_run import LabRun
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import HostState, SessionState

ALGORITHM = "tcp_congestion_control"
"""The sysctl that new connections take their algorithm from."""


class LabView(NamedTuple):
    """All of it. `run` is the one that is asked about; None where the lab is, as it is now."""

    state: SessionState
    """As it was when the run began, where there is one."""
    start: SessionState
    """As the page gave it to the student."""
    before: Mapping[tuple[str, str], str] = {}
    """What sysctls were before they were changed, by host and name, as far as a session told of it."""
    run: LabRun | None = None
    changed: Mapping[str, HostState] = {}
    """Hosts as they were when the network was last changed, by name: what they count begins anew."""

    @property
    def experiment(self) -> Experiment:
        """What it is an experiment of: of a run, what the flows themselves had."""
        return self.state.experiment if self.run is None else self.run.experiment

    @property
    def pairs(self) -> int:
        return state_pairs(self.start)

    @property
    def bottleneck(self) -> str:
        """Where the manuals shape the way of the data."""
        return bottleneck(self.pairs)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The end hosts."""
        return tuple(f"h{number}" for number in range(1, 2 * self.pairs + 1))

    @property
    def senders(self) -> tuple[str, ...]:
        """Those from which data goes to the host after them."""
        return self.hosts[::2]

    def sysctl(self, host: str, name: str) -> str | None:
        """Its value there; None where no session tells of it, nobody has changed it and the page does not say it."""
        found = {(one.name, key): value for one in self.state.hosts for key, value in one.sysctls.items()}
        found |= {(one.host, one.name): one.now for one in self.state.sysctls}
        asked = self.start.experiment.hosts.sysctls.get(name)
        return found.get((host, name), self.before.get((host, name), asked))
