"""Finds the flows that somebody started: connections between lab hosts that have carried more than a few words, or
would, if anything of it arrived."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.agent.hosts import sysctl
from tcptutor.agent.netlink import Address, SockDiag, tcp_request
from tcptutor.agent.network import Host, Network
from tcptutor.wire.tcp_info import AT

_A_FLOW = 16384
"""Bytes acknowledged from which a connection is a flow; below it are greetings, such as iperf3's control connection."""
_AGAIN = 2
"""Timeouts in a row from which nothing arrives any more: one loss makes one of them."""


class FlowStart(NamedTuple):
    """A flow that was not there before."""

    address: Address
    """The sending end first."""
    sender: Host
    receiver: Host
    algorithm: str
    """The sender's congestion control."""


class Finder:
    """Owns a sock_diag socket on each host; `close` it."""

    def __init__(self, network: Network) -> None:
        self._hosts = {host.address: host for host in network.hosts}
        self._diags = {address: SockDiag(host) for address, host in self._hosts.items()}
        self._known: set[frozenset[tuple[str, int]]] = set()

    def close(self) -> None:
        for diag in self._diags.values():
            diag.close()

    def look(self) -> list[FlowStart]:
        """The flows that have begun since the last look."""
        found, alive = [], set()
        for diag in self._diags.values():
            for connection in diag.connections():
                address = connection.address
                ends = frozenset({address[:2], address[2:]})
                alive.add(ends)
                if ends in self._known or address.destination not in self._hosts:
                    continue
                # An IPv6 socket that serves IPv4 is in no dump of ours: it is asked by its address.
                there = self._acked(address.other_end)
                stuck = False
                if max(connection.bytes_acked, there) < _A_FLOW:
                    stuck = self._is_stuck(address)
                    if not stuck:
                        continue
                self._known.add(ends)
                sends = stuck or connection.bytes_acked >= there
                sending = address if sends else address.other_end
                sender, receiver = self._hosts[sending.source], self._hosts[sending.destination]
                algorithm = connection.algorithm if sends else self._algorithm(sending)
                found.append(FlowStart(sending, sender, receiver, algorithm))
        # A port may come again with another connection.
        self._known &= alive
        return found

    def _algorithm(self, address: Address) -> str:
        """The congestion control of that end; its host's usual one for an IPv6 socket."""
        there = self._diags[address.source].connections()
        usual = sysctl(self._hosts[address.source], "net.ipv4.tcp_congestion_control")
        return next((one.algorithm for one in there if one.address == address), usual)

    def _is_stuck(self, address: Address) -> bool:
        """Whether that end has more to send than goes at once, and sends the first of it again and again."""
        info = self._diags[address.source].info(tcp_request(address))
        return (
            info is not None
            and info[AT["retransmits_now"]] >= _AGAIN
            and info[AT["notsent_bytes"]] + info[AT["unacked"]] * info[AT["snd_mss"]] >= _A_FLOW
        )

    def _acked(self, address: Address) -> int:
        info = self._diags[address.source].info(tcp_request(address))
        return info[AT["bytes_acked"]] if info is not None else 0
