"""Observers of the kernel during a session: interfaces, sysctls, and tallies of the hosts."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import struct
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tcptutor.agent import host_settings
from tcptutor.agent.netlink import LinkNotifications, Listeners, Route, TcpMetrics
from tcptutor.agent.network import Interface, network_of
from tcptutor.agent.session.captures import Captures
from tcptutor.wire.kernel_state import InterfaceState, QdiscSettings

_libc = ctypes.CDLL(None)
_EVENT = struct.Struct("iIII")
_IN_MODIFY = 2
"""sys/inotify.h"""
_IPV4 = Path("/proc/sys/net/ipv4")
_MORE = (_IPV4 / "ip_forward", *(Path("/proc/sys/net/core", name) for name in ("rmem_max", "wmem_max")))
"""Sysctls to follow besides `net.ipv4.tcp_*`. The last two belong to the machine: every host has the same value."""
_NOT_SETTINGS = ("available", "allowed", "key", "mem_")
"""Parts of the names of sysctls that only inform, or are secret."""
_READ_PER_POLL = 4
"""Sysctls that a poll reads in turn without a notification."""
REPORTED = (
    "tcp_congestion_control", "tcp_rmem", "tcp_wmem", "tcp_window_scaling", "tcp_timestamps", "tcp_sack", "tcp_dsack",
    "tcp_ecn", "tcp_moderate_rcvbuf", "tcp_no_metrics_save", "tcp_slow_start_after_idle", "tcp_mtu_probing",
    "tcp_limit_output_bytes", "tcp_recovery", "tcp_fastopen", "ip_forward", "rmem_max", "wmem_max",
)  # fmt: skip
"""Sysctls that the manuals set or read, and that are always reported. Others are reported when changed."""
_MIN_INTERVAL = 0.4
"""Shortest time between two reports of counts, s, so that a flood of pings is no flood of messages."""
_ARRIVED, _KEPT = b"InReceives", (b"InDelivers", b"InHdrErrors", b"InAddrErrors", b"InUnknownProtos", b"InDiscards",
                                  b"ForwDatagrams")  # fmt: skip
"""Linux's counters of RFC 4293 for packets that IP received, and for their fates. A dropping rule counts in none."""
_IN_TRANSIT = 0.3
"""Longest time that a packet may be between these counters, s: longer than an emulated processor may be preempted."""


class LinkSettings(NamedTuple):
    """Settings of an interface, without its disciplines."""

    interface: Interface
    mtu: int
    up: bool
    offloads: tuple[str, ...]
    addresses: tuple[str, ...]

    def state(self, qdiscs: tuple[QdiscSettings, ...]) -> InterfaceState:
        return InterfaceState(self.interface.name, qdiscs, self.mtu, self.up, self.offloads, self.addresses)


class Links:
    """Settings of interfaces, given by a process in their namespace. Owns sockets; `close` it."""

    def __init__(self, interfaces: Mapping[int | None, Sequence[Interface]]) -> None:
        self._interfaces = interfaces
        # Opened before anything is read, so that no change is missed.
        self._notifications = {pid: LinkNotifications(pid) for pid in interfaces}
        self._routes = {pid: Route(pid) for pid in interfaces}
        self.now: dict[Interface, LinkSettings] = {}
        for pid in interfaces:
            self._read(pid)

    def poll(self) -> bool:
        """Return whether any settings have changed since the last call. Raises LabError if an interface is gone."""
        changed = [self._read(pid) for pid, listener in self._notifications.items() if listener.poll()]
        return any(changed)

    def _read(self, pid: int | None) -> bool:
        addresses = self._routes[pid].addresses()
        settings = {}
        for interface in self._interfaces[pid]:
            own = addresses.get(self._routes[pid].index(interface), [])
            on = tuple(name for name, is_on in host_settings.offloads(interface).items() if is_on)
            mtu, is_up = host_settings.mtu(interface), host_settings.is_up(interface)
            settings[interface] = LinkSettings(interface, mtu, is_up, on, tuple(own))
        changed = any(self.now.get(interface) != now for interface, now in settings.items())
        self.now |= settings
        return changed

    def close(self) -> None:
        for socket in [*self._notifications.values(), *self._routes.values()]:
            socket.close()


