"""Interfaces as they are: MTU, up or down, offloads, addresses. The kernel tells when one is another: nothing is asked
while nothing happens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tcptutor.agent import hosts
from tcptutor.agent.netlink import LinkNews, Route
from tcptutor.agent.network import Interface
from tcptutor.wire.kernel_state import InterfaceState, QdiscSettings


class LinkSettings(NamedTuple):
    """What an interface is, but for its disciplines."""

    interface: Interface
    mtu: int
    up: bool
    offloads: tuple[str, ...]
    addresses: tuple[str, ...]

    def state(self, qdiscs: tuple[QdiscSettings, ...]) -> InterfaceState:
        return InterfaceState(self.interface.name, qdiscs, self.mtu, self.up, self.offloads, self.addresses)


class Links:
    """Those of several namespaces. Owns sockets; `close` it."""

    def __init__(self, interfaces: Mapping[int | None, Sequence[Interface]]) -> None:
        """By a process of the namespace that they are in."""
        self._interfaces = interfaces
        # Before anything is read, so that no change is missed.
        self._news = {pid: LinkNews(pid) for pid in interfaces}
        self._routes = {pid: Route(pid) for pid in interfaces}
        self.now: dict[Interface, LinkSettings] = {}
        for pid in interfaces:
            self._read(pid)

    def look(self) -> bool:
        """Whether one is another than at the last look. Raises LabError when one is gone."""
        changed = [self._read(pid) for pid, news in self._news.items() if news.came()]
        return any(changed)

    def _read(self, pid: int | None) -> bool:
        addresses = self._routes[pid].addresses()
        found = {}
        for one in self._interfaces[pid]:
            there = addresses.get(self._routes[pid].index(one), [])
            on = tuple(name for name, is_on in hosts.offloads(one).items() if is_on)
            found[one] = LinkSettings(one, hosts.mtu(one), hosts.is_up(one), on, tuple(there))
        changed = any(self.now.get(one) != now for one, now in found.items())
        self.now |= found
        return changed

    def close(self) -> None:
        for one in [*self._news.values(), *self._routes.values()]:
            one.close()
