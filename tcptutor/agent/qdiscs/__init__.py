"""The queue disciplines in the kernel's own terms, as options of pyroute2's tc message.

pyroute2 knows some of them in part (netem without seed, bursts and distributions) and some not at all (fq, red).
Each class here writes its settings and reads the same names back, so that what the kernel holds can be compared
with what was asked for. Attribute numbers and structures: linux/pkt_sched.h. The 64-bit attributes carry what the
old 32-bit fields round: delays in nanoseconds, rates above 34 Gbit/s.
"""

from __future__ import annotations

import struct
from typing import Any

from tcptutor.agent.qdiscs import classful
from tcptutor.agent.qdiscs.aqm import Cake, Codel, FqCodel, Red
from tcptutor.agent.qdiscs.messages import plugins
from tcptutor.agent.qdiscs.netem import Netem
from tcptutor.agent.qdiscs.shapers import Fq, Tbf

KINDS: dict[str, Any] = {
    "netem": Netem,
    "tbf": Tbf,
    "fq": Fq,
    "codel": Codel,
    "fq_codel": FqCodel,
    "cake": Cake,
    "red": Red,
}
"""Those that the lab sets up itself."""


def register() -> None:
    """Teach pyroute2 these qdiscs; safe to call twice."""
    plugins.update(KINDS)


def settings(kind: str, options: bytes) -> dict[str, Any]:
    """What the options of a discipline say that only somebody's hands set up; empty where its kind is not known."""
    return _read(classful.DISCIPLINES.get(kind), options)


def class_settings(kind: str, options: bytes) -> dict[str, Any]:
    """What the options of a class of such a discipline say; empty where its kind is not known."""
    return _read(classful.CLASSES.get(kind), options)


def _read(reader: classful.Reader | None, options: bytes) -> dict[str, Any]:
    try:
        return reader(options) if reader is not None else {}
    except (struct.error, KeyError):
        return {}
