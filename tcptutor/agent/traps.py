"""Faults to set up in a running network for a student to find.

They need no cleanup, because the network of a session ends with it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace

from tcptutor.agent import host_settings, shaping
from tcptutor.agent.network import Host, Network
from tcptutor.base.errors import LabError, UsageError, unknown
from tcptutor.spec import Experiment, Path
from tcptutor.wire import plan

Trap = Callable[[Network, Experiment], None]
"""Function that breaks the network set up for an experiment. Raises LabError or KernelLacks."""

_CAPPED = 32768
"""Send buffer as the kernel counts it, bytes: a quarter of a write of iperf3."""
_BUCKET = 1000
"""Bucket, bytes: smaller than a full frame, large enough for a ping."""
_LIMIT = 4000
"""Queue limit, bytes, as if set in packets by mistake: it holds two packets."""
_LATE = 0.06
"""Delay of the reverse path, s."""
_LOST = 0.3
"""Loss of the reverse path: obvious, yet TCP still makes progress."""
_NARROW = 1400
"""MTU, bytes, as of a tunnel."""


def _capped_send_buffer(network: Network, _: Experiment) -> None:
    host_settings.sysctl(network.senders[0], "net.ipv4.tcp_wmem", f"4096 16384 {_CAPPED}")


def _no_window_scaling(network: Network, _: Experiment) -> None:
    host_settings.sysctl(network.receivers[0], "net.ipv4.tcp_window_scaling", "0")


def _fixed_receive_buffer(network: Network, _: Experiment) -> None:
    host_settings.sysctl(network.receivers[0], "net.ipv4.tcp_moderate_rcvbuf", "0")


def _late_acks(network: Network, experiment: Experiment) -> None:
    _shape_reverse_path(network, experiment, Path(delay=_LATE))


def _lost_acks(network: Network, experiment: Experiment) -> None:
    _shape_reverse_path(network, experiment, Path(loss=_LOST))


def _shape_reverse_path(network: Network, experiment: Experiment, direction: Path) -> None:
    chain = plan.chain(direction, experiment.hosts.mtu, experiment.seed + (1 << 32))
    shaping.apply(network.reverse_bottleneck, chain)


def _small_bucket(network: Network, experiment: Experiment) -> None:
    _change_shaper(network, experiment, burst=_BUCKET)


def _short_buffer(network: Network, experiment: Experiment) -> None:
    _change_shaper(network, experiment, limit=_LIMIT)


def _change_shaper(network: Network, experiment: Experiment, **settings: int) -> None:
    chain = plan.chain(plan.forward(experiment.path), experiment.hosts.mtu, experiment.seed)
    changed = tuple(
        replace(qdisc, settings=qdisc.settings | settings) if qdisc.kind == "tbf" else qdisc
        for qdisc in chain
    )
    shaping.change(network.bottleneck, changed)


def _narrow_hop(network: Network, _: Experiment) -> None:
    host_settings.set_interface_mtu(network.bottleneck, _NARROW)


def _super_packets(network: Network, _: Experiment) -> None:
    """Switch on the sender's offloads; the qdiscs on the path do not split its packets."""
    host_settings.offloads(network.senders[0].interface, on=True)


def _duplicate_address(network: Network, _: Experiment) -> None:
    """Give the receiver's address to the first switch, which is nearer to the sender."""
    receiver, switch = network.receivers[0], network.bridges[0].name
    _run(None, "ip", "address", "add", f"{receiver.address}/8", "dev", switch)
    for host in network.senders:
        # A sender that resolved the address before knows the right one.
        _run(host, "ip", "neighbour", "flush", "dev", host.interface.name)


def _run(host: Host | None, *command: str) -> None:
    """Run `command` on `host`, or on the switches. Raises LabError with the last line of its errors."""
    entered = ("mnexec", "-a", str(host.pid), *command) if host is not None else command
    done = subprocess.run(entered, capture_output=True, text=True, check=False, timeout=20)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LabError(f"the network of this page cannot be set up ({reason}): open it again")


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
"""Traps by their names in lesson files; `course.activities.shell` lists the words that would give each away."""


def switch_on(name: str, network: Network, experiment: Experiment) -> None:
    """Set up a trap. Raises UsageError for an unknown name, LabError or KernelLacks if it cannot be set up."""
    if name not in TRAPS:
        raise UsageError(unknown("trap", name, TRAPS))
    TRAPS[name](network, experiment)
