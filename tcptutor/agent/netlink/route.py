"""Queue disciplines, their backlog, classes and filters, and links.

Structures: linux/rtnetlink.h, linux/gen_stats.h, linux/pkt_sched.h, linux/pkt_cls.h.

Settings of disciplines are messages of pyroute2, extended by `qdiscs`. The length of a queue, requested a hundred times
a second, and the dump that shows whether anything has changed are read with structs. Classes and filters are dumped
only for disciplines with classes, and again when the kernel notifies a change.
"""

from __future__ import annotations

import errno
import fcntl
import socket
import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tcptutor.agent import qdiscs
from tcptutor.agent.netlink.messages import (
    ACK,
    CREATE,
    DUMP,
    ECHO,
    EXCLUSIVE,
    HEADER,
    KIND,
    NLMSG_ERROR,
    NetlinkError,
    NetlinkSocket,
    Notifications,
    Reader,
    attributes,
    compose,
)
from tcptutor.agent.network import Interface
from tcptutor.agent.qdiscs.attributes import nested, tcmsg
from tcptutor.base.errors import LabError
from tcptutor.wire.plan import Qdisc

qdiscs.register()

_RTM_NEWLINK, _RTM_NEWQDISC, _RTM_DELQDISC, _RTM_GETQDISC = 16, 36, 37, 38
_TCMSG = struct.Struct("=BxxxiIII")
_IFINFOMSG = struct.Struct("=BxHiII")
_TCA_KIND, _TCA_OPTIONS, _TCA_STATS, _TCA_STATS2 = 1, 2, 3, 7
_STATS_BASIC, _STATS_QUEUE = 1, 3
_STATS = struct.Struct("=QIIIIIII")
_BASIC, _QUEUE = struct.Struct("=QI"), struct.Struct("=5I")
_IN_TCMSG, _AFTER_TCMSG = HEADER.size, HEADER.size + _TCMSG.size
_EVERY_QDISC = compose(_RTM_GETQDISC, DUMP, _TCMSG.pack(socket.AF_UNSPEC, 0, 0, 0, 0))
_RTM_GETADDR, _IFADDRMSG, _IFA_LOCAL = 22, struct.Struct("=BBBBi"), 2
_EVERY_ADDRESS = compose(_RTM_GETADDR, DUMP, _IFADDRMSG.pack(socket.AF_INET, 0, 0, 0, 0))
_LINKS, _ADDRESSES = 0x1, 0x10
"""Multicast groups for changes of links and of IPv4 addresses."""
_MAX_ANSWER = 16384
_NOQUEUE = b"noqueue\0"
_IFF_UP = 1
_SIOCGIFINDEX = 0x8933

ROOT = 0xFFFFFFFF
"""Parent of an interface's root discipline."""
_RTM_GETTCLASS, _RTM_GETTFILTER = 42, 46
_TRAFFIC_CONTROL = 0x8
"""Multicast group for changes of disciplines, classes and filters."""


@dataclass(frozen=True)
class QdiscState(Qdisc):
    """Settings and counters of a queue discipline in the kernel; without settings for an unknown kind."""

    handle: int = 0
    """Kernel's handle: the number before the colon times 65536."""
    parent: int = ROOT
    """Handle of the parent class."""
    drops: int = 0
    packets: int = 0
    backlog: int = 0
    """bytes queued"""


class Length(NamedTuple):
    """Length of a queue now, and its counters since it was created."""

    bytes: int
    packets: int
    drops: int
    sent: int
    """bytes of frames"""
    has_queue: bool = True
    """Whether packets can queue at all: false for the kernel's `noqueue`."""


