"""The time in which flows connect, where the path would lose too much for that.

iperf3 sends the datagram of a UDP flow's handshake once, and gives up where it is lost. TCP's SYN is sent again, after
twice the time each: of a path that loses most of them some flows never connect. What is measured begins afterwards, so
there the path loses nothing until all flows are connected.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tcptutor.agent import shaping
from tcptutor.agent.hosts import Setup
from tcptutor.agent.network import Interface
from tcptutor.spec import Experiment
from tcptutor.wire.plan import Chain, Qdisc

_ARRIVES = 0.5
"""The share of packets whose answer comes back with which TCP connects within seconds."""
_NO_LOSS = {"loss": 0.0, "burst": 1.0, "loss_correlation": 0.0}


def spared(experiment: Experiment) -> bool:
    """Whether its flows connect on a path that loses nothing yet."""
    arrives = (1 - experiment.path.loss) * (1 - experiment.path.reverse_loss)
    return arrives < _ARRIVES or (arrives < 1 and experiment.flows.udp_streams > 0)


@contextmanager
def without_loss(setup: Setup, wanted: dict[Interface, Chain]) -> Iterator[None]:
    """Nothing is lost at random while the block lasts; what `wanted` and `setup` have for it comes back after it."""
    lossy = {interface: chain for interface, chain in wanted.items() if any(map(_lossy, chain))}
    for interface, chain in lossy.items():
        shaping.change(interface, tuple(map(_lossless, chain)))
    setup.spare()
    yield
    setup.drop()
    for interface, chain in lossy.items():
        shaping.change(interface, chain)


def _lossy(qdisc: Qdisc) -> bool:
    return qdisc.kind == "netem" and qdisc.settings["loss"] > 0


def _lossless(qdisc: Qdisc) -> Qdisc:
    return Qdisc(qdisc.kind, qdisc.settings | _NO_LOSS) if qdisc.kind == "netem" else qdisc
