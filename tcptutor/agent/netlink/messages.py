"""Netlink messages and sockets (linux/netlink.h)."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Self

from tcptutor.agent.network import network_of
from tcptutor.base.errors import LabError

HEADER = struct.Struct("=IHHII")
KIND = struct.Struct("=H")
CODE = struct.Struct("=i")
ATTRIBUTE = struct.Struct("=HH")
SEQUENCE = struct.Struct("=I")
SEQUENCE_AT = 8
"""Offset of a message's sequence number in its header."""
SEQUENCE_END = SEQUENCE_AT + SEQUENCE.size
NLMSG_ERROR, _NLMSG_DONE = 2, 3
_DUMP_INTERRUPTED = 0x10
"""NLM_F_DUMP_INTR: the table changed during the dump, so an entry may be missing or listed twice."""
_DUMP_ATTEMPTS = 20
"""Attempts per dump. A dump takes microseconds, so only a loop of changes can interrupt so many in a row."""
_REQUEST, ACK, ECHO, EXCLUSIVE, DUMP, CREATE = 0x1, 0x4, 0x8, 0x200, 0x300, 0x400
_NOTIFICATIONS_AT_ONCE = 100
"""Notifications read at once: a loop of commands can send them faster than they are read."""
_MAX_NOTIFICATION = 16384
_MAX_DATAGRAM = 1 << 16
"""Largest datagram of a dump, bytes: the kernel sends up to 32 KB."""
_TIMEOUT = struct.pack("ll", 5, 0)
"""Timeout for an answer, s and us: the kernel answers at once or never."""


class NetlinkError(LabError):
    """Refusal by the kernel; `code` is its errno."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the kernel refuses the request ({os.strerror(code)}): run the experiment again")
        self.code = code


def compose(kind: int, flags: int, body: bytes) -> bytes:
    """Return a request message; the socket fills in the sequence number."""
    return HEADER.pack(HEADER.size + len(body), kind, _REQUEST | flags, 0, 0) + body


def around_stamps(requests: Sequence[bytes]) -> list[bytes]:
    """Concatenate requests and return the parts before, between and after their sequence numbers."""
    joined, parts, begin, at = b"".join(requests), list[bytes](), 0, 0
    for request in requests:
        parts.append(joined[begin : at + SEQUENCE_AT])
        begin, at = at + SEQUENCE_END, at + len(request)
    return [*parts, joined[begin:]]


def _messages(data: bytes, stamp: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (kind, flags, message) of the messages in `data` with this sequence number."""
    offset = 0
    while offset + HEADER.size <= len(data):
        length, kind, flags = HEADER.unpack_from(data, offset)[:3]
        if data[offset + SEQUENCE_AT : offset + SEQUENCE_END] == stamp:
            yield kind, flags, data[offset : offset + length]
        offset += max(HEADER.size, (length + 3) & ~3)


def attributes(data: bytes, offset: int, end: int) -> list[tuple[int, int, int]]:
    """List the attributes between two offsets as (kind, offset of the payload, bytes of the payload)."""
    result = []
    while offset + ATTRIBUTE.size <= end:
        length, kind = ATTRIBUTE.unpack_from(data, offset)
        if length < ATTRIBUTE.size:
            break
        result.append((kind & 0x3FFF, offset + ATTRIBUTE.size, length - ATTRIBUTE.size))
        offset += (length + 3) & ~3
    return result


