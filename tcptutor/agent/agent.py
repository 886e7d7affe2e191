"""Agent program that owns the lab's network and answers requests, identical under every backend.

It reads requests and writes events, a JSON object per line, on file descriptors. It exits when its input ends and so
cannot outlive the program that uses it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable

from tcptutor.agent import experiment as runner
from tcptutor.agent.channel import Channel, to_descriptor
from tcptutor.agent.environment import environment, require
from tcptutor.agent.host_settings import sysctl
from tcptutor.agent.netlink import Netfilter
from tcptutor.agent.network import HostNames, Network
from tcptutor.agent.session.serve import SessionServer
from tcptutor.agent.tracing import remove_dead
from tcptutor.base.errors import KernelLacks, LabError, TutorError, UsageError
from tcptutor.run import Environment
from tcptutor.spec import Experiment, Topology
from tcptutor.spec.check_links import check_for_shell
from tcptutor.spec.flow_groups import PLANNED_PORTS, PORTS_PER_RUN
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Failed, Hello, OpenSession, Phase, Ready, RunExperiment

_RESERVED = f"{PLANNED_PORTS[0]}-{PLANNED_PORTS[-1]}"


class Agent:
    """Owner of the network; runs experiments one at a time.

    `names` publishes the hosts' names; `reseed` is called with each run's seed, for the kernel's random numbers.
    """

    def __init__(
        self,
        channel: Channel,
        backend: str,
        clock: str,
        topology: Topology = Topology(),  # noqa: B008  # immutable
        names: HostNames | None = None,
        reseed: Callable[[int], None] | None = None,
    ) -> None:
        self._reseed = reseed
        self.channel, self._backend, self._clock = channel, backend, clock
        self._names = names
        self.network = Network(topology)
        self._environment: Environment | None = None
        self._runs = 0

    def start(self) -> Environment:
        """Build the network and probe the kernel at the first call."""
        if self._environment is None:
            self._build()
            self._environment = environment(self.network, self._backend, self._clock)
        return self._environment

    def serve(self) -> None:
        """Answer requests until the input ends or Quit arrives, then take the network down."""
        try:
            while not self.channel.closed:
                match self.channel.receive():
                    case Hello():
                        self.channel.send(Ready(protocol.VERSION, self.start()))
                    case RunExperiment() as request:
                        self._answer(request)
                    case OpenSession() as request:
                        self._answer(request)
                    case _:
                        pass  # Stop after the run has ended by itself
        except TutorError as error:
            self.channel.send(Failed(str(error)))
        finally:
            self.network.stop()

    def _answer(self, request: RunExperiment | OpenSession) -> None:
        try:
            available = self._prepare(request.experiment, isinstance(request, OpenSession))
            if isinstance(request, OpenSession):
                SessionServer(self.network, request, self.channel, available).serve()
                return
            # A new block of ports for each run: connections of the last one may still be in TIME_WAIT.
            first_port = PLANNED_PORTS[self._runs * PORTS_PER_RUN % len(PLANNED_PORTS)]
            self._runs += 1
            if self._reseed is not None:
                self._reseed(request.experiment.seed)
            runner.run(
                self.network, request.experiment, self.channel, first_port, request.sample_hz, available
            )
        except KernelLacks as error:
            self.channel.send(Failed(str(error), "kernel"))
        except UsageError as error:
            self.channel.send(Failed(str(error), "usage"))
        except TutorError as error:
            self.channel.send(Failed(str(error)))

    def _prepare(self, experiment: Experiment, for_session: bool = False) -> Environment:
        require(self.start(), experiment)
        if for_session:
            check_for_shell(experiment)
        if self.network.topology != experiment.topology:
            self.channel.send(Phase("network", "building the network"))
            self.network.stop()
            self.network = Network(experiment.topology)
            self._build()
        return self.start()

    def _build(self) -> None:
        self.network.start()
        self._send_copies()
        for host in self.network.hosts:
            # The kernel must not choose a flow's port for another connection of the same program.
            with contextlib.suppress(KernelLacks):
                sysctl(host, "net.ipv4.ip_local_reserved_ports", _RESERVED)
        if self._names is not None:
            self._names.write(self.network.hosts)

    def _send_copies(self) -> None:
        """Detach packets from their sender's socket at the first switch, if the kernel supports it."""
        # Without netfilter there are no such sockets, and before Linux 5.16 no such rules.
        with contextlib.suppress(OSError, LabError), Netfilter(None) as rules:
            rules.send_copies([port.name for port in self.network.ports])
            self.network.sends_copies = True


def main() -> None:
    """Serve on standard input and output: `python -m tcptutor.agent.agent BACKEND CLOCK`."""
    backend, clock = sys.argv[1:3]
    # Only the channel may write to it: redirect everything else to standard error.
    write_fd = os.dup(1)
    os.dup2(2, 1)
    channel = Channel(0, to_descriptor(write_fd))
    try:
        names = HostNames.private()
    except TutorError as error:
        channel.send(Failed(str(error)))
        return
    remove_dead()
    Agent(channel, backend, clock, names=names).serve()


if __name__ == "__main__":
    main()
