"""Settings of the end hosts: sysctls, offloads, MTU and a firewall rule. All are verified, and restored after a run."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tcptutor.agent.network import Host, Interface, Network, network_of
from tcptutor.base.errors import KernelLacks, LabError, UsageError
from tcptutor.spec import Experiment
from tcptutor.wire.memory import largest_buffer

_SIOCETHTOOL = 0x8946
_SIOCGIFMTU, _SIOCSIFMTU = 0x8921, 0x8922
_SIOCGIFFLAGS, _IFF_UP = 0x8913, 1
_EVERYBODY = "10.0.0.0/8"
"""Destination of the hosts' only route."""
# linux/ethtool.h: commands that read and set one offload each.
_OFFLOADS = {"tso": (0x1E, 0x1F), "gso": (0x23, 0x24), "gro": (0x2B, 0x2C)}


def sysctl(host: Host, name: str, value: str | None = None) -> str:
    """Read the sysctl `name`, such as net.ipv4.tcp_rmem, on `host`, after writing `value` if one is given.

    Raises KernelLacks for an unknown name, UsageError if the kernel refuses the value.
    """
    # /proc/thread-self/net, and so /proc/sys/net, follows the thread's namespace at the time of opening.
    path = Path("/proc/sys") / name.replace(".", "/")
    try:
        with network_of(host.pid):
            exists = path.exists()
            if value is not None and exists:
                path.write_text(value)
            return " ".join(path.read_text().split())
    except OSError as error:
        # An unknown algorithm is refused with the same error as a missing sysctl.
        if not exists:
            raise KernelLacks(f"this kernel has no sysctl {name}") from None
        if value is None:
            raise LabError(f"{name} cannot be read on {host.name}: {error.strerror}") from error
        raise UsageError(
            f"the kernel refuses {name} = {value} ({error.strerror}):"
            f" `sysctl {name}` in `tcptutor shell h1` shows what it has"
        ) from error


def offloads(interface: Interface, on: bool | None = None) -> dict[str, bool]:
    """Return the segmentation offloads of `interface`, after switching all of them if `on` is given."""
    with _ioctl(interface) as ioctl:

        def ethtool(command: int, value: int = 0) -> int:
            data = bytearray(struct.pack("II", command, value))
            ioctl(_SIOCETHTOOL, struct.pack("P", ctypes.addressof((ctypes.c_char * 8).from_buffer(data))))
            return int(struct.unpack("II", data)[1])

        if on is not None:
            for _, set_command in _OFFLOADS.values():
                ethtool(set_command, int(on))
        return {name: bool(ethtool(get_command)) for name, (get_command, _) in _OFFLOADS.items()}


def set_mtu(network: Network, mtu: int) -> None:
    """Set the MTU of every interface of the network, bridges included."""
    for interface in network.interfaces + network.bridges:
        set_interface_mtu(interface, mtu)


def set_interface_mtu(interface: Interface, mtu: int) -> None:
    """Set the MTU of a single interface, bytes of an IP packet."""
    with _ioctl(interface) as ioctl:
        ioctl(_SIOCSIFMTU, struct.pack("i", mtu))


def mtu(interface: Interface) -> int:
    """Return the MTU of `interface`, bytes of an IP packet."""
    with _ioctl(interface) as ioctl:
        return int(struct.unpack_from("i", ioctl(_SIOCGIFMTU, b""), 16)[0])


def is_up(interface: Interface) -> bool:
    with _ioctl(interface) as ioctl:
        return bool(struct.unpack_from("h", ioctl(_SIOCGIFFLAGS, b""), 16)[0] & _IFF_UP)


@contextmanager
def _ioctl(interface: Interface) -> Iterator[Callable[[int, bytes], bytes]]:
    """Yield a function that makes an ioctl on `interface` and returns struct ifreq (linux/if.h)."""
    # One socket and ioctls instead of netlink: on an emulated processor that halves the start of a run.
    with network_of(interface.pid), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        name = interface.name.encode()
        yield lambda request, value: fcntl.ioctl(sock, request, struct.pack("16s24s", name, value))


def set_route(host: Host, *metrics: str) -> None:
    """Set the metrics of the route from `host` to all others, in the words of `ip route`; without any, remove them.

    Raises LabError.
    """
    scope = ("proto", "kernel", "scope", "link", "src", host.address)
    _ip_route(host, "change", _EVERYBODY, "dev", host.interface.name, *scope, *metrics)


def initial_window(host: Host) -> int | None:
    """Return the initial window that the route of `host` sets, segments; None for the kernel's. Raises LabError."""
    words = _ip_route(host, "show", _EVERYBODY).split()
    return int(words[words.index("initcwnd") + 1]) if "initcwnd" in words else None


def _ip_route(host: Host, *words: str) -> str:
    with network_of(host.pid):
        done = subprocess.run(
            ["ip", "route", *words], capture_output=True, text=True, check=False, timeout=20
        )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise LabError(f"the route of {host.name} cannot be set ({reason}): run it again")
    return done.stdout


