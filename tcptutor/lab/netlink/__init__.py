"""Netlink as the lab speaks it: the TCP state of connections, queue disciplines and what waits in them, links."""

from tcptutor.lab.netlink.classes import ClassState, FilterState, TrafficControl
from tcptutor.lab.netlink.messages import NetlinkError
from tcptutor.lab.netlink.netfilter import Netfilter
from tcptutor.lab.netlink.route import ROOT, Length, LinkNews, QdiscState, QueueLength, Route
from tcptutor.lab.netlink.tcp import Address, Connection, Listeners, SockDiag, tcp_request

__all__ = [
    "ROOT",
    "Address",
    "ClassState",
    "Connection",
    "FilterState",
    "Length",
    "LinkNews",
    "Listeners",
    "Netfilter",
    "NetlinkError",
    "QdiscState",
    "QueueLength",
    "Route",
    "SockDiag",
    "TrafficControl",
    "tcp_request",
]
