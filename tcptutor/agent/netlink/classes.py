"""Classes of queue disciplines and the filters that select them (linux/pkt_sched.h, linux/pkt_cls.h).

They are dumped only for disciplines with classes, and again when the kernel notifies a change.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tcptutor.agent import qdiscs
from tcptutor.agent.netlink.messages import DUMP, HEADER, NetlinkError, NetlinkSocket, Notifications, compose
from tcptutor.agent.qdiscs.attributes import nested

_RTM_GETTCLASS, _RTM_GETTFILTER = 42, 46
_TCMSG = struct.Struct("=BxxxiIII")
_AFTER_TCMSG = HEADER.size + _TCMSG.size
_TCA_KIND, _TCA_OPTIONS = 1, 2
_TRAFFIC_CONTROL = 0x8
"""Multicast group for changes of disciplines, classes and filters."""


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