class Firewall:
    """Rule on a host's input that drops received TCP and UDP packets at random, set with `iptables`."""

    _CHAIN = "INPUT"

    def __init__(self, host: Host, loss: float) -> None:
        self._host = host
        self._rule = ["-m", "statistic", "--mode", "random", "--probability", f"{loss:.10f}", "-j", "DROP"]
        self._is_set = False

    def _iptables(self, *arguments: str) -> str:
        # The link `iptables` exists only if the package was configured, not merely unpacked.
        for program in ("iptables", "/usr/sbin/iptables-nft"):
            try:
                with network_of(self._host.pid):
                    done = subprocess.run(
                        [program, *arguments], capture_output=True, text=True, check=False, timeout=20
                    )
            except FileNotFoundError:
                continue
            if done.returncode:
                reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                raise KernelLacks(
                    f"the firewall rule cannot be set ({reason}): take loss_by=netem, or --backend guest"
                )
            return done.stdout
        raise KernelLacks("iptables is not installed: take loss_by=netem, or --backend guest")

    def start(self) -> list[str]:
        """Set the rule, and return a problem if the kernel changed its probability. Raises KernelLacks."""
        self._iptables("-A", self._CHAIN, *self._rule)
        self._is_set = True
        rule = self._find_rule("-S").split()
        actual = float(rule[rule.index("--probability") + 1]) if rule else 0.0
        expected = float(self._rule[self._rule.index("--probability") + 1])
        # The kernel keeps 31 bits.
        if abs(actual - expected) <= 1e-9:
            return []
        return [f"firewall rule on {self._host.name}: asked for {expected}, the kernel holds {actual}"]

    @property
    def dropped(self) -> int:
        rule = self._find_rule("-vS").split()
        return int(rule[rule.index("-c") + 1]) if "-c" in rule else 0

    def _find_rule(self, listing: str) -> str:
        rules = self._iptables(listing, self._CHAIN).splitlines()
        return next((line for line in rules if "--probability" in line), "")

    def stop(self) -> None:
        """Delete the rule; safe to call twice."""
        if self._is_set:
            self._iptables("-D", self._CHAIN, *self._rule)
            self._is_set = False


class Setup:
    """Host settings of a run: `start` applies them, `problems` verifies them, `stop` restores the old values."""

    def __init__(self, network: Network, experiment: Experiment) -> None:
        self._network, self._experiment = network, experiment
        self._values: dict[str, str] = self._sysctls()
        self._before: list[tuple[Host, str, str]] = []
        self._routed: list[Host] = []
        """Hosts whose routes have metrics."""
        self._firewalls: list[Firewall] = []
        self._refused: list[str] = []

    def _sysctls(self) -> dict[str, str]:
        experiment, hosts = self._experiment, self._experiment.hosts
        largest = largest_buffer(experiment)
        values = {
            # Metrics cached in one run must not help the next.
            "tcp_no_metrics_save": "1",
            "tcp_wmem": f"4096 16384 {largest}",
            "tcp_rmem": f"4096 131072 {largest}",
            "tcp_moderate_rcvbuf": "1",
            "tcp_ecn": "1" if experiment.path.ecn else "2",
        }
        if hosts.send_buffer is not None:
            values["tcp_wmem"] = f"4096 {hosts.send_buffer} {hosts.send_buffer}"
        return {f"net.ipv4.{name}": value for name, value in (values | hosts.sysctls).items()}

    def start(self) -> None:
        """Apply the settings, except the algorithm, which each flow's socket gets. Raises KernelLacks or LabError."""
        experiment = self._experiment
        set_mtu(self._network, experiment.hosts.mtu)
        for interface in self._network.interfaces:
            offloads(interface, on=experiment.hosts.offloads)
        for host in self._network.hosts:
            for name, value in self._values.items():
                before = sysctl(host, name)
                # `window` changes the receive buffers again.
                if before != value or experiment.hosts.window is not None:
                    self._before.append((host, name, before))
                if before != value:
                    sysctl(host, name, value)
        if experiment.hosts.initial_window is not None:
            for host in self._network.hosts:
                self._routed.append(host)
                set_route(host, "initcwnd", str(experiment.hosts.initial_window))
        if experiment.path.loss_by == "firewall" and experiment.path.loss:
            for host in self._network.receivers:
                self._firewalls.append(Firewall(host, experiment.path.loss))
                self._refused += self._firewalls[-1].start()

    def problems(self) -> list[str]:
        """Return a sentence for each setting that differs from its requested value."""
        problems = list(self._refused)
        for host in self._network.hosts:
            for name, value in self._values.items():
                if self._experiment.hosts.window is not None and name.endswith(("_rmem", "_rcvbuf")):
                    continue  # `window` sets and measures these
                actual = sysctl(host, name)
                if actual != value:
                    problems.append(f"{name} on {host.name}: asked for {value}, the kernel holds {actual}")
        for host in self._routed:
            actual_window, requested = initial_window(host), self._experiment.hosts.initial_window
            if actual_window != requested:
                problems.append(
                    f"initcwnd on {host.name}: asked for {requested}, the kernel holds {actual_window}"
                )
        return problems

    def suspend_loss(self) -> None:
        """Stop the receivers' firewalls from dropping packets until `resume_loss`."""
        for firewall in self._firewalls:
            firewall.stop()

    def resume_loss(self) -> None:
        """Restart the receivers' firewalls with new counters. Raises KernelLacks."""
        for firewall in self._firewalls:
            firewall.start()

    def firewall_drops(self) -> int | None:
        """Return the packets that the receivers' firewalls have dropped; None without such rules."""
        return sum(each.dropped for each in self._firewalls) if self._firewalls else None

    def stop(self) -> None:
        """Restore the previous settings; safe to call twice.

        Every step runs. Raises the error of the last step that failed.
        """
        with ExitStack() as cleanup:
            for host, name, value in self._before:
                cleanup.callback(sysctl, host, name, value)
            for host in self._routed:
                cleanup.callback(set_route, host)
            for firewall in self._firewalls:
                cleanup.callback(firewall.stop)
            self._before, self._routed = [], []