class Sysctls:
    """Settings of namespaces, given by name and process, in open files that notify writes; `close` it."""

    def __init__(self, namespaces: dict[str, int | None]) -> None:
        self._inotify = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._files: dict[int, tuple[str, str, int]] = {}
        for where, pid in namespaces.items():
            with network_of(pid):
                for file in [*filter(_is_setting, sorted(_IPV4.glob("tcp_*"))), *_MORE]:
                    with contextlib.suppress(OSError):
                        self._open(where, file)
        self._before = {(where, name): _text(descriptor) for where, name, descriptor in self._files.values()}
        self._now = dict(self._before)
        self._turn = itertools.cycle(tuple(self._files))

    def _open(self, where: str, file: Path) -> None:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        # While the file is open, everyone who opens it there gets the same inode.
        watch = _libc.inotify_add_watch(self._inotify, f"/proc/self/fd/{descriptor}".encode(), _IN_MODIFY)
        self._files[watch if watch >= 0 else -descriptor] = (where, file.name, descriptor)

    def poll(self) -> bool:
        """Return whether a value has changed, in notified files or in a few that are read in turn."""
        return self._read([*self._written(), *itertools.islice(self._turn, _READ_PER_POLL)])

    def read_all(self) -> None:
        self._read(self._files)

    def _written(self) -> list[int]:
        try:
            data = os.read(self._inotify, 1 << 16)
        except OSError:
            return []
        # Events of single files have no name, so all have one length; an overflow belongs to no file.
        return [watch for watch, *_ in _EVENT.iter_unpack(data) if watch in self._files]

    def _read(self, watches: Iterable[int]) -> bool:
        values = {(where, name): _text(file) for where, name, file in map(self._files.__getitem__, watches)}
        changed = any(self._now[key] != value for key, value in values.items())
        self._now |= values
        return changed

    def changed(self, where: str) -> dict[str, tuple[str, str]]:
        """Return the changed sysctls of a namespace as (first, current) by name."""
        return {
            name: (self._before[namespace, name], now)
            for (namespace, name), now in self._now.items()
            if namespace == where and self._before[namespace, name] != now
        }

    def now(self, where: str, names: Iterable[str]) -> dict[str, str]:
        """Return the values of sysctls of a namespace by name; missing sysctls are left out."""
        return {name: self._now[where, name] for name in names if (where, name) in self._now}

    def close(self) -> None:
        for _, _, file in self._files.values():
            os.close(file)
        if self._inotify >= 0:
            os.close(self._inotify)


def _is_setting(file: Path) -> bool:
    return not any(part in file.name for part in _NOT_SETTINGS)


def _text(file: int) -> str:
    return " ".join(os.pread(file, 4096, 0).decode(errors="replace").split())


class HostTally(NamedTuple):
    """Tallies of a host; counts are since the session began."""

    listening_ports: tuple[int, ...] = ()
    echo_replies: int = 0
    filtered_packets: int = 0
    captures: bool = False
    captured_connections: int = 0
    cached_ssthresh: int | None = None


class _Counts(NamedTuple):
    echo_replies: int
    filtered: int


class SettledCount:
    """Number of dropped packets, derived from readings that also count packets in transit."""

    def __init__(self) -> None:
        self.count = 0
        self._recent = deque[tuple[float, int]]()
        """Readings as (s, count) of the last _IN_TRANSIT seconds, and the reading before them."""

    def add(self, dropped: int, at: float) -> None:
        """Add a reading; a drop counts once it is older than a packet can be in transit."""
        self._recent.append((at, dropped))
        while len(self._recent) > 1 and self._recent[1][0] <= at - _IN_TRANSIT:
            self._recent.popleft()
        if self._recent[0][0] <= at - _IN_TRANSIT:
            self.count = max(self.count, min(count for _, count in self._recent))


