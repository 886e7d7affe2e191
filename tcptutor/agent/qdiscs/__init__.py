"""Queue disciplines in the kernel's terms, as options of pyroute2's tc message.

pyroute2 knows some of them in part (netem without seed, bursts and distributions) and others not at all (fq, red). Each
class here writes its settings and reads them back under the same names, so that actual and requested settings can be
compared. Attribute numbers and structures: linux/pkt_sched.h. 64-bit attributes carry the values that the older 32-bit
fields round: delays in nanoseconds, rates above 34 Gbit/s.
"""

from __future__ import annotations

import struct
from typing import Any

from tcptutor.agent.qdiscs import classful
from tcptutor.agent.qdiscs.attributes import plugins
from tcptutor.agent.qdiscs.netem import Netem
from tcptutor.agent.qdiscs.queues import Cake, Codel, Fq, FqCodel, Red, Tbf

KINDS: dict[str, Any] = {
    "netem": Netem,
    "tbf": Tbf,
    "fq": Fq,
    "codel": Codel,
    "fq_codel": FqCodel,
    "cake": Cake,
    "red": Red,
}
"""Kinds that the lab sets up itself."""


def register() -> None:
    """Register these qdiscs with pyroute2; safe to call twice."""
    plugins.update(KINDS)


def settings(kind: str, options: bytes) -> dict[str, Any]:
    """Decode the options of a discipline that only users set up; empty for an unknown kind."""
    return _read(classful.DISCIPLINES.get(kind), options)


def class_settings(kind: str, options: bytes) -> dict[str, Any]:
    """Decode the options of a class; empty for an unknown kind."""
    return _read(classful.CLASSES.get(kind), options)


def _read(reader: classful.Reader | None, options: bytes) -> dict[str, Any]:
    try:
        return reader(options) if reader is not None else {}
    except (struct.error, KeyError):
        return {}
