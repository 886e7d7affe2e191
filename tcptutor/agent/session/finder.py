"""Finder of flows that a user has started: connections between lab hosts with more data than a greeting."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.agent.host_settings import sysctl
from tcptutor.agent.netlink import Address, SockDiag, tcp_request
from tcptutor.agent.network import Host, Network
from tcptutor.wire.tcp_info import AT

_MIN_BYTES = 16384
"""Acknowledged bytes that make a flow; fewer are greetings, such as iperf3's control connection."""
_MIN_TIMEOUTS = 2
"""Consecutive timeouts that show that no data arrives any more; a single loss causes a single timeout."""


class FlowStart(NamedTuple):
    """New flow."""

    address: Address
    """Addresses from the sending end's view."""
    sender: Host
    receiver: Host
    algorithm: str


class Finder:
    """Finder with a sock_diag socket on each host; `close` it."""

    def __init__(self, network: Network) -> None:
        self._hosts = {host.address: host for host in network.hosts}
        self._diags = {address: SockDiag(host) for address, host in self._hosts.items()}
        self._known: set[frozenset[tuple[str, int]]] = set()

    def close(self) -> None:
        for diag in self._diags.values():
            diag.close()

    def poll(self) -> list[FlowStart]:
        """Return the flows that have begun since the last call."""
        new_flows, alive = [], set()
        for diag in self._diags.values():
            for connection in diag.connections():
                address = connection.address
                ends = frozenset({address[:2], address[2:]})
                alive.add(ends)
                if ends in self._known or address.destination not in self._hosts:
                    continue
                # The dump lacks IPv6 sockets that serve IPv4, so the other end is requested by its address.
                other_acked = self._acked(address.other_end)
                is_stuck = False
                if max(connection.bytes_acked, other_acked) < _MIN_BYTES:
                    is_stuck = self._is_stuck(address)
                    if not is_stuck:
                        continue
                self._known.add(ends)
                sends = is_stuck or connection.bytes_acked >= other_acked
                sending = address if sends else address.other_end
                sender, receiver = self._hosts[sending.source], self._hosts[sending.destination]
                algorithm = connection.algorithm if sends else self._algorithm(sending)
                new_flows.append(FlowStart(sending, sender, receiver, algorithm))
        # The ports may be reused by another connection.
        self._known &= alive
        return new_flows

    def _algorithm(self, address: Address) -> str:
        """Return the congestion control of that end; for an IPv6 socket, its host's default."""
        connections = self._diags[address.source].connections()
        default = sysctl(self._hosts[address.source], "net.ipv4.tcp_congestion_control")
        return next((each.algorithm for each in connections if each.address == address), default)

    def _is_stuck(self, address: Address) -> bool:
        """Return whether that end has a flow's worth of data to send, but its first segments keep timing out."""
        info = self._diags[address.source].info(tcp_request(address))
        return (
            info is not None
            and info[AT["retransmits_now"]] >= _MIN_TIMEOUTS
            and info[AT["notsent_bytes"]] + info[AT["unacked"]] * info[AT["snd_mss"]] >= _MIN_BYTES
        )

    def _acked(self, address: Address) -> int:
        info = self._diags[address.source].info(tcp_request(address))
        return info[AT["bytes_acked"]] if info is not None else 0
