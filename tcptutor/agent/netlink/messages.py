"""Messages of netlink and the sockets that they go through (linux/netlink.h)."""

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
"""A dump takes microseconds; a table that changes during each of so many is changed by a loop."""
_REQUEST, ACK, ECHO, EXCLUSIVE, DUMP, CREATE = 0x1, 0x4, 0x8, 0x200, 0x300, 0x400
_NEWS_AT_ONCE = 100
"""Messages that are taken at once: a loop of commands can send them faster than they are read."""
_LONGEST_NEWS = 16384
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
    """Return a whole request; the socket that sends it fills in the sequence number."""
    return HEADER.pack(HEADER.size + len(body), kind, _REQUEST | flags, 0, 0) + body


def around_stamps(requests: Sequence[bytes]) -> list[bytes]:
    """Return what stands before, between and after the sequence numbers of these requests, sent as one."""
    whole, parts, begin, at = b"".join(requests), list[bytes](), 0, 0
    for request in requests:
        parts.append(whole[begin : at + SEQUENCE_AT])
        begin, at = at + SEQUENCE_END, at + len(request)
    return [*parts, whole[begin:]]


def _messages(data: bytes, stamp: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (kind, flags, whole message) of the messages in `data` with this sequence number."""
    offset = 0
    while offset + HEADER.size <= len(data):
        length, kind, flags = HEADER.unpack_from(data, offset)[:3]
        if data[offset + SEQUENCE_AT : offset + SEQUENCE_END] == stamp:
            yield kind, flags, data[offset : offset + length]
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
        self._sequence = 0

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _stamp(self) -> bytes:
        """Return the sequence number of the next question, as its messages and their answers carry it."""
        self._sequence = (self._sequence + 1) & 0xFFFFFFFF
        return SEQUENCE.pack(self._sequence)

    def _ask(self, request: bytes) -> bytes:
        """Send `request` and return the sequence number that its answer carries."""
        stamp = self._stamp()
        self._send(request[:SEQUENCE_AT] + stamp + request[SEQUENCE_END:])
        return stamp

    def _answer(self, stamp: bytes, longest: int) -> bytes:
        """Return what comes next with this sequence number. Raises LabError when nothing comes in time."""
        return self._answers(stamp, longest, 1)[0]

    def _answers(self, stamp: bytes, longest: int, count: int) -> list[bytes]:
        """Return the next `count` datagrams with this sequence number; late answers to earlier questions are dropped.

        Raises LabError when they do not come in time.
        """
        found: list[bytes] = []
        try:
            while missing := count - len(found):
                found += [self._receive(longest) for _ in range(missing)]
                if any(data[SEQUENCE_AT:SEQUENCE_END] != stamp for data in found):
                    found = [data for data in found if data[SEQUENCE_AT:SEQUENCE_END] == stamp]
        except BlockingIOError:
            raise LabError("the kernel does not answer: run the experiment again") from None
        return found

    def _all(self, request: bytes) -> list[bytes]:
        """Return the messages of the answer up to its end: those of a dump, none for an acknowledgment.

        A dump during which the table changed is made again. Raises NetlinkError when the kernel refuses, LabError when
        it does not answer or every dump is interrupted.
        """
        for _ in range(_DUMP_ATTEMPTS):
            messages, is_whole = self._dump(request)
            if is_whole:
                return messages
        raise LabError("the kernel's tables change faster than they can be read: run the experiment again")

    def _dump(self, request: bytes) -> tuple[list[bytes], bool]:
        """Return the messages of one answer, and whether it was not interrupted. Raises NetlinkError or LabError."""
        return self._until_end(self._ask(request))

    def _acknowledged(self, parts: list[bytes]) -> None:
        """Send several requests as one, given what stands around their sequence numbers; the last asks for an answer.

        Raises NetlinkError for the first that is refused, LabError when no answer comes.
        """
        stamp = self._stamp()
        self._send(stamp.join(parts))
        self._until_end(stamp)

    def _until_end(self, stamp: bytes) -> tuple[list[bytes], bool]:
        found: list[bytes] = []
        is_whole = True
        while True:
            for kind, flags, message in _messages(self._answer(stamp, _DUMP_AT_ONCE), stamp):
                is_whole = is_whole and not flags & _DUMP_INTERRUPTED
                if kind == _NLMSG_DONE:
                    return found, is_whole
                if kind == NLMSG_ERROR:
                    if code := -CODE.unpack_from(message, HEADER.size)[0]:
                        raise NetlinkError(code)
                    return found, is_whole
                found.append(message)


_READERS: set[tuple[int | None, int]] = set()
"""Namespace and port of each socket that only reads, by requests whose answers the kernel multicasts as well.

A closed one stays: copies of its answers may still wait to be read.
"""


class Reader(NetlinkSocket):
    """A socket whose answers are not news: `News` leaves out the copies that the kernel multicasts (NLM_F_ECHO)."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self._socket.bind((0, 0))
        _READERS.add((pid, self._socket.getsockname()[0]))


class News(NetlinkSocket):
    """Hears when something of one namespace changes: `groups` are the kernel's multicast groups (RTMGRP_*)."""

    _PROTOCOL = socket.NETLINK_ROUTE

    def __init__(self, pid: int | None, groups: int) -> None:
        super().__init__(pid)
        self._pid = pid
        self._socket.bind((0, groups))
        self._socket.setblocking(False)

    def came(self) -> bool:
        """Return whether anything changed since the last call; what it was has to be asked."""
        changed = False
        for _ in range(_NEWS_AT_ONCE):
            try:
                message = self._receive(_LONGEST_NEWS)
            except BlockingIOError:
                break
            except OSError:  # more was told than there was room for
                return True
            port = HEADER.unpack_from(message)[4]
            changed = changed or (self._pid, port) not in _READERS
        return changed
