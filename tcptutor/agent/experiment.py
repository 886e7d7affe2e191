"""One run: set the network up, check it, send, sample, collect, and leave the network as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tcptutor.agent import connecting, shaping, window
from tcptutor.agent.channel import Channel, Stopped
from tcptutor.agent.counters import HostCounters
from tcptutor.agent.fidelity import Watch
from tcptutor.agent.hosts import Setup
from tcptutor.agent.network import Host, Interface, Network
from tcptutor.agent.precedence import precedence
from tcptutor.agent.running_traffic import RunningTraffic
from tcptutor.run import Environment
from tcptutor.spec import HEADERS, Experiment
from tcptutor.wire import plan
from tcptutor.wire.plan import Chain, Qdisc
from tcptutor.wire.protocol import Phase


def chains(network: Network, experiment: Experiment) -> dict[Interface, Chain]:
    """Every interface with the queue disciplines that `experiment` puts there; those without any are left out."""
    path, mtu, seed = experiment.path, experiment.hosts.mtu, experiment.seed
    changed = {change.name for change in path.changes}
    always = bool(changed & {"delay", "jitter", "loss"})
    wanted = {
        network.bottleneck: plan.chain(plan.forward(path), mtu, seed, always, experiment.packet),
        # Another seed: losses on the way back must not be those of the way there.
        network.way_back: plan.chain(plan.reverse(path), mtu, seed + (1 << 32), packet=HEADERS),
    }
    for pair in range(experiment.pairs):
        wanted[network.access(pair)] = plan.chain(plan.access_link(path, pair), mtu, seed)
    if experiment.hosts.maxrate is not None:
        paced = (Qdisc("fq", {"maxrate": round(experiment.hosts.maxrate / 8)}),)
        wanted |= dict.fromkeys((host.interface for host in network.hosts), paced)
    return {interface: chain for interface, chain in wanted.items() if chain}


def _ways(network: Network, experiment: Experiment) -> Iterator[tuple[Host, Host]]:
    """Who sends to whom: each pair of hosts once for each direction of its flows, forward where it has none."""
    for pair, hosts in enumerate(zip(network.senders, network.receivers, strict=True)):
        first = pair * experiment.flows.streams
        ways = {experiment.reversed(flow) for flow in range(first, first + experiment.flows.streams)}
        if ways != {True}:
            yield hosts
        if True in ways:
            yield hosts[1], hosts[0]


@contextmanager
def set_up(network: Network, experiment: Experiment) -> Iterator[tuple[Setup, dict[Interface, Chain]]]:
    """Hosts and path as `experiment` has them, for the length of the block. Raises LabError or KernelLacks."""
    setup, wanted = Setup(network, experiment), chains(network, experiment)
    # Each step of the cleanup runs whatever became of the others; the last one listed here is the first.
    with ExitStack() as cleanup:
        cleanup.callback(setup.stop)
        for interface in wanted:
            cleanup.callback(shaping.clear, interface)
        if any(change.name == "link" for change in experiment.path.changes):
            cleanup.callback(shaping.set_link, network.bottleneck, up=True)
        setup.start()
        if experiment.hosts.window is not None:
            for sender, receiver in _ways(network, experiment):
                window.bound(sender, receiver, experiment.hosts.window, experiment.hosts.mss)
        for interface, chain in wanted.items():
            shaping.apply(interface, chain)
        yield setup, wanted


def run(
    network: Network,
    experiment: Experiment,
    channel: Channel,
    first_port: int,
    sample_hz: float = 100.0,
    environment: Environment | None = None,
) -> None:
    """Run `experiment`, sending its events; the last one is Ended. Raises LabError or KernelLacks.

    A Stop request ends the traffic, and Ended tells how far it has come, with `complete` false.
    `environment` is where it takes place; None for the trial run that comes before it is known.
    """
    with set_up(network, experiment) as (setup, wanted):
        running = RunningTraffic(network, experiment, setup, wanted, first_port, channel, sample_hz)
        try:
            _follow(running, Watch(experiment), setup, wanted, environment)
        finally:
            running.stop()


def _follow(
    running: RunningTraffic,
    watch: Watch,
    setup: Setup,
    wanted: dict[Interface, Chain],
    environment: Environment | None,
) -> None:
    network, channel, sampler = running.network, running.channel, running.sampler
    seconds, complete = 0.0, False
    channel.send(Phase("check", "checking the path"))
    watch.settings(wanted)
    watch.offloads(network)
    watch.sockets(network, wanted)
    watch.invalid += setup.problems()
    if environment is not None:
        watch.clock(environment.hz)
    watch.path(network)
    before = {interface: shaping.read(interface) for interface in wanted}
    counted = HostCounters(network.hosts)
    channel.send(Phase("traffic", "connecting"))
    try:
        running.load.begin()
        running.start()
        if connecting.spared(watch.experiment):
            # What passed before was not to be lost.
            before = {interface: shaping.read(interface) for interface in wanted}
        with precedence():
            seconds = running.sample()
        complete = True
        watch.experiment = running.experiment
        watch.ended_early(running.missing)
        watch.suspect += running.failures
        watch.processors(running.load.busy(), alone=environment is None or environment.backend == "guest")
        channel.send(Phase("collect", "collecting the results"))
        running.finish(seconds)
    except Stopped:
        if not seconds:
            seconds = sampler.timing.last
            sampler.send(seconds, at_once=True)
        watch.stopped(seconds)
    watch.drops(before, {interface: shaping.read(interface) for interface in wanted}, network.bottleneck)
    watch.kernel(counted.moved())
    if (dropped := setup.firewall_drops()) is not None:
        watch.checks["firewall drops"] = dropped
    warmup = watch.experiment.flows.warmup
    datagrams = [result for one in running.udp for result in one.results(warmup, seconds)]
    kept = running.captured()
    channel.send(sampler.ended(watch, seconds, complete, planned=True, udp=datagrams, captured=kept))
