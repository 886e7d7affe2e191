"""Run of an experiment: set up the network, check it, send, sample, collect, and restore the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from tcptutor.agent import probes, shaping
from tcptutor.agent.channel import Channel, Stopped
from tcptutor.agent.counters import HostCounters, high_priority
from tcptutor.agent.fidelity import FidelityChecks, InterfaceQdiscs
from tcptutor.agent.host_settings import Setup
from tcptutor.agent.network import Host, Interface, Network
from tcptutor.agent.traffic import RunningTraffic
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.spec.frame_sizes import HEADERS
from tcptutor.wire import plan
from tcptutor.wire.plan import Chain, Qdisc
from tcptutor.wire.protocol import Phase


def run(
    network: Network,
    experiment: Experiment,
    channel: Channel,
    first_port: int,
    sample_hz: float = 100.0,
    environment: Environment | None = None,
) -> None:
    """Run `experiment` and send its events up to Ended. Raises LabError or KernelLacks.

    A Stop request ends the traffic early; Ended then reports the results so far with `complete` false.

    Args:
        network: Network with the pairs that the experiment needs.
        experiment: Description of the run.
        channel: Receiver of the events and source of a Stop.
        first_port: First of the flows' source ports.
        sample_hz: Samples per second of the lab's clock.
        environment: Record of the lab; None for the trial run that comes before it is known.
    """
    with (
        set_up(network, experiment) as (setup, chains),
        closing(
            RunningTraffic(network, experiment, setup, chains, first_port, channel, sample_hz)
        ) as traffic,
    ):
        checks = FidelityChecks(experiment)
        channel.send(Phase("check", "checking the path"))
        checks.check_before_traffic(network, chains, setup.problems(), environment)
        queues, counters = _read_queues(chains), HostCounters(network.hosts)

        channel.send(Phase("traffic", "connecting"))
        seconds, is_complete = 0.0, False
        try:
            if traffic.start():
                queues = _read_queues(chains)  # packets of the loss-free handshakes must not count
            with high_priority():
                seconds = traffic.sample()
            is_complete = True
            checks.experiment = traffic.experiment
            checks.check_duration(traffic.missing)
            checks.suspect += traffic.failures
            checks.invalid += traffic.problems
            is_alone = environment is None or environment.backend == "guest"
            clock = environment.clock if environment is not None else "virtual"
            checks.check_processors(traffic.processors.shares(), is_alone, clock)
            channel.send(Phase("collect", "collecting the results"))
            traffic.finish(seconds)
        except Stopped:
            seconds = seconds or traffic.sample_last()
            checks.record_stop(seconds)

        checks.check_drops(queues, _read_queues(chains), network.bottleneck, network.second_bottleneck)
        checks.check_kernel(counters.increases())
        checks.record_firewall_drops(setup.firewall_drops())
        channel.send(traffic.ended(checks, seconds, is_complete))


def _read_queues(chains: dict[Interface, Chain]) -> InterfaceQdiscs:
    return {interface: shaping.read(interface) for interface in chains}


@contextmanager
def set_up(network: Network, experiment: Experiment) -> Iterator[tuple[Setup, dict[Interface, Chain]]]:
    """Set up hosts and path for `experiment` for the length of the block. Raises LabError or KernelLacks."""
    setup, chains = Setup(network, experiment), qdisc_chains(network, experiment)
    # Every step of the cleanup runs even if others fail, in reverse order of registration.
    with ExitStack() as cleanup:
        cleanup.callback(setup.stop)
        for interface in chains:
            cleanup.callback(shaping.clear, interface)
        if any(change.name == "link" for change in experiment.path.changes):
            cleanup.callback(shaping.set_link, network.bottleneck, up=True)
        setup.start()
        if experiment.hosts.window is not None:
            for sender, receiver in _directions(network, experiment):
                probes.limit_window(sender, receiver, experiment.hosts.window, experiment.hosts.mss)
        for interface, chain in chains.items():
            shaping.apply(interface, chain)
        yield setup, chains


def qdisc_chains(network: Network, experiment: Experiment) -> dict[Interface, Chain]:
    """Return the queue disciplines of `experiment` by interface, without interfaces that need none."""
    path, mtu, seed = experiment.path, experiment.hosts.mtu, experiment.seed
    changing = {change.name for change in path.changes}
    always_netem = bool(changing & {"delay", "jitter", "loss"})
    chains = {
        network.bottleneck: plan.chain(plan.forward(path), mtu, seed, always_netem, experiment.packet),
        # Another seed, so that losses on the reverse path are independent of those on the forward path.
        network.reverse_bottleneck: plan.chain(plan.reverse(path), mtu, seed + (1 << 32), packet=HEADERS),
    }
    if network.second_bottleneck is not None:
        chains[network.second_bottleneck] = plan.chain(
            path.second, mtu, seed + (2 << 32), packet=experiment.packet
        )
    for pair in range(experiment.pairs):
        chains[network.access(pair)] = plan.chain(plan.access_link(path, pair), mtu, seed)
    if experiment.hosts.maxrate is not None:
        paced = (Qdisc("fq", {"maxrate": round(experiment.hosts.maxrate / 8)}),)
        chains |= dict.fromkeys((host.interface for host in network.hosts), paced)
    return {interface: chain for interface, chain in chains.items() if chain}


def _directions(network: Network, experiment: Experiment) -> Iterator[tuple[Host, Host]]:
    """Yield (sender, receiver) once for each direction in which a pair has flows, forward if it has none."""
    for pair, hosts in enumerate(zip(network.senders, network.receivers, strict=True)):
        own = [flow for flow in range(experiment.total_streams) if experiment.pair_of(flow) == pair]
        reversed_flows = set(map(experiment.reversed, own))
        if reversed_flows != {True}:
            yield hosts
        if True in reversed_flows:
            yield hosts[1], hosts[0]
