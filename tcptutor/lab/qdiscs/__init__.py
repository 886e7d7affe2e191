"""The queue disciplines in the kernel's own terms, as options of pyroute2's tc message.

pyroute2 knows some of them in part (netem without seed, bursts and distributions) and some not at all (fq, red).
Each class here writes its settings and reads the same names back, so that what the kernel holds can be compared
with what was asked for. Attribute numbers and structures: linux/pkt_sched.h. The 64-bit attributes carry what the
old 32-bit fields round: delays in nanoseconds, rates above 34 Gbit/s.
"""

from __future__ import annotations

from typing import Any

from pyroute2.netlink.rtnl.tcmsg import plugins

from tcptutor.lab.qdiscs.aqm import Cake, Codel, FqCodel, Red
from tcptutor.lab.qdiscs.netem import Netem
from tcptutor.lab.qdiscs.shapers import Fq, Tbf

KINDS: dict[str, Any] = {
    "netem": Netem,
    "tbf": Tbf,
    "fq": Fq,
    "codel": Codel,
    "fq_codel": FqCodel,
    "cake": Cake,
    "red": Red,
}


def register() -> None:
    """Teach pyroute2 these qdiscs; safe to call twice."""
    plugins.update(KINDS)