class CachedThreshold:
    """Slow start threshold that a host's kernel would take from its cache, by a process on it; `close` it."""

    def __init__(self, pid: int) -> None:
        self._metrics = TcpMetrics(pid)
        self._switch = -1
        """File of the sysctl that switches the cache off; -1 before Linux 5.6, which always uses it."""
        with network_of(pid), contextlib.suppress(FileNotFoundError):
            self._switch = os.open(_IPV4 / "tcp_no_ssthresh_metrics_save", os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> int | None:
        """Return the smallest threshold in use, segments; None if the kernel has none or ignores them."""
        is_used = self._switch < 0 or _text(self._switch) == "0"
        return self._metrics.smallest_ssthresh() if is_used else None

    def close(self) -> None:
        self._metrics.close()
        if self._switch >= 0:
            os.close(self._switch)


class Tallies:
    """Tallies of some hosts since construction, by a process in each. Owns sockets and files; `close` it."""

    def __init__(self, hosts: dict[str, int]) -> None:
        self._listeners = {name: Listeners(pid) for name, pid in hosts.items()}
        self._files = {
            name: os.open(f"/proc/{pid}/net/snmp", os.O_RDONLY | os.O_CLOEXEC) for name, pid in hosts.items()
        }
        self._captures = {name: Captures(pid) for name, pid in hosts.items()}
        self._caches = {name: CachedThreshold(pid) for name, pid in hosts.items()}
        self._first = {name: _read_counts(file) for name, file in self._files.items()}
        self._filtered = {name: SettledCount() for name in hosts}
        self._reported = {name: self._read(name, time.monotonic()) for name in hosts}
        self._reported_at = 0.0

    def poll(self) -> bool:
        """Return whether a change is due for a report."""
        at = time.monotonic()
        now = {name: self._read(name, at) for name in self._files}
        if now == self._reported:
            return False
        only_counts = all(
            now[name].listening_ports == last.listening_ports and now[name].captures == last.captures
            for name, last in self._reported.items()
        )
        if only_counts and at < self._reported_at + _MIN_INTERVAL:
            return False
        self._reported, self._reported_at = now, at
        return True

    def of(self, name: str) -> HostTally:
        """Return the last reported tally of a host; an empty tally for an unknown name."""
        return self._reported.get(name, HostTally())

    def _read(self, name: str, at: float) -> HostTally:
        first, now, filtered = self._first[name], _read_counts(self._files[name]), self._filtered[name]
        captures = self._captures[name]
        filtered.add(now.filtered - first.filtered, at)
        captures.poll()
        return HostTally(
            self._listeners[name].ports(),
            now.echo_replies - first.echo_replies,
            filtered.count,
            captures.running,
            captures.seen,
            self._caches[name].read(),
        )

    def close(self) -> None:
        for name in self._files:
            self._listeners[name].close()
            self._captures[name].close()
            self._caches[name].close()
        for file in self._files.values():
            os.close(file)


def _read_counts(file: int) -> _Counts:
    # A line of names and one of values each for IP and ICMP; the rest of the file is not needed.
    ip_names, ip, icmp_names, icmp, *_ = os.pread(file, 4096, 0).split(b"\n")
    arrived = dict(zip(ip_names.split(), ip.split(), strict=True))
    # Fragments arrive one by one and are delivered as one packet.
    joined = int(arrived[b"ReasmReqds"]) - int(arrived[b"ReasmOKs"])
    accounted = sum(int(arrived[name]) for name in _KEPT)
    echoes = icmp.split()[icmp_names.split().index(b"InEchoReps")]
    return _Counts(int(echoes), int(arrived[_ARRIVED]) - accounted - joined)
