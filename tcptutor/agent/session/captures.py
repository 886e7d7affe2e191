"""Packet captures that run on a host, such as tcpdump's, and the connections that each has seen in full."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_EVERY_PROTOCOL = b"0003"
_SYN_SENT = b"02"


class _Connections(NamedTuple):
    """Counts of a namespace's connections, without attempts that failed."""

    opened: int
    now: int
    """Established or half closed."""


class Captures:
    """Captures of a namespace, given by a process in it. Owns files; `close` it."""

    def __init__(self, pid: int) -> None:
        self._sockets, self._counters, self._table = (
            os.open(f"/proc/{pid}/net/{name}", os.O_RDONLY | os.O_CLOEXEC)
            for name in ("packet", "snmp", "tcp")
        )
        self._first: dict[bytes, _Connections] = {}
        """Connections opened before each running capture, and the fewest at any time since, by inode."""
        self._own: set[bytes] = set()
        """Sockets of this process by inode: it captures too, to learn the sizes of datagrams."""
        self.seen = 0
        """Most connections that opened and ended while one capture ran, of all captures so far."""

    @property
    def running(self) -> bool:
        """True if a program captures packets, as of the last `poll`."""
        return bool(self._first)

    def poll(self) -> None:
        """Read the state; a capture shorter than the time between two polls may be missed."""
        lines = (line.split() for line in _read(self._sockets).splitlines()[1:])
        # Columns: address, references, type, protocol, interface, running, memory, user, inode.
        inodes = {words[8] for words in lines if words[3] == _EVERY_PROTOCOL} - self._own
        if inodes - self._first.keys():
            self._own |= inodes & _sockets_of_this_process()
            inodes -= self._own
        if not inodes:
            self._first.clear()
            return
        count = self._count()
        first = {inode: self._first.get(inode, count) for inode in inodes}
        self._first = {
            inode: _Connections(each.opened, min(each.now, count.now)) for inode, each in first.items()
        }
        for each in self._first.values():
            opened, more = count.opened - each.opened, count.now - each.now
            ended = opened - more
            if ended > self.seen:
                self.seen = max(self.seen, ended - self._connecting())

    def _count(self) -> _Connections:
        lines = [line.split() for line in _read(self._counters).splitlines() if line.startswith(b"Tcp:")]
        value = dict(zip(lines[0][1:], map(int, lines[1][1:]), strict=True))
        opened = value[b"ActiveOpens"] + value[b"PassiveOpens"] - value[b"AttemptFails"]
        return _Connections(opened, value[b"CurrEstab"])

    def _connecting(self) -> int:
        """Return the number of connections that wait for an answer to their SYN; the counters call them opened."""
        return sum(line.split()[3] == _SYN_SENT for line in _read(self._table).splitlines()[1:])

    def close(self) -> None:
        for file in (self._sockets, self._counters, self._table):
            os.close(file)


def _sockets_of_this_process() -> set[bytes]:
    """Return the inodes of the sockets that this process has open."""
    targets = set()
    for file in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing's own file
            targets.add(str(file.readlink()))
    return {target[len("socket:[") : -1].encode() for target in targets if target.startswith("socket:[")}


def _read(file: int) -> bytes:
    return os.pread(file, 1 << 16, 0)
