"""Netlink for the lab: TCP state of connections, queue disciplines and their backlog, links."""

from tcptutor.agent.netlink.messages import NetlinkError
from tcptutor.agent.netlink.netfilter import Netfilter
from tcptutor.agent.netlink.route import (
    ROOT,
    ClassState,
    FilterState,
    Length,
    LinkNotifications,
    QdiscState,
    QueueLength,
    Route,
    TrafficControl,
)
from tcptutor.agent.netlink.tcp import Address, Connection, Listeners, SockDiag, tcp_request
from tcptutor.agent.netlink.tcp_metrics import TcpMetrics

__all__ = [
    "ROOT", "Address", "ClassState", "Connection", "FilterState", "Length", "LinkNotifications", "Listeners",
    "Netfilter", "NetlinkError", "QdiscState", "QueueLength", "Route", "SockDiag", "TcpMetrics", "TrafficControl",
    "tcp_request",
]  # fmt: skip
