"""TCP state of a socket, asked from the kernel by its exact addresses: one request, one struct, no text.

Message and structures: linux/inet_diag.h, linux/tcp.h (struct tcp_info). A dump would walk the kernel's whole
socket table; an exact request finds the one socket by its hash.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from typing import NamedTuple, TypeAlias

from tcptutor.errors import LabError
from tcptutor.lab.namespaces import network_of
from tcptutor.lab.network import Host

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_NLM_F_REQUEST, _NLM_F_DUMP = 1, 0x300
_INET_DIAG_INFO, _INET_DIAG_CONG = 2, 4
_ESTABLISHED = 1
_WITH_DATA = 1 << _ESTABLISHED | 1 << 4 | 1 << 8
"""Established, and the states in which only one side has ended (FIN_WAIT1, CLOSE_WAIT)."""
_NO_COOKIE = b"\xff" * 8

_HEADER = struct.Struct("=IHHII")
_KIND = struct.Struct("=H")
_STATE = struct.Struct("=BBBB")
_LONGEST, _LONGEST_DUMP = 2048, 1 << 16
"""Bytes that an answer takes at most; it is some 400, and a dump's part up to 32 KB."""
_REQUEST = struct.Struct("=BBBBI")
_ADDRESSES = struct.Struct("!HH4s12x4s12x")
_DIAG_MESSAGE = 72
_ATTRIBUTE = struct.Struct("=HH")
# struct tcp_info up to total_rto_time; a kernel that knows less sends less, and the rest reads as zero.
_TCP_INFO = struct.Struct("=8B 24I 4Q 6I 4Q 2I 2Q 4I 2I 2H I")


class Address(NamedTuple):
    """One connection as its sender sees it."""

    source: str
    source_port: int
    destination: str
    destination_port: int

    @property
    def packed(self) -> bytes:
        return _ADDRESSES.pack(
            self.source_port,
            self.destination_port,
            socket.inet_aton(self.source),
            socket.inet_aton(self.destination),
        )

    @property
    def other_end(self) -> Address:
        """The same connection as its receiver sees it."""
        return Address(self.destination, self.destination_port, self.source, self.source_port)


class Connection(NamedTuple):
    """One end of a connection, as a dump tells of it."""

    address: Address
    """This end first."""
    bytes_acked: int
    """Payload that the other end has acknowledged."""
    algorithm: str


FIELDS: tuple[str, ...] = tuple(
    """
    state ca_state retransmits_now probes backoff options wscale app_limited
    rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent last_data_recv
    last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering rcv_rtt rcv_space
    total_retrans pacing_rate max_pacing_rate bytes_acked bytes_received
    segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out
    delivery_rate busy_time rwnd_limited sndbuf_limited
    delivered delivered_ce bytes_sent bytes_retrans dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash
    total_rto total_rto_recoveries total_rto_time
    """.split()
)
"""struct tcp_info in order, as linux/tcp.h names it (without tcpi_); `app_limited` is a byte of two bit fields."""

_BYTES_ACKED, _BYTES_RECEIVED = struct.calcsize("=8B 24I 2Q"), struct.calcsize("=8B 24I 3Q")
"""Where those counters are in struct tcp_info."""
_COUNTER = struct.Struct("=Q")

AT: dict[str, int] = {name: index for index, name in enumerate(FIELDS)}
"""Where each field is in the tuple that `SockDiag.info` gives."""

TcpInfo: TypeAlias = tuple[int, ...]


