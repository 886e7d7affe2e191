"""Messages of netlink and the sockets that they go through (linux/netlink.h)."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import Self

from tcptutor.errors import LabError
from tcptutor.lab.network import network_of

HEADER = struct.Struct("=IHHII")
KIND = struct.Struct("=H")
CODE = struct.Struct("=i")
ATTRIBUTE = struct.Struct("=HH")
NLMSG_ERROR, _NLMSG_DONE = 2, 3
_REQUEST, ACK, ECHO, EXCLUSIVE, DUMP, CREATE = 0x1, 0x4, 0x8, 0x200, 0x300, 0x400
_DUMP_AT_ONCE = 1 << 16
"""Bytes of a dump that come at once, at most: the kernel takes up to 32 KB."""
_TIMEOUT = struct.pack("ll", 5, 0)
"""Longest wait for an answer, s and us: the kernel gives it at once or not at all."""


class NetlinkError(LabError):
    """The kernel refuses; `code` is its errno."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the kernel refuses it ({os.strerror(code)}): run the experiment again")
        self.code = code


def compose(kind: int, flags: int, body: bytes) -> bytes:
    """A whole request."""
    return HEADER.pack(HEADER.size + len(body), kind, _REQUEST | flags, 1, 0) + body


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(kind, whole message) of all that came at once."""
    offset = 0
    while offset + HEADER.size <= len(data):
        length, kind = HEADER.unpack_from(data, offset)[:2]
        yield kind, data[offset : offset + length]
        offset += max(HEADER.size, (length + 3) & ~3)


def attributes(data: bytes, offset: int, end: int) -> list[tuple[int, int, int]]:
    """(kind, offset of the payload, bytes of it) of the attributes between two offsets."""
    found = []
    while offset + ATTRIBUTE.size <= end:
        length, kind = ATTRIBUTE.unpack_from(data, offset)
        if length < ATTRIBUTE.size:
            break
        found.append((kind & 0x3FFF, offset + ATTRIBUTE.size, length - ATTRIBUTE.size))
        offset += (length + 3) & ~3
    return found


def no_answer() -> LabError:
    """What a socket's BlockingIOError means."""
    return LabError("the kernel does not answer: run the experiment again")


class NetlinkSocket:
    """A netlink socket in the network namespace of process `pid` (None: where we are); `close` it."""

    _PROTOCOL: int

    def __init__(self, pid: int | None) -> None:
        with network_of(pid):
            self._socket = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, self._PROTOCOL
            )
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIMEOUT)
        # Looked up once: they are called thousands of times a second.
        self._send, self._receive = self._socket.send, self._socket.recv

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _all(self, request: bytes) -> list[bytes]:
        """The messages of the answer up to its end: a dump's, or none where it is only done. Raises NetlinkError."""
        self._send(request)
        found: list[bytes] = []
        while True:
            try:
                data = self._receive(_DUMP_AT_ONCE)
            except BlockingIOError:
                raise no_answer() from None
            for kind, message in _messages(data):
                if kind == _NLMSG_DONE:
                    return found
                if kind == NLMSG_ERROR:
                    if code := -CODE.unpack_from(message, HEADER.size)[0]:
                        raise NetlinkError(code)
                    return found
                found.append(message)
