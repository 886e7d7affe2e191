"""How the flows of an experiment connect: in which order, for how long, and whether without loss.

iperf3 sends a UDP flow's handshake datagram once and gives up if it is lost. TCP retransmits its SYN after doubling
timeouts, so on a path that loses most of them some flows never connect. The measurement begins after the handshakes,
so such a path is loss-free until all flows are connected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tcptutor.agent import shaping
from tcptutor.agent.flow_group import Group
from tcptutor.agent.host_settings import Setup
from tcptutor.agent.network import Interface
from tcptutor.spec import Experiment
from tcptutor.wire.plan import Chain, Qdisc

_TIMEOUT = 15.0
"""Timeout in addition to the path's delay, s of the lab's clock; a lossy path may need several SYNs."""
_MAX_TIMEOUT = 120.0
"""Timeout on a path that loses most SYNs, s: the kernel gives up after about two minutes."""
_SETUP_ROUND_TRIPS = 6
"""Round trips of an iperf3 client before its first flow: control connection and exchange of parameters."""
_MIN_ANSWERED = 0.5
"""Smallest share of answered packets with which TCP connects within seconds."""
_NO_LOSS = {"loss": 0.0, "burst": 1.0, "loss_correlation": 0.0}


def timeout(experiment: Experiment) -> float:
    """Return the time after which flows that have not connected never will, s."""
    path = experiment.path
    answered = (1 - path.loss) * (1 - path.reverse_loss)
    return min(_MAX_TIMEOUT, _TIMEOUT / answered**2) + _time_without_loss(experiment)


def _time_without_loss(experiment: Experiment) -> float:
    """Return the longest time until all flows are connected on a loss-free path, s.

    TCP flows connect at once. iperf3 connects UDP flows in turn, in a round trip each, and pairs that already send
    may fill the queue that other handshakes pass.
    """
    path, flows = experiment.path, experiment.flows
    trip = max(map(experiment.pair_delay, range(experiment.pairs)))
    if path.rate is not None and experiment.pairs * (flows.streams + flows.udp_streams) > 1:
        trip += 8 * path.queue / path.rate
    return (10 + flows.udp_streams) * trip


def waits(experiment: Experiment, chosen: Sequence[Group]) -> list[float]:
    """Return how long each of the groups waits before it connects, s, so that all finish at the same time.

    iperf3 sends a UDP flow's handshake datagram once: if a queue drops it, the flow never starts. So no flow sends
    before all of them are connected.
    """
    needs = [
        (_SETUP_ROUND_TRIPS + group.udp_streams if group.udp_streams else 1)
        * experiment.pair_delay(group.pair)
        for group in chosen
    ]
    if not any(group.flows for group in chosen) or not any(group.udp_streams for group in chosen):
        return [0.0] * len(chosen)
    return [max(needs) - need for need in needs]


def is_loss_free(experiment: Experiment) -> bool:
    """Return whether the flows connect before the path begins to lose packets."""
    answered = (1 - experiment.path.loss) * (1 - experiment.path.reverse_loss)
    return answered < _MIN_ANSWERED or (answered < 1 and experiment.flows.udp_streams > 0)


@contextmanager
def without_loss(setup: Setup, chains: dict[Interface, Chain]) -> Iterator[None]:
    """Suspend random loss for the length of the block, in the netems of `chains` and the firewalls of `setup`."""
    lossy = {interface: chain for interface, chain in chains.items() if any(map(_lossy, chain))}
    for interface, chain in lossy.items():
        shaping.change(interface, tuple(map(_lossless, chain)))
    setup.suspend_loss()
    yield
    setup.resume_loss()
    for interface, chain in lossy.items():
        shaping.change(interface, chain)


def _lossy(qdisc: Qdisc) -> bool:
    return qdisc.kind == "netem" and qdisc.settings["loss"] > 0


def _lossless(qdisc: Qdisc) -> Qdisc:
    return Qdisc(qdisc.kind, qdisc.settings | _NO_LOSS) if qdisc.kind == "netem" else qdisc
