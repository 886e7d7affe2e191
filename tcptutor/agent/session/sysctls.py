"""Sysctls of the lab's hosts: their values, and their changes since a session began."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from tcptutor.agent.network import network_of

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


class Sysctls:
    """Settings of several namespaces, in open files that notify writes. `close` it.

    Args:
        namespaces: For each name, a process in the namespace.
    """

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
