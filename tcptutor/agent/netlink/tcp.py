"""TCP state of connections, requested by their exact addresses (linux/inet_diag.h, linux/tcp.h).

A dump walks the kernel's entire socket table. An exact request finds a socket by its hash, a single struct decodes the
answer, and many requests fit into a message.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

from tcptutor.agent.netlink.messages import (
    ATTRIBUTE,
    CODE,
    DUMP,
    HEADER,
    KIND,
    NLMSG_ERROR,
    NetlinkSocket,
    around_stamps,
    attributes,
    compose,
)
from tcptutor.agent.network import Host
from tcptutor.base.errors import LabError
from tcptutor.wire.tcp_info import BYTES_ACKED, BYTES_RECEIVED, COUNTER, LAYOUT, TcpInfo

_SOCK_DIAG, _TCPDIAG_GETSOCK, _SOCK_DIAG_BY_FAMILY = 4, 18, 20
_INET_DIAG_INFO, _INET_DIAG_CONG = 2, 4
_ESTABLISHED = 1 << 1
_WITH_DATA = _ESTABLISHED | 1 << 4 | 1 << 8
"""Established, and the states in which only one side has closed (FIN_WAIT1, CLOSE_WAIT)."""
_LISTENING = 1 << 10
_PORT = struct.Struct("!H")
_DIAG_REQUEST = struct.Struct("=BBBBI")
_ADDRESSES = struct.Struct("!HH4s12x4s12x")
_NO_COOKIE = b"\xff" * 8
_IN_DIAG = HEADER.size + 4
"""Offset of the addresses in an answer, after four bytes of states."""
_AFTER_DIAG = HEADER.size + 72
"""Offset of the attributes."""
_MAX_ANSWER = 2048
"""Buffer for an answer, bytes; usual are about 400."""
_BATCH = 32
"""Requests per message: this halves their cost, and their answers easily fit into a socket's buffer."""


class Address(NamedTuple):
    """Addresses of a connection from its sender's view."""

    source: str
    source_port: int
    destination: str
    destination_port: int

    @property
    def other_end(self) -> Address:
        """Addresses of this connection from its receiver's view."""
        return Address(self.destination, self.destination_port, self.source, self.source_port)


class Connection(NamedTuple):
    """An end of a connection, as listed in a dump."""

    address: Address
    """Addresses from this end's view."""
    bytes_acked: int
    """Payload that the other end has acknowledged, bytes."""
    algorithm: str


def tcp_request(address: Address) -> bytes:
    """Return the reusable request for a connection."""
    addresses = _ADDRESSES.pack(
        address.source_port,
        address.destination_port,
        socket.inet_aton(address.source),
        socket.inet_aton(address.destination),
    )
    extensions = 1 << (_INET_DIAG_INFO - 1)
    body = _DIAG_REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, extensions, 0, _ESTABLISHED)
    return compose(_SOCK_DIAG_BY_FAMILY, 0, body + addresses + b"\0" * 4 + _NO_COOKIE)


_EVERY_CONNECTION = compose(
    _SOCK_DIAG_BY_FAMILY,
    DUMP,
    _DIAG_REQUEST.pack(
        socket.AF_INET,
        socket.IPPROTO_TCP,
        1 << (_INET_DIAG_INFO - 1) | 1 << (_INET_DIAG_CONG - 1),
        0,
        _WITH_DATA,
    )
    + b"\0" * 48,
)


# The older request has no address family, so its answer includes the IPv6 sockets that serve IPv4.
_EVERY_LISTENER = compose(
    _TCPDIAG_GETSOCK, DUMP, struct.pack("=BBBB48xII", socket.AF_INET, 0, 0, 0, _LISTENING, 0)
)