class Route(NetlinkSocket):
    """Queue disciplines and links of a namespace."""

    _PROTOCOL = socket.NETLINK_ROUTE

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self._messages: list[bytes] = []
        self._settings: list[tuple[int, bytes]] = []
        """Length of each message up to the end of the settings, and its bytes."""

    def index(self, interface: Interface) -> int:
        """Return the number of `interface`. Raises LabError if it is gone."""
        name = struct.pack("16si", interface.name.encode(), 0).ljust(40, b"\0")
        try:
            return int(struct.unpack_from("16si", fcntl.ioctl(self._socket, _SIOCGIFINDEX, name))[1])
        except OSError as error:
            raise LabError(
                f"the lab's interface {interface.name} is gone: run the experiment again"
            ) from error

    def refresh(self) -> bool:
        """Dump all disciplines, and return whether any of them or their settings have changed."""
        messages = self._all(_EVERY_QDISC)
        before, self._messages = self._messages, messages
        if len(messages) == len(before) and all(
            message[_IN_TCMSG:end] == settings
            for message, (end, settings) in zip(messages, self._settings, strict=True)
        ):
            return False
        ends = [_end_of_settings(message) for message in messages]
        self._settings = [(end, message[_IN_TCMSG:end]) for end, message in zip(ends, messages, strict=True)]
        return True

    def qdiscs(self) -> dict[int, list[QdiscState]]:
        """Decode the last dump, by interface number; `noqueue` is left out."""
        result: dict[int, list[QdiscState]] = {}
        for data in self._messages:
            _, index, handle, parent, _ = _TCMSG.unpack_from(data, _IN_TCMSG)
            values = {
                kind: data[at : at + size] for kind, at, size in attributes(data, _AFTER_TCMSG, len(data))
            }
            kind = values[_TCA_KIND].rstrip(b"\0").decode()
            if kind == "noqueue":
                continue
            settings = {}
            if kind in qdiscs.KINDS and _TCA_OPTIONS in values:
                message = tcmsg(data)
                message.decode()
                settings = qdiscs.KINDS[kind].read(message.get_attr("TCA_OPTIONS"))
            elif _TCA_OPTIONS in values:
                settings = qdiscs.settings(kind, values[_TCA_OPTIONS])
            _, packets, drops, *_, backlog = _STATS.unpack_from(values[_TCA_STATS])
            state = QdiscState(kind, settings, handle, parent, drops, packets, backlog)
            result.setdefault(index, []).append(state)
        return result

    def addresses(self) -> dict[int, list[str]]:
        """Return the IPv4 addresses with prefix lengths, such as 10.0.0.1/8, by interface number."""
        result: dict[int, list[str]] = {}
        for message in self._all(_EVERY_ADDRESS):
            _, bits, _, _, index = _IFADDRMSG.unpack_from(message, HEADER.size)
            for kind, at, size in attributes(message, HEADER.size + _IFADDRMSG.size, len(message)):
                if kind == _IFA_LOCAL:
                    result.setdefault(index, []).append(f"{socket.inet_ntoa(message[at : at + size])}/{bits}")
        return result

    def add(self, index: int, handle: int, parent: int, qdisc: Qdisc) -> None:
        """Create a discipline. Raises NetlinkError, with the code ENOENT if the kernel has no such kind."""
        self._put(CREATE | EXCLUSIVE, index, handle, parent, qdisc)

    def change(self, index: int, handle: int, parent: int, qdisc: Qdisc) -> None:
        """Change the settings of a discipline, without losing queued packets. Raises NetlinkError."""
        self._put(0, index, handle, parent, qdisc)

    def _put(self, flags: int, index: int, handle: int, parent: int, qdisc: Qdisc) -> None:
        message = tcmsg()
        message["index"], message["handle"], message["parent"] = index, handle, parent
        options = qdiscs.KINDS[qdisc.kind].get_parameters(qdisc.settings)
        message["attrs"] = [["TCA_KIND", qdisc.kind], ["TCA_OPTIONS", options]]
        message.encode()
        self._all(compose(_RTM_NEWQDISC, ACK | flags, bytes(message.data)[HEADER.size :]))

    def clear(self, index: int) -> None:
        """Delete the root discipline of an interface with all its children. Raises NetlinkError."""
        try:
            self._all(compose(_RTM_DELQDISC, ACK, _TCMSG.pack(socket.AF_UNSPEC, index, 0, ROOT, 0)))
        except NetlinkError as error:
            if error.code not in (errno.ENOENT, errno.EINVAL):  # no discipline
                raise

    def set_link(self, index: int, up: bool) -> None:
        body = _IFINFOMSG.pack(socket.AF_UNSPEC, 0, index, _IFF_UP * up, _IFF_UP)
        self._all(compose(_RTM_NEWLINK, ACK, body))


def _end_of_settings(message: bytes) -> int:
    """Return the offset where a discipline's settings end and its counters begin."""
    end, name = _AFTER_TCMSG, ""
    for kind, offset, size in attributes(message, _AFTER_TCMSG, len(message)):
        if kind == _TCA_KIND:
            end, name = offset + size, message[offset : offset + size].rstrip(b"\0").decode()
        elif kind == _TCA_OPTIONS and name == "red":
            # The second attribute is the probability that an adaptive red changes by itself.
            for _, at, length in attributes(message, offset, offset + size)[:1]:
                end = at + length
        elif kind == _TCA_OPTIONS and name in qdiscs.KINDS:
            # The options of other kinds, such as htb, may contain counters.
            end = offset + size
    return end


