"""Queue disciplines in the kernel's terms, as options of pyroute2's tc message.

pyroute2 knows some of them in part (netem without seed, bursts and distributions) and others not at all (fq, red). Each
class here writes its settings and reads them back under the same names, so that actual and requested settings can be
compared. Attribute numbers and structures: linux/pkt_sched.h. 64-bit attributes carry the values that the older 32-bit
fields round: delays in nanoseconds, rates above 34 Gbit/s.

Disciplines that only users set up, and their classes, are decoded from the options' bytes; their rates are in bytes
per second.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from tcptutor.agent.qdiscs.attributes import nested, plugins
from tcptutor.agent.qdiscs.netem import Netem
from tcptutor.agent.qdiscs.queues import TICK, Cake, Codel, Fq, FqCodel, Red, Tbf

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

Settings = dict[str, Any]
Reader = Callable[[bytes], Settings]

_HTB_GLOB, _HFSC_DEFAULT, _FIFO = struct.Struct("=5I"), struct.Struct("=H"), struct.Struct("=I")
_HTB_OPT, _CURVE, _CBS = struct.Struct("=2xHhHI2xHhHI5I"), struct.Struct("=3I"), struct.Struct("=B3x4i")
_PRIO = struct.Struct("=i16s")
_HTB_PARMS, _HTB_INIT, _HTB_DIRECT, _HTB_RATE64, _HTB_CEIL64 = 1, 2, 5, 6, 7
_HFSC_RSC, _HFSC_FSC, _HFSC_USC = 1, 2, 3
_ETS_BANDS, _ETS_PRIOMAP = 1, 5
_HEADER = 4
"""Bytes of an attribute's header."""
_CBS_PARMS = 1


def register() -> None:
    """Register these qdiscs with pyroute2; safe to call twice."""
    plugins.update(KINDS)


def settings(kind: str, options: bytes) -> dict[str, Any]:
    """Decode the options of a discipline that only users set up; empty for an unknown kind."""
    return _read(DISCIPLINES.get(kind), options)


def class_settings(kind: str, options: bytes) -> dict[str, Any]:
    """Decode the options of a class; empty for an unknown kind."""
    return _read(CLASSES.get(kind), options)


def _read(reader: Reader | None, options: bytes) -> dict[str, Any]:
    try:
        return reader(options) if reader is not None else {}
    except (struct.error, KeyError):
        return {}


def _number(data: bytes | None) -> int:
    return int.from_bytes(data or b"", "little")


def htb(options: bytes) -> Settings:
    """Decode htb: `default` is the minor number of the default class; `limit` the packets of its direct queue."""
    attributes = nested(options)
    settings = {"default": _HTB_GLOB.unpack_from(attributes[_HTB_INIT])[2]}
    return settings | ({"limit": _number(attributes[_HTB_DIRECT])} if _HTB_DIRECT in attributes else {})


def hfsc(options: bytes) -> Settings:
    """Decode hfsc: `default` is the minor number of the default class."""
    return {"default": _HFSC_DEFAULT.unpack_from(options)[0]}


def prio(options: bytes) -> Settings:
    """Decode prio and pfifo_fast: `default` is the class of packets with the priority 0."""
    bands, band_of = _PRIO.unpack_from(options)
    return {"bands": bands, "default": band_of[0] + 1}


def ets(options: bytes) -> Settings:
    """Decode ets: `default` is the class of packets with the priority 0."""
    attributes = nested(options)
    bands = _number(attributes.get(_ETS_BANDS))
    # The bands of the priorities, from priority 0 on, are attributes of one byte.
    band_of = attributes.get(_ETS_PRIOMAP, b"")[_HEADER : _HEADER + 1]
    return {"bands": bands, "default": (band_of[0] if band_of else bands - 1) + 1}


def no_default(_options: bytes) -> Settings:
    """Decode drr and qfq, which drop a packet that no filter classifies."""
    return {}


def fifo(options: bytes) -> Settings:
    """Decode a fifo: `limit` in packets, for bfifo in bytes."""
    return {"limit": _FIFO.unpack_from(options)[0]} if len(options) >= _FIFO.size else {}


def cbs(options: bytes) -> Settings:
    """Decode cbs: `rate` is the slope at which credit grows while the class is idle."""
    idle_kbit = _CBS.unpack_from(nested(options)[_CBS_PARMS])[3]
    return {"rate": idle_kbit * 125}


DISCIPLINES: dict[str, Reader] = {
    "htb": htb, "hfsc": hfsc, "prio": prio, "ets": ets, "drr": no_default, "qfq": no_default, "cbs": cbs,
    "pfifo": fifo, "bfifo": fifo, "pfifo_head_drop": fifo, "pfifo_fast": prio,
}  # fmt: skip


def htb_class(options: bytes) -> Settings:
    """Decode an htb class: `rate` is its own, `ceil` includes borrowed bandwidth; `burst` in bytes."""
    attributes = nested(options)
    *_, rate, _, _, _, ceil, buffer, _, _, _, _ = _HTB_OPT.unpack_from(attributes[_HTB_PARMS])
    rate = _number(attributes.get(_HTB_RATE64)) or rate
    ceil = _number(attributes.get(_HTB_CEIL64)) or ceil
    return {"rate": rate, "ceil": ceil, "burst": round(rate * buffer * TICK)}


def hfsc_class(options: bytes) -> Settings:
    """Decode the long-term rates of an hfsc class: `real_time` guaranteed, `link_share` shared, `upper` the maximum."""
    attributes = nested(options)
    names = {"real_time": _HFSC_RSC, "link_share": _HFSC_FSC, "upper": _HFSC_USC}
    return {
        name: _CURVE.unpack_from(attributes[kind])[2] for name, kind in names.items() if kind in attributes
    }


CLASSES: dict[str, Reader] = {
    "htb": htb_class, "hfsc": hfsc_class, "prio": no_default, "ets": no_default, "drr": no_default, "qfq": no_default,
}  # fmt: skip
