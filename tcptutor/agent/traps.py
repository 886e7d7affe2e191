"""What can be wrong with a lab from its beginning, for somebody to find: each is switched on in a network that stands.

Nothing is taken back here: the lab of a session ends with it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace

from tcptutor.agent import hosts, shaping
from tcptutor.agent.network import Host, Network
from tcptutor.base.errors import LabError, UsageError, unknown
from tcptutor.spec import Experiment, Path
from tcptutor.wire import plan

Trap = Callable[[Network, Experiment], None]
"""Changes the network that was built, shaped and checked for the experiment. Raises LabError or KernelLacks."""

_CAPPED = 32768
"""Of a send buffer, bytes as the kernel counts them: a quarter of what iperf3 writes at once."""
_BUCKET = 1000
"""Bytes that may leave at once: less than a full frame, and enough for a ping."""
_LIMIT = 4000
"""Of a buffer, bytes, by somebody who meant packets: room for two."""
_LATE = 0.06
"""Delay of what comes back, s."""
_LOST = 0.3
"""Share of what comes back that is lost: too much for anybody not to notice, and TCP still goes on."""
_NARROW = 1400
"""Bytes of an IP packet, as of a tunnel that somebody once set up."""


def _capped_send_buffer(network: Network, _: Experiment) -> None:
    hosts.sysctl(network.senders[0], "net.ipv4.tcp_wmem", f"4096 16384 {_CAPPED}")


def _no_window_scaling(network: Network, _: Experiment) -> None:
    hosts.sysctl(network.receivers[0], "net.ipv4.tcp_window_scaling", "0")


def _fixed_receive_buffer(network: Network, _: Experiment) -> None:
    hosts.sysctl(network.receivers[0], "net.ipv4.tcp_moderate_rcvbuf", "0")


def _late_acks(network: Network, experiment: Experiment) -> None:
    _on_the_way_back(network, experiment, Path(delay=_LATE))


def _lost_acks(network: Network, experiment: Experiment) -> None:
    _on_the_way_back(network, experiment, Path(loss=_LOST))


def _on_the_way_back(network: Network, experiment: Experiment, way: Path) -> None:
    chain = plan.chain(way, experiment.hosts.mtu, experiment.seed + (1 << 32))
    shaping.apply(network.way_back, chain)


def _small_bucket(network: Network, experiment: Experiment) -> None:
    _shaper(network, experiment, burst=_BUCKET)


def _short_buffer(network: Network, experiment: Experiment) -> None:
    _shaper(network, experiment, limit=_LIMIT)


def _shaper(network: Network, experiment: Experiment, **settings: int) -> None:
    """Give the tbf that shapes the data's way other settings."""
    chain = plan.chain(plan.forward(experiment.path), experiment.hosts.mtu, experiment.seed)
    other = tuple(
        replace(one, settings=one.settings | settings) if one.kind == "tbf" else one for one in chain
    )
    shaping.change(network.bottleneck, other)


def _narrow_hop(network: Network, _: Experiment) -> None:
    hosts.set_mtu_of(network.bottleneck, _NARROW)


def _super_packets(network: Network, _: Experiment) -> None:
    """The sender's are enough: the qdiscs on the way take what it sends as it comes."""
    hosts.offloads(network.senders[0].interface, on=True)


def _duplicate_address(network: Network, _: Experiment) -> None:
    """The first switch has the receiver's address as well, and nearer to the sender."""
    receiver, switch = network.receivers[0], network.bridges[0].name
    _run(None, "ip", "address", "add", f"{receiver.address}/8", "dev", switch)
    for host in network.senders:
        # Who has asked before knows the right one.
        _run(host, "ip", "neighbour", "flush", "dev", host.interface.name)


def _run(host: Host | None, *command: str) -> None:
    """`command` on `host`, or where the switches are. Raises LabError with the last line that it prints."""
    entered = ("mnexec", "-a", str(host.pid), *command) if host is not None else command
    done = subprocess.run(entered, capture_output=True, text=True, check=False, timeout=20)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LabError(f"the network of this page cannot be set up ({said}): open it again")


TRAPS: dict[str, Trap] = {
    "capped-send-buffer": _capped_send_buffer,
    "no-window-scaling": _no_window_scaling,
    "fixed-receive-buffer": _fixed_receive_buffer,
    "late-acks": _late_acks,
    "lost-acks": _lost_acks,
    "small-bucket": _small_bucket,
    "short-buffer": _short_buffer,
    "narrow-hop": _narrow_hop,
    "super-packets": _super_packets,
    "duplicate-address": _duplicate_address,
}
"""By the names that lesson files use; `course.goals.telltales` has the words by which a text gives each away."""


def switch_on(name: str, network: Network, experiment: Experiment) -> None:
    """Make that wrong. Raises UsageError for a name that is none, LabError or KernelLacks where it cannot be done."""
    if name not in TRAPS:
        raise UsageError(unknown("trap", name, TRAPS))
    TRAPS[name](network, experiment)