class LinkNotifications(Notifications):
    """Listener for changes of interfaces and addresses in a namespace."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid, _LINKS | _ADDRESSES)


class QueueLength(Reader, Route):
    """Length of a discipline, requested without touching others; without a handle, of the current root discipline."""

    def __init__(self, interface: Interface, handle: int | None = None) -> None:
        super().__init__(interface.pid)
        self._name = interface.name
        own, parent = (0, ROOT) if handle is None else (handle, 0)
        body = _TCMSG.pack(socket.AF_UNSPEC, self.index(interface), own, parent, 0)
        # Without the echo flag, kernels before 6.12 send the answer to the multicast group only.
        self._request = compose(_RTM_GETQDISC, ECHO, body)

    def read(self) -> Length:
        """Return length and counters. Raises LabError if the discipline is gone."""
        data = self._answer(self._ask(self._request), _MAX_ANSWER)
        if KIND.unpack_from(data, 4)[0] == NLMSG_ERROR:
            raise LabError(f"the queue of {self._name} is gone: run the experiment again")
        basic, queue, has_queue = (0, 0), (0, 0, 0, 0, 0), True
        for kind, offset, size in attributes(data, _AFTER_TCMSG, len(data)):
            if kind == _TCA_KIND:
                has_queue = data[offset : offset + size] != _NOQUEUE
            elif kind == _TCA_STATS2:
                for inner, at, length in attributes(data, offset, offset + size):
                    if inner == _STATS_BASIC and length >= _BASIC.size:
                        basic = _BASIC.unpack_from(data, at)
                    elif inner == _STATS_QUEUE and length >= _QUEUE.size:
                        queue = _QUEUE.unpack_from(data, at)
        packets, backlog, drops = queue[:3]
        return Length(backlog, packets, drops, basic[0], has_queue)


@dataclass(frozen=True)
class ClassState:
    """Class in the kernel."""

    kind: str
    handle: int
    """Number: the discipline's, with the class's own in the lower 16 bits."""
    parent: int
    """Number of the parent class; `ROOT` or the discipline's number for a top-level class."""
    settings: dict[str, Any] = field(default_factory=dict)


class FilterState(NamedTuple):
    """Filter in the kernel."""

    kind: str
    priority: int
    options: dict[int, bytes]
    """Attributes by number, in the numbering of its kind (linux/pkt_cls.h)."""


class TrafficControl(NetlinkSocket):
    """Dumps of the classes and filters in a namespace."""

    _PROTOCOL = socket.NETLINK_ROUTE

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self._notifications = Notifications(pid, _TRAFFIC_CONTROL)

    def close(self) -> None:
        self._notifications.close()
        super().close()

    def poll(self) -> bool:
        """Return whether anything has changed since the last call."""
        return self._notifications.poll()

    def classes(self, index: int) -> list[ClassState]:
        """Return every class on the interface of that number."""
        result = []
        for message in self._dump_messages(_RTM_GETTCLASS, index, 0):
            _, _, handle, parent, _ = _TCMSG.unpack_from(message, HEADER.size)
            options = nested(message[_AFTER_TCMSG:])
            kind = _kind(options)
            settings = qdiscs.class_settings(kind, options.get(_TCA_OPTIONS, b""))
            result.append(ClassState(kind, handle, parent, settings))
        return result

    def filters(self, index: int, parent: int) -> list[FilterState]:
        """Return the filters of the discipline or class `parent` in the order in which the kernel applies them."""
        result = []
        for message in self._dump_messages(_RTM_GETTFILTER, index, parent):
            *_, info = _TCMSG.unpack_from(message, HEADER.size)
            options = nested(message[_AFTER_TCMSG:])
            # A message without options introduces the filters of each priority.
            if _TCA_OPTIONS in options:
                result.append(FilterState(_kind(options), info >> 16, nested(options[_TCA_OPTIONS])))
        return sorted(result, key=lambda item: item.priority)

    def _dump_messages(self, kind: int, index: int, parent: int) -> list[bytes]:
        """Return the messages of a dump; none if the discipline has just been deleted."""
        try:
            return self._all(compose(kind, DUMP, _TCMSG.pack(socket.AF_UNSPEC, index, 0, parent, 0)))
        except NetlinkError:
            return []


def _kind(options: dict[int, bytes]) -> str:
    return options.get(_TCA_KIND, b"").rstrip(b"\0").decode(errors="replace")
