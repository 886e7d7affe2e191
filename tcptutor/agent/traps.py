"""Faults to set up in a running network for a student to find.

They need no cleanup, because the network of a session ends with it.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from tcptutor.agent import host_settings, shaping
from tcptutor.agent.netlink import TcpMetrics
from tcptutor.agent.network import Host, Network, network_of
from tcptutor.base.errors import LabError, UsageError, unknown
from tcptutor.spec import Experiment, Path
from tcptutor.spec.frame_sizes import ETHERNET_HEADER
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
_HELD = 0.3
"""Share of the packets in flight that a netem with too small a limit holds."""
_THRESHOLD = 2
"""Cached slow start threshold, segments: the smallest that losses can leave."""
_PATIENCE = 10.0
"""Longest wait for a connection and its end, s."""


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
    _change_path(network, experiment, "tbf", **settings)


def _netem_limit(network: Network, experiment: Experiment) -> None:
    """Let netem hold fewer packets than the path has in flight."""
    frame = experiment.hosts.mtu + ETHERNET_HEADER
    packets = round(_HELD * (experiment.bdp or 100 * frame) / frame)
    _change_path(network, experiment, "netem", limit=packets)


def _change_path(network: Network, experiment: Experiment, kind: str, **settings: int) -> None:
    """Change settings of the disciplines of `kind` on the path of the data."""
    chain = plan.chain(plan.forward(experiment.path), experiment.hosts.mtu, experiment.seed)
    changed = tuple(
        replace(qdisc, settings=qdisc.settings | settings) if qdisc.kind == kind else qdisc for qdisc in chain
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


def _cached_metrics(network: Network, _: Experiment) -> None:
    """Let each sender remember a tiny slow start threshold for its receiver, as after a connection with many losses.

    A new entry of the kernel's cache takes a locked threshold over from the route. A good connection would otherwise
    replace it, and the fault would be gone after the first look.
    """
    for sender, receiver in zip(network.senders, network.receivers, strict=True):
        for name in ("tcp_no_metrics_save", "tcp_no_ssthresh_metrics_save"):
            host_settings.sysctl(sender, f"net.ipv4.{name}", "0")
        host_settings.set_route(sender, "ssthresh", "lock", str(_THRESHOLD))
        _connect_once(sender, receiver)
        with TcpMetrics(sender.pid) as metrics:
            deadline = time.monotonic() + _PATIENCE
            while metrics.smallest_ssthresh() is None and time.monotonic() < deadline:
                time.sleep(0.02)
        host_settings.set_route(sender)


def _connect_once(sender: Host, receiver: Host) -> None:
    """Open a connection and close it, the sender first. Raises LabError."""
    with network_of(receiver.pid):
        listener = socket.create_server((receiver.address, 0))
    with network_of(sender.pid):
        end = socket.socket()
    with closing(listener), closing(end):
        try:
            end.settimeout(_PATIENCE)
            end.connect(listener.getsockname())
            end.shutdown(socket.SHUT_WR)
            listener.accept()[0].close()
        except OSError as error:
            raise LabError(f"the network of this page cannot be set up ({error}): open it again") from error


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
    "netem-limit": _netem_limit,
    "cached-metrics": _cached_metrics,
}
"""Traps by their names in lesson files; `course.activities.shell` lists the words that would give each away."""


def switch_on(name: str, network: Network, experiment: Experiment) -> None:
    """Set up a trap. Raises UsageError for an unknown name, LabError or KernelLacks if it cannot be set up."""
    if name not in TRAPS:
        raise UsageError(unknown("trap", name, TRAPS))
    TRAPS[name](network, experiment)
