"""Run of an experiment: set up the network, check it, send, sample, collect, and restore the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tcptutor.agent import connecting, shaping, window
from tcptutor.agent.channel import Channel, Stopped
from tcptutor.agent.counters import HostCounters
from tcptutor.agent.fidelity import FidelityChecks
from tcptutor.agent.host_settings import Setup
from tcptutor.agent.network import Host, Interface, Network
from tcptutor.agent.processors import high_priority
from tcptutor.agent.running_traffic import RunningTraffic
from tcptutor.run import Environment
from tcptutor.spec import HEADERS, Experiment
from tcptutor.wire import plan
from tcptutor.wire.plan import Chain, Qdisc
from tcptutor.wire.protocol import Phase


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
    for pair in range(experiment.pairs):
        chains[network.access(pair)] = plan.chain(plan.access_link(path, pair), mtu, seed)
    if experiment.hosts.maxrate is not None:
        paced = (Qdisc("fq", {"maxrate": round(experiment.hosts.maxrate / 8)}),)
        chains |= dict.fromkeys((host.interface for host in network.hosts), paced)
    return {interface: chain for interface, chain in chains.items() if chain}


def _directions(network: Network, experiment: Experiment) -> Iterator[tuple[Host, Host]]:
    """Yield (sender, receiver) once for each direction in which a pair has flows, forward if it has none."""
    for pair, hosts in enumerate(zip(network.senders, network.receivers, strict=True)):
        first = pair * experiment.flows.streams
        reversed_flows = {
            experiment.reversed(flow) for flow in range(first, first + experiment.flows.streams)
        }
        if reversed_flows != {True}:
            yield hosts
        if True in reversed_flows:
            yield hosts[1], hosts[0]


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
                window.limit(sender, receiver, experiment.hosts.window, experiment.hosts.mss)
        for interface, chain in chains.items():
            shaping.apply(interface, chain)
        yield setup, chains


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
    with set_up(network, experiment) as (setup, chains):
        running = RunningTraffic(network, experiment, setup, chains, first_port, channel, sample_hz)
        try:
            _follow(running, FidelityChecks(experiment), setup, chains, environment)
        finally:
            running.stop()


def _follow(
    running: RunningTraffic,
    checks: FidelityChecks,
    setup: Setup,
    chains: dict[Interface, Chain],
    environment: Environment | None,
) -> None:
    network, channel, sampler = running.network, running.channel, running.sampler
    seconds, complete = 0.0, False
    channel.send(Phase("check", "checking the path"))
    checks.check_settings(chains)
    checks.check_offloads(network)
    checks.check_sockets(network, chains)
    checks.invalid += setup.problems()
    if environment is not None:
        checks.check_clock(environment.hz)
    checks.check_path(network)
    before = {interface: shaping.read(interface) for interface in chains}
    counters = HostCounters(network.hosts)
    channel.send(Phase("traffic", "connecting"))
    try:
        running.processors.restart()
        running.start()
        if connecting.connects_without_loss(checks.experiment):
            # Packets of the loss-free handshakes must not count.
            before = {interface: shaping.read(interface) for interface in chains}
        with high_priority():
            seconds = running.sample()
        complete = True
        checks.experiment = running.experiment
        checks.check_duration(running.missing)
        checks.suspect += running.failures
        shares = running.processors.shares()
        checks.check_processors(shares, alone=environment is None or environment.backend == "guest")
        channel.send(Phase("collect", "collecting the results"))
        running.finish(seconds)
    except Stopped:
        if not seconds:
            seconds = sampler.timing.last
            sampler.send(seconds, at_once=True)
        checks.record_stop(seconds)
    checks.check_drops(
        before, {interface: shaping.read(interface) for interface in chains}, network.bottleneck
    )
    checks.check_kernel(counters.increases())
    if (dropped := setup.firewall_drops()) is not None:
        checks.checks["firewall drops"] = dropped
    warmup = checks.experiment.flows.warmup
    datagrams = [result for reports in running.udp for result in reports.results(warmup, seconds)]
    captured = running.send_captured()
    channel.send(sampler.ended(checks, seconds, complete, planned=True, udp=datagrams, captured=captured))
