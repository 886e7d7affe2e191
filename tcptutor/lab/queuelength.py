"""The length and the counters of one queue discipline, asked by one netlink request without walking the others.

Messages: linux/rtnetlink.h (struct tcmsg), linux/gen_stats.h (TCA_STATS2).
"""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

from tcptutor.errors import LabError
from tcptutor.lab.namespaces import network_of
from tcptutor.lab.network import Interface

_RTM_GETQDISC = 38
_NLMSG_ERROR = 2
# Without the echo flag, kernels before 6.12 tell the answer to listeners of a group only.
_NLM_F_REQUEST, _NLM_F_ECHO = 0x1, 0x8
_TIMEOUT = 5.0
_TCA_STATS2 = 7
_STATS_BASIC, _STATS_QUEUE = 1, 3
_HEADER = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=BxxxiIII")
_ATTRIBUTE = struct.Struct("=HH")
_BASIC, _QUEUE = struct.Struct("=QI"), struct.Struct("=5I")


class Length(NamedTuple):
    """What waits now, and what has happened since the discipline was made."""

    bytes: int
    packets: int
    drops: int
    sent: int
    """bytes of frames"""


class QueueLength:
    """A netlink socket that asks for the discipline `handle` of `interface`; `close` it."""

    def __init__(self, interface: Interface, handle: int) -> None:
        with network_of(interface.pid):
            self._socket = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
            )
            self._socket.settimeout(_TIMEOUT)
            self._socket.bind((0, 0))
            index = socket.if_nametoindex(interface.name)
        self.port: int = self._socket.getsockname()[0]
        """The sender of what the kernel announces to listeners because of these questions."""
        size = _HEADER.size + _TCMSG.size
        self._request = _HEADER.pack(size, _RTM_GETQDISC, _NLM_F_REQUEST | _NLM_F_ECHO, 1, 0)
        self._request += _TCMSG.pack(socket.AF_UNSPEC, index, handle, 0, 0)

    def close(self) -> None:
        self._socket.close()

    def now(self) -> Length:
        """Raises LabError when the discipline is gone."""
        self._socket.send(self._request)
        try:
            data = self._socket.recv(16384)
        except TimeoutError:
            raise LabError("the kernel does not tell the queue's length: run the experiment again") from None
        if _HEADER.unpack_from(data)[1] == _NLMSG_ERROR:
            raise LabError("the bottleneck's queue is gone: run the experiment again")
        basic, queue = (0, 0), (0, 0, 0, 0, 0)
        for kind, offset, size in _attributes(data, _HEADER.size + _TCMSG.size, len(data)):
            if kind == _TCA_STATS2:
                for inner, at, length in _attributes(data, offset, offset + size):
                    if inner == _STATS_BASIC and length >= _BASIC.size:
                        basic = _BASIC.unpack_from(data, at)
                    elif inner == _STATS_QUEUE and length >= _QUEUE.size:
                        queue = _QUEUE.unpack_from(data, at)
        packets, backlog, drops = queue[:3]
        return Length(backlog, packets, drops, basic[0])


def _attributes(data: bytes, offset: int, end: int) -> list[tuple[int, int, int]]:
    """(kind, offset of the payload, bytes of it) of the attributes between two offsets."""
    found = []
    while offset + _ATTRIBUTE.size <= end:
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < _ATTRIBUTE.size:
            break
        found.append((kind & 0x3FFF, offset + _ATTRIBUTE.size, length - _ATTRIBUTE.size))
        offset += (length + 3) & ~3
    return found
