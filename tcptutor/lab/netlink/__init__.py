"""Netlink as the lab speaks it: the TCP state of connections, queue disciplines and what waits in them, links."""

from tcptutor.lab.netlink.messages import NetlinkError
from tcptutor.lab.netlink.netfilter import Netfilter
from tcptutor.lab.netlink.route import ROOT, Length, LinkNews, QdiscState, QueueLength, Route
from tcptutor.lab.netlink.tcp import Address, Connection, Listeners, SockDiag, tcp_request

__all__ = [
    "ROOT",
    "Address",
    "Connection",
    "Length",
    "LinkNews",
    "Listeners",
    "Netfilter",
    "NetlinkError",
    "QdiscState",
    "QueueLength",
    "Route",
    "SockDiag",
    "tcp_request",
]
