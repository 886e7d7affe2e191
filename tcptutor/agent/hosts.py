"""How the end hosts are set up: sysctls, offloads, MTU, a firewall rule. Everything is read back and taken back."""

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
# linux/ethtool.h: the commands that read and set one offload each.
_OFFLOADS = {"tso": (0x1E, 0x1F), "gso": (0x23, 0x24), "gro": (0x2B, 0x2C)}


def sysctl(host: Host, name: str, value: str | None = None) -> str:
    """Read sysctl `name` (such as net.ipv4.tcp_rmem) on `host`, after writing `value` when one is given.

    Raises KernelLacks when the kernel has none of that name, UsageError when it refuses the value.
    """
    # /proc/thread-self/net follows the thread's namespace, and so does /proc/sys/net at the time of opening.
    path = Path("/proc/sys") / name.replace(".", "/")
    try:
        with network_of(host.pid):
            there = path.exists()
            if value is not None and there:
                path.write_text(value)
            return " ".join(path.read_text().split())
    except OSError as error:
        # An unknown algorithm's name is refused with the same error as a sysctl that is not there.
        if not there:
            raise KernelLacks(f"this kernel has no sysctl {name}") from None
        if value is None:
            raise LabError(f"{name} cannot be read on {host.name}: {error.strerror}") from error
        raise UsageError(
            f"the kernel refuses {name} = {value} ({error.strerror}):"
            f" `sysctl {name}` in `tcptutor shell h1` shows what it has"
        ) from error


@contextmanager
def _asking(interface: Interface) -> Iterator[Callable[[int, bytes], bytes]]:
    """Requests about `interface`: each gives struct ifreq (linux/if.h) as the kernel leaves it."""
    # One socket and ioctls instead of netlink: on an emulated processor that is half of a run's start.
    with network_of(interface.pid), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        name = interface.name.encode()
        yield lambda request, value: fcntl.ioctl(sock, request, struct.pack("16s24s", name, value))


def offloads(interface: Interface, on: bool | None = None) -> dict[str, bool]:
    """The segmentation offloads of `interface`, after switching all of them when `on` is given."""
    with _asking(interface) as ask:

        def ethtool(command: int, value: int = 0) -> int:
            data = bytearray(struct.pack("II", command, value))
            ask(_SIOCETHTOOL, struct.pack("P", ctypes.addressof((ctypes.c_char * 8).from_buffer(data))))
            return int(struct.unpack("II", data)[1])

        if on is not None:
            for _, set_command in _OFFLOADS.values():
                ethtool(set_command, int(on))
        return {name: bool(ethtool(get_command)) for name, (get_command, _) in _OFFLOADS.items()}


def set_mtu(network: Network, mtu: int) -> None:
    """Give every interface of the network, bridges included, this MTU."""
    for interface in network.interfaces + network.bridges:
        set_mtu_of(interface, mtu)


def set_mtu_of(interface: Interface, mtu: int) -> None:
    """Give one interface this MTU, bytes of an IP packet."""
    with _asking(interface) as ask:
        ask(_SIOCSIFMTU, struct.pack("i", mtu))


def mtu(interface: Interface) -> int:
    """What `interface` takes, bytes of an IP packet."""
    with _asking(interface) as ask:
        return int(struct.unpack_from("i", ask(_SIOCGIFMTU, b""), 16)[0])


def is_up(interface: Interface) -> bool:
    """Whether somebody has brought it up."""
    with _asking(interface) as ask:
        return bool(struct.unpack_from("h", ask(_SIOCGIFFLAGS, b""), 16)[0] & _IFF_UP)