class NetlinkSocket:
    """Netlink socket in the network namespace of process `pid` (None: the current namespace); `close` it."""

    _PROTOCOL: int

    def __init__(self, pid: int | None) -> None:
        with network_of(pid):
            self._socket = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, self._PROTOCOL
            )
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIMEOUT)
        # Bound methods are cached: they are called thousands of times per second.
        self._send, self._receive = self._socket.send, self._socket.recv
        self._sequence = 0

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stamp(self) -> bytes:
        """Return the next request's sequence number, as its messages and their answers carry it."""
        self._sequence = (self._sequence + 1) & 0xFFFFFFFF
        return SEQUENCE.pack(self._sequence)

    def _ask(self, request: bytes) -> bytes:
        stamp = self._stamp()
        self._send(request[:SEQUENCE_AT] + stamp + request[SEQUENCE_END:])
        return stamp

    def _answer(self, stamp: bytes, longest: int) -> bytes:
        return self._answers(stamp, longest, 1)[0]

    def _answers(self, stamp: bytes, longest: int, count: int) -> list[bytes]:
        """Return the next `count` datagrams with this sequence number; late answers to earlier requests are dropped.

        Raises LabError after a timeout.
        """
        answers: list[bytes] = []
        try:
            while missing := count - len(answers):
                answers += [self._receive(longest) for _ in range(missing)]
                if any(data[SEQUENCE_AT:SEQUENCE_END] != stamp for data in answers):
                    answers = [data for data in answers if data[SEQUENCE_AT:SEQUENCE_END] == stamp]
        except BlockingIOError:
            raise LabError("the kernel does not answer: run the experiment again") from None
        return answers

    def _all(self, request: bytes) -> list[bytes]:
        """Return the messages of a complete answer: a dump's entries, or none for an acknowledgment.

        Repeats a dump during which the table changed. Raises NetlinkError if the kernel refuses, LabError without an
        answer or if every dump is interrupted.
        """
        for _ in range(_DUMP_ATTEMPTS):
            messages, is_consistent = self._dump(request)
            if is_consistent:
                return messages
        raise LabError("the kernel's tables change faster than they can be read: run the experiment again")

    def _dump(self, request: bytes) -> tuple[list[bytes], bool]:
        """Return the messages of an answer, and whether the table did not change. Raises NetlinkError or LabError."""
        return self._until_end(self._ask(request))

    def _acknowledged(self, parts: list[bytes]) -> None:
        """Send several requests as a single message, given the parts around their sequence numbers.

        The last request asks for an acknowledgment. Raises NetlinkError for the first refused request, else LabError.
        """
        stamp = self._stamp()
        self._send(stamp.join(parts))
        self._until_end(stamp)

    def _until_end(self, stamp: bytes) -> tuple[list[bytes], bool]:
        result: list[bytes] = []
        is_consistent = True
        while True:
            for kind, flags, message in _messages(self._answer(stamp, _MAX_DATAGRAM), stamp):
                is_consistent = is_consistent and not flags & _DUMP_INTERRUPTED
                if kind == _NLMSG_DONE:
                    return result, is_consistent
                if kind == NLMSG_ERROR:
                    if code := -CODE.unpack_from(message, HEADER.size)[0]:
                        raise NetlinkError(code)
                    return result, is_consistent
                result.append(message)


_READERS: set[tuple[int | None, int]] = set()
"""Namespace and port of each `Reader`, for `Notifications` to recognize the multicast copies of its answers.

A closed socket stays listed, because copies of its answers may still be queued.
"""


class Reader(NetlinkSocket):
    """Socket for reads with multicast answers (NLM_F_ECHO); `Notifications` ignores the copies."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self._socket.bind((0, 0))
        _READERS.add((pid, self._socket.getsockname()[0]))


class Notifications(NetlinkSocket):
    """Listener for changes in a namespace; `groups` are the kernel's multicast groups (RTMGRP_*)."""

    _PROTOCOL = socket.NETLINK_ROUTE

    def __init__(self, pid: int | None, groups: int) -> None:
        super().__init__(pid)
        self._pid = pid
        self._socket.bind((0, groups))
        self._socket.setblocking(False)

    def poll(self) -> bool:
        """Return whether anything has changed since the last call."""
        changed = False
        for _ in range(_NOTIFICATIONS_AT_ONCE):
            try:
                message = self._receive(_MAX_NOTIFICATION)
            except BlockingIOError:
                break
            except OSError:  # the socket's buffer overflowed
                return True
            port = HEADER.unpack_from(message)[4]
            changed = changed or (self._pid, port) not in _READERS
        return changed
