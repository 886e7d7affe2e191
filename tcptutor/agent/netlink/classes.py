"""Classes of queue disciplines and the filters that choose among them (linux/pkt_sched.h, linux/pkt_cls.h).

They are asked for only where a discipline has classes, and again when the kernel tells of a change.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tcptutor.agent import qdiscs
from tcptutor.agent.netlink.messages import DUMP, HEADER, NetlinkError, NetlinkSocket, News, compose
from tcptutor.agent.qdiscs.attributes import nested

_RTM_GETTCLASS, _RTM_GETTFILTER = 42, 46
_TCMSG = struct.Struct("=BxxxiIII")
_AFTER_TCMSG = HEADER.size + _TCMSG.size
_TCA_KIND, _TCA_OPTIONS = 1, 2
_TRAFFIC_CONTROL = 0x8
"""Group of those to whom the kernel tells changes of disciplines, classes and filters."""


@dataclass(frozen=True)
class ClassState:
    """A class as the kernel holds it."""

    kind: str
    handle: int
    """Its number: that of its discipline, and its own in the lower 16 bits."""
    parent: int
    """The class it is in; the root's number (`ROOT`) or the discipline's for one that is in none."""
    settings: dict[str, Any] = field(default_factory=dict)


class FilterState(NamedTuple):
    """A filter as the kernel holds it."""

    kind: str
    priority: int
    options: dict[int, bytes]
    """Attributes by number, as linux/pkt_cls.h numbers those of its kind."""


class TrafficControl(NetlinkSocket):
    """Classes and filters of one namespace."""

    _PROTOCOL = socket.NETLINK_ROUTE

    def __init__(self, pid: int | None) -> None:
        super().__init__(pid)
        self._news = News(pid, _TRAFFIC_CONTROL)

    def close(self) -> None:
        self._news.close()
        super().close()

    def came(self) -> bool:
        """Whether the kernel has told of a change since the last call."""
        return self._news.came()

    def classes(self, index: int) -> list[ClassState]:
        """Every class on the interface of that number."""
        found = []
        for message in self._of(_RTM_GETTCLASS, index, 0):
            _, _, handle, parent, _ = _TCMSG.unpack_from(message, HEADER.size)
            there = nested(message[_AFTER_TCMSG:])
            kind = _name(there)
            settings = qdiscs.class_settings(kind, there.get(_TCA_OPTIONS, b""))
            found.append(ClassState(kind, handle, parent, settings))
        return found

    def filters(self, index: int, parent: int) -> list[FilterState]:
        """Those of the discipline or class `parent`, in the order in which the kernel tries them."""
        found = []
        for message in self._of(_RTM_GETTFILTER, index, parent):
            *_, info = _TCMSG.unpack_from(message, HEADER.size)
            there = nested(message[_AFTER_TCMSG:])
            # Before the filters of a priority comes a message for it alone.
            if _TCA_OPTIONS in there:
                found.append(FilterState(_name(there), info >> 16, nested(there[_TCA_OPTIONS])))
        return sorted(found, key=lambda one: one.priority)

    def _of(self, kind: int, index: int, parent: int) -> list[bytes]:
        """None of them where the discipline that is asked about has just gone."""
        try:
            return self._all(compose(kind, DUMP, _TCMSG.pack(socket.AF_UNSPEC, index, 0, parent, 0)))
        except NetlinkError:
            return []


def _name(there: dict[int, bytes]) -> str:
    return there.get(_TCA_KIND, b"").rstrip(b"\0").decode(errors="replace")
