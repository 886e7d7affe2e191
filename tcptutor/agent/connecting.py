"""Loss-free connection phase for paths that would lose too many handshakes.

iperf3 sends a UDP flow's handshake datagram once and gives up if it is lost. TCP retransmits its SYN after doubling
timeouts, so on a path that loses most of them some flows never connect. The measurement begins after the handshakes,
so such a path is loss-free until all flows are connected.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tcptutor.agent import shaping
from tcptutor.agent.host_settings import Setup
from tcptutor.agent.network import Interface
from tcptutor.spec import Experiment
from tcptutor.wire.plan import Chain, Qdisc

_MIN_ANSWERED = 0.5
"""Smallest share of answered packets with which TCP connects within seconds."""
_NO_LOSS = {"loss": 0.0, "burst": 1.0, "loss_correlation": 0.0}


def connects_without_loss(experiment: Experiment) -> bool:
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