class SockDiag:
    """A sock_diag socket in the network namespace of a lab host; `close` it."""

    def __init__(self, host: Host) -> None:
        with network_of(host.pid):
            self._socket = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG
            )

        self._last = _HEADER.size + _DIAG_MESSAGE
        """Where tcp_info was in the last answer."""

    def close(self) -> None:
        self._socket.close()

    def info(self, address: Address) -> TcpInfo | None:
        """The flow's tcp_info, fields in the order of FIELDS; None when there is no such connection.

        Raises LabError when the kernel does not answer.
        """
        return self.ask(request(address))

    def ask(self, asked: bytes) -> TcpInfo | None:
        """The answer to what `request` made: the same as `info`, for who asks often."""
        found = self._answer(asked)
        if found is None:
            return None
        data, offset, size = found
        if size >= _TCP_INFO.size:
            return _TCP_INFO.unpack_from(data, offset)
        return _TCP_INFO.unpack(data[offset : offset + size].ljust(_TCP_INFO.size, b"\0"))

    def bytes_received(self, asked: bytes) -> int:
        """Payload that this end of a connection has taken in, bytes; 0 when there is no such connection."""
        found = self._answer(asked)
        if found is None:
            return 0
        data, offset, size = found
        if size < _BYTES_RECEIVED + _COUNTER.size:
            return 0
        count: int = _COUNTER.unpack_from(data, offset + _BYTES_RECEIVED)[0]
        return count

    def connections(self) -> list[Connection]:
        """Every IPv4 connection of this host that can carry data. A walk through the kernel's table: not for often.

        Raises LabError when the kernel does not answer.
        """
        self._socket.send(_DUMP)
        found: list[Connection] = []
        while True:
            data = self._socket.recv(_LONGEST_DUMP)
            offset = 0
            while offset + _HEADER.size <= len(data):
                length, kind, *_ = _HEADER.unpack_from(data, offset)
                if kind == _NLMSG_DONE:
                    return found
                if kind == _NLMSG_ERROR or length < _HEADER.size:
                    raise LabError("the kernel does not tell its connections: run the experiment again")
                found.append(_connection(data[offset : offset + length]))
                offset += (length + 3) & ~3

    def _answer(self, asked: bytes) -> tuple[bytes, int, int] | None:
        """The message, and where in it tcp_info is: offset and bytes."""
        self._socket.send(asked)
        data = self._socket.recv(_LONGEST)
        kind = _KIND.unpack_from(data, 4)[0]
        if kind == _NLMSG_ERROR:
            code = -struct.unpack_from("=i", data, _HEADER.size)[0]
            if code == errno.ENOENT:
                return None
            raise LabError(f"the kernel does not tell the TCP state of a flow: {os.strerror(code)}")
        # It is where it was in the last answer, as a rule.
        offset = self._last
        if offset + _ATTRIBUTE.size <= len(data):
            length, kind = _ATTRIBUTE.unpack_from(data, offset)
            if kind == _INET_DIAG_INFO and 100 < length <= len(data) - offset:
                return data, offset + _ATTRIBUTE.size, length - _ATTRIBUTE.size
        offset = _HEADER.size + _DIAG_MESSAGE
        while offset + _ATTRIBUTE.size <= len(data):
            length, kind = _ATTRIBUTE.unpack_from(data, offset)
            if length < _ATTRIBUTE.size:
                return None
            if kind == _INET_DIAG_INFO:
                self._last = offset
                return data, offset + _ATTRIBUTE.size, length - _ATTRIBUTE.size
            offset += (length + 3) & ~3
        return None


def _connection(message: bytes) -> Connection:
    start = _HEADER.size + _STATE.size
    source_port, destination_port, source, destination = _ADDRESSES.unpack_from(message, start)
    address = Address(socket.inet_ntoa(source), source_port, socket.inet_ntoa(destination), destination_port)
    acked, algorithm = 0, ""
    offset = _HEADER.size + _DIAG_MESSAGE
    while offset + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, offset)
        if length < _ATTRIBUTE.size:
            break
        payload = offset + _ATTRIBUTE.size
        if kind == _INET_DIAG_INFO and length >= _ATTRIBUTE.size + _BYTES_ACKED + _COUNTER.size:
            acked = _COUNTER.unpack_from(message, payload + _BYTES_ACKED)[0]
        elif kind == _INET_DIAG_CONG:
            algorithm = message[payload : offset + length].rstrip(b"\0").decode(errors="replace")
        offset += (length + 3) & ~3
    return Connection(address, acked, algorithm)


def _dump() -> bytes:
    wanted = 1 << (_INET_DIAG_INFO - 1) | 1 << (_INET_DIAG_CONG - 1)
    body = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, wanted, 0, _WITH_DATA) + b"\0" * 48
    size = _HEADER.size + len(body)
    return _HEADER.pack(size, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST | _NLM_F_DUMP, 1, 0) + body


_DUMP = _dump()


def request(address: Address) -> bytes:
    """The message that asks for one connection; it can be sent as often as wanted."""
    body = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), 0, 1 << _ESTABLISHED)
    body += address.packed + b"\0" * 4 + _NO_COOKIE
    return _HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0) + body