class Firewall:
    """A rule on a host's input that drops received TCP and UDP packets at random, as `iptables` has it."""

    _CHECKED = "INPUT"

    def __init__(self, host: Host, loss: float) -> None:
        self._host = host
        self._rule = ["-m", "statistic", "--mode", "random", "--probability", f"{loss:.10f}", "-j", "DROP"]
        self._there = False

    def _iptables(self, *arguments: str) -> str:
        # The alternatives link `iptables` exists only where the package was installed, not merely unpacked.
        for program in ("iptables", "/usr/sbin/iptables-nft"):
            try:
                with network_of(self._host.pid):
                    done = subprocess.run(
                        [program, *arguments], capture_output=True, text=True, check=False, timeout=20
                    )
            except FileNotFoundError:
                continue
            if done.returncode:
                said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                raise KernelLacks(
                    f"the firewall rule cannot be set ({said}): take loss_by=netem, or --backend guest"
                )
            return done.stdout
        raise KernelLacks("there is no iptables for a firewall rule: take loss_by=netem, or --backend guest")

    def start(self) -> list[str]:
        """Set the rule; what the kernel holds otherwise, if it does. Raises KernelLacks."""
        self._iptables("-A", self._CHECKED, *self._rule)
        self._there = True
        held = self._iptables("-S", self._CHECKED)
        given = next((line for line in held.splitlines() if "--probability" in line), "")
        words = given.split()
        probability = float(words[words.index("--probability") + 1]) if given else 0.0
        asked = float(self._rule[self._rule.index("--probability") + 1])
        # The kernel keeps 31 bits.
        if abs(probability - asked) <= 1e-9:
            return []
        return [f"firewall rule on {self._host.name}: asked for {asked}, the kernel holds {probability}"]

    @property
    def dropped(self) -> int:
        """Packets that the rule has dropped."""
        rule = next(
            (line for line in self._iptables("-vS", self._CHECKED).splitlines() if "--probability" in line),
            "",
        )
        words = rule.split()
        return int(words[words.index("-c") + 1]) if "-c" in words else 0

    def stop(self) -> None:
        """Take the rule away; safe to call twice."""
        if self._there:
            self._iptables("-D", self._CHECKED, *self._rule)
            self._there = False


class Setup:
    """The hosts' settings of one run: `start` makes them, `problems` reads them back, `stop` restores what was."""

    def __init__(self, network: Network, experiment: Experiment) -> None:
        self._network, self._experiment = network, experiment
        self._wanted: dict[str, str] = self._sysctls()
        self._before: list[tuple[Host, str, str]] = []
        self._firewalls: list[Firewall] = []
        self._refused: list[str] = []

    def _sysctls(self) -> dict[str, str]:
        experiment, hosts = self._experiment, self._experiment.hosts
        largest = largest_buffer(experiment)
        wanted = {
            # Nothing learned in one run may help the next one.
            "tcp_no_metrics_save": "1",
            "tcp_wmem": f"4096 16384 {largest}",
            "tcp_rmem": f"4096 131072 {largest}",
            "tcp_moderate_rcvbuf": "1",
            "tcp_ecn": "1" if experiment.path.ecn else "2",
        }
        if hosts.send_buffer is not None:
            wanted["tcp_wmem"] = f"4096 {hosts.send_buffer} {hosts.send_buffer}"
        return {f"net.ipv4.{name}": value for name, value in (wanted | hosts.sysctls).items()}

    def start(self) -> None:
        """Set the hosts up; the algorithm is set flow by flow, on its socket. Raises KernelLacks or LabError."""
        experiment = self._experiment
        set_mtu(self._network, experiment.hosts.mtu)
        for interface in self._network.interfaces:
            offloads(interface, on=experiment.hosts.offloads)
        for host in self._network.hosts:
            for name, value in self._wanted.items():
                before = sysctl(host, name)
                # `window` changes the receive buffers once more.
                if before != value or experiment.hosts.window is not None:
                    self._before.append((host, name, before))
                if before != value:
                    sysctl(host, name, value)
        if experiment.path.loss_by == "firewall" and experiment.path.loss:
            for host in self._network.receivers:
                self._firewalls.append(Firewall(host, experiment.path.loss))
                self._refused += self._firewalls[-1].start()

    def problems(self) -> list[str]:
        """A sentence for each setting that the kernel does not hold as asked."""
        found = list(self._refused)
        for host in self._network.hosts:
            for name, value in self._wanted.items():
                if self._experiment.hosts.window is not None and name.endswith(("_rmem", "_rcvbuf")):
                    continue  # set again, and measured, by `window`
                held = sysctl(host, name)
                if held != value:
                    found.append(f"{name} on {host.name}: asked for {value}, the kernel holds {held}")
        return found

    def spare(self) -> None:
        """Let everything pass the receivers' firewalls, until `drop`."""
        for firewall in self._firewalls:
            firewall.stop()

    def drop(self) -> None:
        """Let the receivers' firewalls drop again what `spare` has let pass; they count anew. Raises KernelLacks."""
        for firewall in self._firewalls:
            firewall.start()

    def firewall_drops(self) -> int | None:
        """What the receivers' rules have dropped, packets; None without such rules."""
        return sum(each.dropped for each in self._firewalls) if self._firewalls else None

    def stop(self) -> None:
        """Restore what was there before; safe to call twice.

        Every step runs; the error of the last one that failed is raised.
        """
        with ExitStack() as cleanup:
            for host, name, value in self._before:
                cleanup.callback(sysctl, host, name, value)
            for firewall in self._firewalls:
                cleanup.callback(firewall.stop)
            self._before = []
