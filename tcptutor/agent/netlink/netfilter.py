"""Netfilter rule that detaches packets from the socket that sent them (linux/netfilter/nf_tables.h).

All hosts of the lab share a kernel. A packet keeps its sender's socket through veth, bridge and queue disciplines, so
the sender's kernel would see the queues of the emulated path: TCP Small Queues would count them, and a retransmission
would be withheld while the first copy is queued (skb_still_in_host_queue). A network card releases a packet once it has
sent it. Here each port of a switch sends a copy, which has no socket, and drops the original.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Sequence

from tcptutor.agent.netlink.messages import (
    ACK,
    ATTRIBUTE,
    CREATE,
    NetlinkError,
    NetlinkSocket,
    around_stamps,
    compose,
)

_NETLINK_NETFILTER = 12
_BATCH_BEGIN, _BATCH_END, _NF_TABLES = 0x10, 0x11, 10
_NEW_TABLE, _DELETE_TABLE, _NEW_CHAIN, _NEW_RULE = (_NF_TABLES << 8 | number for number in (0, 2, 3, 6))
_NETDEV = 5
"""NFPROTO_NETDEV: tables with chains attached to interfaces."""
_EGRESS = 1
"""NF_NETDEV_EGRESS (Linux 5.16), before the queue disciplines."""
_NESTED, _APPEND = 0x8000, 0x800
_TABLE, _CHAIN = b"tcptutor\0", b"ports\0"
_MARKED = 1
"""Mark of a copy. It stays on the packet from switch to switch, and the kernel clears it at a receiving host."""
_MARK, _OUTPUT = 3, 5
"""Keys of `meta`: the packet's mark, and the number of its outgoing interface."""
_REGISTER, _VERDICT = 1, 0
_DROP, _ACCEPT = 0, 1


def _attribute(kind: int, payload: bytes | Sequence[bytes]) -> bytes:
    """Return an attribute with a payload, or a nested attribute with these attributes."""
    if not isinstance(payload, bytes):
        kind, payload = kind | _NESTED, b"".join(payload)
    size = ATTRIBUTE.size + len(payload)
    return ATTRIBUTE.pack(size, kind) + payload + b"\0" * (-size % 4)


def _number(kind: int, value: int) -> bytes:
    return _attribute(kind, struct.pack("!I", value))


def _expression(name: bytes, *attributes: bytes) -> bytes:
    return _attribute(1, [_attribute(1, name + b"\0"), _attribute(2, attributes)])


def _load(key: int) -> bytes:
    return _expression(b"meta", _number(2, key), _number(1, _REGISTER))


def _verdict(code: int) -> bytes:
    data = _attribute(2, [_attribute(2, [_number(1, code)])])
    return _expression(b"immediate", _number(1, _VERDICT), data)


def _mark_data(kind: int) -> bytes:
    """Return _MARKED as an expression's data; the kernel stores marks in its own byte order."""
    return _attribute(kind, [_attribute(1, struct.pack("=I", _MARKED))])


_ACCEPT_COPIES = (
    _load(_MARK),
    _expression(b"cmp", _number(1, _REGISTER), _number(2, 0), _mark_data(3)),
    _verdict(_ACCEPT),
)
_SEND_A_COPY = (
    _expression(b"immediate", _number(1, _REGISTER), _mark_data(2)),
    _expression(b"meta", _number(2, _MARK), _number(3, _REGISTER)),
    _load(_OUTPUT),
    _expression(b"dup", _number(2, _REGISTER)),
    _verdict(_DROP),
)


def _request(kind: int, flags: int, *attributes: bytes) -> bytes:
    return compose(kind, flags, struct.pack("!BBH", _NETDEV, 0, 0) + b"".join(attributes))


def _rule(flags: int, expressions: Sequence[bytes]) -> bytes:
    return _request(
        _NEW_RULE,
        CREATE | _APPEND | flags,
        _attribute(1, _TABLE),
        _attribute(2, _CHAIN),
        _attribute(4, expressions),
    )


class Netfilter(NetlinkSocket):
    """Netfilter rules of a namespace."""

    _PROTOCOL = _NETLINK_NETFILTER

    def send_copies(self, names: Sequence[str]) -> None:
        """Make the interfaces `names` send copies without a socket; replaces earlier rules.

        Raises NetlinkError if the kernel lacks such rules: before Linux 5.16, or built without them.
        """
        try:
            self._change(_request(_DELETE_TABLE, ACK, _attribute(1, _TABLE)))
        except NetlinkError as error:
            if error.code != errno.ENOENT:
                raise
        devices = _attribute(4, [_attribute(1, name.encode() + b"\0") for name in names])
        self._change(
            _request(_NEW_TABLE, CREATE, _attribute(1, _TABLE)),
            _request(
                _NEW_CHAIN,
                CREATE,
                _attribute(1, _TABLE),
                _attribute(3, _CHAIN),
                _attribute(4, [_number(1, _EGRESS), _number(2, 0), devices]),
                _attribute(7, b"filter\0"),
            ),
            _rule(0, _ACCEPT_COPIES),
            _rule(ACK, _SEND_A_COPY),
        )

    def _change(self, *requests: bytes) -> None:
        """Apply all changes or none; the last is acknowledged. Raises NetlinkError."""
        border = struct.pack("!BBH", socket.AF_UNSPEC, 0, _NF_TABLES)
        begin, end = compose(_BATCH_BEGIN, 0, border), compose(_BATCH_END, 0, border)
        self._acknowledged(around_stamps([begin, *requests, end]))