class SockDiag(NetlinkSocket):
    """Requests for the TCP state of a lab host's connections."""

    _PROTOCOL = _SOCK_DIAG

    def __init__(self, host: Host) -> None:
        super().__init__(host.pid)
        self._batch, self._parts = b"", list[bytes]()
        self._last_layout = b"?", 0, 0
        """Layout of the last answer: header of its tcp_info attribute, and begin and end of its payload."""

    def info(self, request: bytes) -> TcpInfo | None:
        """Return the tcp_info for a `tcp_request` in the order of FIELDS; None if the connection does not exist.

        Raises LabError if the kernel does not answer.
        """
        (info,) = self.infos([request])
        return LAYOUT.unpack(info) if info else None

    def infos(self, requests: Sequence[bytes]) -> list[bytes]:
        """Return the kernel's tcp_info for each `tcp_request`, LAYOUT.size bytes; empty for a missing connection.

        Raises LabError if the kernel does not answer.
        """
        answers: list[bytes] = []
        for begin in range(0, len(requests), _BATCH):
            batch = requests[begin : begin + _BATCH]
            stamp = self._stamp()
            self._send(stamp.join(self._around_stamps(batch)))
            answers += self._answers(stamp, _MAX_ANSWER, len(batch))
        return [self._tcp_info(answer) for answer in answers]

    def _around_stamps(self, batch: Sequence[bytes]) -> list[bytes]:
        """Return the parts around the sequence numbers; cached, because the same requests usually repeat at 100 Hz."""
        joined = b"".join(batch)
        if joined != self._batch:
            self._batch, self._parts = joined, around_stamps(batch)
        return self._parts

    def bytes_received(self, requests: Sequence[bytes]) -> list[int]:
        """Return the payload that the end of each requested connection has received, bytes; 0 for a missing connection.

        Raises LabError if the kernel does not answer.
        """
        infos = self.infos(requests)
        return [COUNTER.unpack_from(info, BYTES_RECEIVED)[0] if info else 0 for info in infos]

    def connections(self) -> list[Connection]:
        """Return all IPv4 connections of this host that can carry data. Walks the kernel's table, so call it rarely.

        Raises LabError if the kernel does not answer.
        """
        return [_connection(message) for message in self._all(_EVERY_CONNECTION)]

    def _tcp_info(self, answer: bytes) -> bytes:
        header, begin, end = self._last_layout
        # Usually the layout is that of the last answer; one comparison also detects an error message.
        if answer[begin - ATTRIBUTE.size : begin] == header:
            return answer[begin:end]
        if KIND.unpack_from(answer, 4)[0] == NLMSG_ERROR:
            code = -CODE.unpack_from(answer, HEADER.size)[0]
            if code == errno.ENOENT:
                return b""
            raise LabError(f"the kernel does not return the TCP state of a flow: {os.strerror(code)}")
        for kind, begin, size in attributes(answer, _AFTER_DIAG, len(answer)):
            if kind == _INET_DIAG_INFO:
                end = begin + min(size, LAYOUT.size)
                if size >= LAYOUT.size:
                    self._last_layout = answer[begin - ATTRIBUTE.size : begin], begin, end
                return answer[begin:end].ljust(LAYOUT.size, b"\0")
        return b""


class Listeners(NetlinkSocket):
    """Requests for the TCP ports of a host that accept connections."""

    _PROTOCOL = _SOCK_DIAG

    def ports(self) -> tuple[int, ...]:
        """Return the ports, sorted. Raises LabError if the kernel does not answer."""
        ports = {int(_PORT.unpack_from(message, _IN_DIAG)[0]) for message in self._all(_EVERY_LISTENER)}
        return tuple(sorted(ports))


def _connection(message: bytes) -> Connection:
    source_port, destination_port, source, destination = _ADDRESSES.unpack_from(message, _IN_DIAG)
    address = Address(socket.inet_ntoa(source), source_port, socket.inet_ntoa(destination), destination_port)
    acked, algorithm = 0, ""
    for kind, offset, size in attributes(message, _AFTER_DIAG, len(message)):
        if kind == _INET_DIAG_INFO and size >= BYTES_ACKED + COUNTER.size:
            acked = COUNTER.unpack_from(message, offset + BYTES_ACKED)[0]
        elif kind == _INET_DIAG_CONG:
            algorithm = message[offset : offset + size].rstrip(b"\0").decode(errors="replace")
    return Connection(address, acked, algorithm)
