"""The agent: one program that owns the lab's network and answers requests, the same under every backend.

It reads requests and writes events, one JSON object a line, on the file descriptors it is given. It ends when its
input ends, so it cannot outlive the program that uses it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from tcptutor.agent import experiment as runner
from tcptutor.agent import trace_instances
from tcptutor.agent.channel import Channel, to_descriptor
from tcptutor.agent.environment import environment
from tcptutor.agent.hosts import sysctl
from tcptutor.agent.names import HostNames
from tcptutor.agent.netlink import Netfilter
from tcptutor.agent.network import Network
from tcptutor.agent.session.serve import SessionServer
from tcptutor.base.errors import KernelLacks, LabError, TutorError, UsageError
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Failed, Hello, OpenSession, Phase, Ready, RunExperiment

_SYSCTLS = Path("/proc/sys/net")

_FIRST_PORT, _PORTS_A_RUN, _PORT_BLOCKS = 40000, 512, 48
_RESERVED = f"{_FIRST_PORT}-{_FIRST_PORT + _PORTS_A_RUN * _PORT_BLOCKS - 1}"


class Agent:
    """Owns the network; runs one experiment at a time."""

    def __init__(
        self,
        channel: Channel,
        backend: str,
        clock: str,
        pairs: int = 1,
        names: HostNames | None = None,
        reseed: Callable[[int], None] | None = None,
    ) -> None:
        """`names`: where the hosts' names are told to the programs on them; nowhere without it. `reseed`: is called
        with the seed of each run, for the random numbers of the kernel itself.
        """
        self._reseed = reseed
        self.channel, self._backend, self._clock = channel, backend, clock
        self._names = names
        self.network = Network(pairs)
        self._environment: Environment | None = None
        self._runs = 0

    def start(self) -> Environment:
        """Build the network and look at the kernel, once."""
        if self._environment is None:
            self._build()
            self._environment = environment(self.network, self._backend, self._clock)
        return self._environment

    def serve(self) -> None:
        """Answer requests until the input ends or Quit comes, then take the network down."""
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
                        pass  # Stop without a run: it has just ended by itself
        except TutorError as error:
            self.channel.send(Failed(str(error)))
        finally:
            self.network.stop()

    def _require(self, experiment: Experiment) -> None:
        """Raises KernelLacks, naming it, for what the experiment needs and this kernel does not have."""
        here = self.start()
        for algorithm in experiment.congestion_controls:
            if algorithm not in here.algorithms:
                raise KernelLacks(
                    f"this kernel has no congestion control {algorithm!r}: it has {', '.join(here.algorithms)}"
                )
        self._require_memory(experiment)
        for kind in experiment.qdiscs:
            if kind not in here.qdiscs:
                raise KernelLacks(
                    f"this kernel has no {kind}: run the experiment in the guest (--backend guest)"
                )

    def _require_memory(self, experiment: Experiment) -> None:
        if (asked := experiment.flows.buffer) is not None:
            for name in ("rmem_max", "wmem_max"):
                allowed = int((_SYSCTLS / "core" / name).read_text())
                if asked > allowed:
                    other = "" if self._backend == "guest" else ", or --backend guest"
                    raise KernelLacks(
                        f"this kernel allows buffers of {allowed} bytes (net.core.{name}): take a smaller buffer{other}"
                    )
        if (size := experiment.hosts.send_buffer) is not None:
            # A sender with a fixed buffer fills it; short of memory, the kernel holds back what is to be sent.
            try:
                kept = int((_SYSCTLS / "ipv4" / "tcp_mem").read_text().split()[1]) * os.sysconf(
                    "SC_PAGE_SIZE"
                )
            except OSError:
                return  # told in the machine's first namespace only
            if size * experiment.total_streams > kept:
                raise KernelLacks(
                    f"this kernel has {kept} bytes for TCP (net.ipv4.tcp_mem), and the send buffers of all flows take"
                    f" {size * experiment.total_streams}: take a smaller send_buffer or fewer flows"
                )

    def _answer(self, request: RunExperiment | OpenSession) -> None:
        try:
            here = self._prepare(request.experiment)
            if isinstance(request, OpenSession):
                SessionServer(self.network, request, self.channel, here).serve()
                return
            # Each run takes other ports: those of the last one may still wait in TIME_WAIT.
            first_port = _FIRST_PORT + _PORTS_A_RUN * (self._runs % _PORT_BLOCKS)
            self._runs += 1
            if self._reseed is not None:
                self._reseed(request.experiment.seed)
            runner.run(self.network, request.experiment, self.channel, first_port, request.sample_hz, here)
        except KernelLacks as error:
            self.channel.send(Failed(str(error), "kernel"))
        except UsageError as error:
            self.channel.send(Failed(str(error), "usage"))
        except TutorError as error:
            self.channel.send(Failed(str(error)))

    def _prepare(self, experiment: Experiment) -> Environment:
        """The network that `experiment` needs. Raises KernelLacks or LabError."""
        self._require(experiment)
        if self.network.pairs != experiment.pairs:
            self.channel.send(Phase("network", "building the network"))
            self.network.stop()
            self.network = Network(experiment.pairs)
            self._build()
        return self.start()

    def _build(self) -> None:
        self.network.start()
        self._send_copies()
        for host in self.network.hosts:
            # A flow's own port must not be what the kernel has chosen for another connection of the same program.
            with contextlib.suppress(KernelLacks):
                sysctl(host, "net.ipv4.ip_local_reserved_ports", _RESERVED)
        if self._names is not None:
            self._names.write(self.network.hosts)

    def _send_copies(self) -> None:
        """Cut packets off from their sender's socket at the first switch, where this kernel can."""
        # A kernel without netfilter has no such sockets; one before Linux 5.16 no such rules.
        with contextlib.suppress(OSError, LabError), Netfilter(None) as rules:
            rules.send_copies([port.name for port in self.network.ports])
            self.network.sends_copies = True


def main() -> None:
    """`python -m tcptutor.agent.agent BACKEND CLOCK`: speak on standard input and output."""
    backend, clock = sys.argv[1:3]
    # Nothing else may write to the channel: whatever prints goes to standard error.
    write_fd = os.dup(1)
    os.dup2(2, 1)
    channel = Channel(0, to_descriptor(write_fd))
    try:
        names = HostNames.of_our_own()
    except TutorError as error:
        channel.send(Failed(str(error)))
        return
    trace_instances.remove_dead()
    Agent(channel, backend, clock, names=names).serve()


if __name__ == "__main__":
    main()
