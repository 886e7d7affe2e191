"""The TCP state of connections, asked by their exact addresses (linux/inet_diag.h, linux/tcp.h).

A dump walks the kernel's whole socket table; an exact request finds the one socket by its hash, one struct reads the
answer, and many go in one message.
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
"""Established, and the states in which only one side has ended (FIN_WAIT1, CLOSE_WAIT)."""
_LISTENING = 1 << 10
_PORT = struct.Struct("!H")
_DIAG_REQUEST = struct.Struct("=BBBBI")
_ADDRESSES = struct.Struct("!HH4s12x4s12x")
_NO_COOKIE = b"\xff" * 8
_IN_DIAG = HEADER.size + 4
"""Where the addresses are in an answer, after four bytes of states."""
_AFTER_DIAG = HEADER.size + 72
"""Where its attributes begin."""
_LONGEST = 2048
"""Bytes that an answer takes at most; it is some 400."""
_AT_ONCE = 32
"""Requests in one message: half the cost of one by one, and their answers fit into a socket's buffer many times."""


class Address(NamedTuple):
    """One connection as its sender sees it."""

    source: str
    source_port: int
    destination: str
    destination_port: int

    @property
    def other_end(self) -> Address:
        """This connection as its receiver sees it."""
        return Address(self.destination, self.destination_port, self.source, self.source_port)


class Connection(NamedTuple):
    """One end of a connection, as a dump tells of it."""

    address: Address
    """This end first."""
    bytes_acked: int
    """Payload that the other end has acknowledged."""
    algorithm: str


def tcp_request(address: Address) -> bytes:
    """The message that asks for one connection; it can be sent as often as wanted."""
    addresses = _ADDRESSES.pack(
        address.source_port,
        address.destination_port,
        socket.inet_aton(address.source),
        socket.inet_aton(address.destination),
    )
    wanted = 1 << (_INET_DIAG_INFO - 1)
    body = _DIAG_REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, wanted, 0, _ESTABLISHED)
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


# The older request: it knows no families, so that its answer has the IPv6 sockets that serve IPv4 as well.
_EVERY_LISTENER = compose(
    _TCPDIAG_GETSOCK, DUMP, struct.pack("=BBBB48xII", socket.AF_INET, 0, 0, 0, _LISTENING, 0)
)


class SockDiag(NetlinkSocket):
    """Asks for the TCP state of a lab host's connections."""

    _PROTOCOL = _SOCK_DIAG

    def __init__(self, host: Host) -> None:
        super().__init__(host.pid)
        self._batch, self._parts = b"", list[bytes]()
        self._usual = b"?", 0, 0
        """Of the last answer: the head of its attribute tcp_info, and where that and the part that we take end."""

    def info(self, request: bytes) -> TcpInfo | None:
        """The tcp_info that a `tcp_request` asks for, in the order of FIELDS; None when there is no such connection.

        Raises LabError when the kernel does not answer.
        """
        (found,) = self.infos([request])
        return LAYOUT.unpack(found) if found else None

    def infos(self, requests: Sequence[bytes]) -> list[bytes]:
        """The tcp_info that each `tcp_request` asks for as the kernel gave it, LAYOUT.size bytes.

        No bytes for a connection that is not there. Raises LabError when the kernel does not answer.
        """
        answers: list[bytes] = []
        for begin in range(0, len(requests), _AT_ONCE):
            batch = requests[begin : begin + _AT_ONCE]
            stamp = self._stamp()
            self._send(stamp.join(self._around_stamps(batch)))
            answers += self._answers(stamp, _LONGEST, len(batch))
        return [self._tcp_info(answer) for answer in answers]

    def _around_stamps(self, batch: Sequence[bytes]) -> list[bytes]:
        """Return what stands before, between and after the sequence numbers of these requests.

        Kept for the next call: as a rule the same requests are sent again, a hundred times a second.
        """
        whole = b"".join(batch)
        if whole != self._batch:
            self._batch, self._parts = whole, around_stamps(batch)
        return self._parts

    def bytes_received(self, requests: Sequence[bytes]) -> list[int]:
        """Payload that the end of a connection that each request asks for has taken in, bytes; 0 when it is not there.

        Raises LabError when the kernel does not answer.
        """
        infos = self.infos(requests)
        return [COUNTER.unpack_from(info, BYTES_RECEIVED)[0] if info else 0 for info in infos]

    def connections(self) -> list[Connection]:
        """Every IPv4 connection of this host that can carry data. A walk through the kernel's table: not for often.

        Raises LabError when the kernel does not answer.
        """
        return [_connection(message) for message in self._all(_EVERY_CONNECTION)]

    def _tcp_info(self, answer: bytes) -> bytes:
        head, begin, end = self._usual
        # It is where it was in the last answer, as a rule; one comparison tells an answer of another kind as well.
        if answer[begin - ATTRIBUTE.size : begin] == head:
            return answer[begin:end]
        if KIND.unpack_from(answer, 4)[0] == NLMSG_ERROR:
            code = -CODE.unpack_from(answer, HEADER.size)[0]
            if code == errno.ENOENT:
                return b""
            raise LabError(f"the kernel does not tell the TCP state of a flow: {os.strerror(code)}")
        for kind, begin, size in attributes(answer, _AFTER_DIAG, len(answer)):
            if kind == _INET_DIAG_INFO:
                end = begin + min(size, LAYOUT.size)
                if size >= LAYOUT.size:
                    self._usual = answer[begin - ATTRIBUTE.size : begin], begin, end
                return answer[begin:end].ljust(LAYOUT.size, b"\0")
        return b""


class Listeners(NetlinkSocket):
    """Asks for the TCP ports of a host on which something waits for connections."""

    _PROTOCOL = _SOCK_DIAG

    def ports(self) -> tuple[int, ...]:
        """In order. Raises LabError when the kernel does not answer."""
        found = {int(_PORT.unpack_from(message, _IN_DIAG)[0]) for message in self._all(_EVERY_LISTENER)}
        return tuple(sorted(found))


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
