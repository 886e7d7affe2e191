"""The messages of pyroute2 in which settings of queue disciplines are written and read."""

from __future__ import annotations

from tcptutor.agent.imports import bare_package

with bare_package("pyroute2"):
    from pyroute2.netlink import nla
    from pyroute2.netlink.rtnl.tcmsg import plugins, sched_netem, tcmsg

__all__ = ["nla", "plugins", "sched_netem", "tcmsg"]
