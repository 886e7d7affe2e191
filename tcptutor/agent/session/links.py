"""Settings of interfaces (MTU, up or down, offloads, addresses), read again when the kernel notifies a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tcptutor.agent import host_settings
from tcptutor.agent.netlink import LinkNotifications, Route
from tcptutor.agent.network import Interface
from tcptutor.wire.kernel_state import InterfaceState, QdiscSettings


class LinkSettings(NamedTuple):
    """Settings of an interface, without its disciplines."""

    interface: Interface
    mtu: int
    up: bool
    offloads: tuple[str, ...]
    addresses: tuple[str, ...]

    def state(self, qdiscs: tuple[QdiscSettings, ...]) -> InterfaceState:
        return InterfaceState(self.interface.name, qdiscs, self.mtu, self.up, self.offloads, self.addresses)


class Links:
    """Settings of the interfaces in several namespaces. Owns sockets; `close` it.

    Args:
        interfaces: Interfaces by a process in their namespace.
    """

    def __init__(self, interfaces: Mapping[int | None, Sequence[Interface]]) -> None:
        self._interfaces = interfaces
        # Opened before anything is read, so that no change is missed.
        self._notifications = {pid: LinkNotifications(pid) for pid in interfaces}
        self._routes = {pid: Route(pid) for pid in interfaces}
        self.now: dict[Interface, LinkSettings] = {}
        for pid in interfaces:
            self._read(pid)

    def poll(self) -> bool:
        """Return whether any settings have changed since the last call. Raises LabError if an interface is gone."""
        changed = [self._read(pid) for pid, listener in self._notifications.items() if listener.poll()]
        return any(changed)

    def _read(self, pid: int | None) -> bool:
        addresses = self._routes[pid].addresses()
        settings = {}
        for interface in self._interfaces[pid]:
            own = addresses.get(self._routes[pid].index(interface), [])
            on = tuple(name for name, is_on in host_settings.offloads(interface).items() if is_on)
            mtu, is_up = host_settings.mtu(interface), host_settings.is_up(interface)
            settings[interface] = LinkSettings(interface, mtu, is_up, on, tuple(own))
        changed = any(self.now.get(interface) != now for interface, now in settings.items())
        self.now |= settings
        return changed

    def close(self) -> None:
        for socket in [*self._notifications.values(), *self._routes.values()]:
            socket.close()
