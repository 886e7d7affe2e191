"""Disciplines that only somebody's hands set up: what the kernel tells of them and of their classes, read with structs.

Structures and attribute numbers: linux/pkt_sched.h. Rates are in bytes per second, as in the rest of this folder.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from tcptutor.agent.qdiscs.attributes import nested
from tcptutor.agent.qdiscs.shapers import TICK

Settings = dict[str, Any]
Reader = Callable[[bytes], Settings]

_HTB_GLOB, _HFSC_DEFAULT, _FIFO = struct.Struct("=5I"), struct.Struct("=H"), struct.Struct("=I")
_HTB_OPT, _CURVE, _CBS = struct.Struct("=2xHhHI2xHhHI5I"), struct.Struct("=3I"), struct.Struct("=B3x4i")
_PRIO = struct.Struct("=i16s")
_HTB_PARMS, _HTB_INIT, _HTB_DIRECT, _HTB_RATE64, _HTB_CEIL64 = 1, 2, 5, 6, 7
_HFSC_RSC, _HFSC_FSC, _HFSC_USC = 1, 2, 3
_ETS_BANDS, _ETS_PRIOMAP = 1, 5
_HEADER = 4
"""Bytes of an attribute before its payload."""
_CBS_PARMS = 1


def _number(data: bytes | None) -> int:
    return int.from_bytes(data or b"", "little")


def htb(options: bytes) -> Settings:
    """`default`: the minor number of the class for packets that no filter names; `limit` in packets of a class's own
    queue."""
    found = nested(options)
    settings = {"default": _HTB_GLOB.unpack_from(found[_HTB_INIT])[2]}
    return settings | ({"limit": _number(found[_HTB_DIRECT])} if _HTB_DIRECT in found else {})


def hfsc(options: bytes) -> Settings:
    return {"default": _HFSC_DEFAULT.unpack_from(options)[0]}


def prio(options: bytes) -> Settings:
    """`default`: the class of ordinary packets, whose priority is 0."""
    bands, band_of = _PRIO.unpack_from(options)
    return {"bands": bands, "default": band_of[0] + 1}


def ets(options: bytes) -> Settings:
    found = nested(options)
    bands = _number(found.get(_ETS_BANDS))
    # A band for each priority, as attributes of one byte, from priority 0 on.
    band_of = found.get(_ETS_PRIOMAP, b"")[_HEADER : _HEADER + 1]
    return {"bands": bands, "default": (band_of[0] if band_of else bands - 1) + 1}


def no_default(_options: bytes) -> Settings:
    """drr and qfq: a packet that no filter names is dropped."""
    return {}


def fifo(options: bytes) -> Settings:
    """`limit` in packets, but of bfifo in bytes."""
    return {"limit": _FIFO.unpack_from(options)[0]} if len(options) >= _FIFO.size else {}


def cbs(options: bytes) -> Settings:
    """`rate` is the slope at which credit grows while nothing is sent."""
    idle_kbit = _CBS.unpack_from(nested(options)[_CBS_PARMS])[3]
    return {"rate": idle_kbit * 125}


DISCIPLINES: dict[str, Reader] = {
    "htb": htb, "hfsc": hfsc, "prio": prio, "ets": ets, "drr": no_default, "qfq": no_default, "cbs": cbs,
    "pfifo": fifo, "bfifo": fifo, "pfifo_head_drop": fifo, "pfifo_fast": prio,
}  # fmt: skip
"""By kind: what the options of a discipline say."""


def htb_class(options: bytes) -> Settings:
    """`rate` is the class's own, `ceil` that with what it borrows; `burst` in bytes."""
    found = nested(options)
    *_, rate, _, _, _, ceil, buffer, _, _, _, _ = _HTB_OPT.unpack_from(found[_HTB_PARMS])
    rate = _number(found.get(_HTB_RATE64)) or rate
    ceil = _number(found.get(_HTB_CEIL64)) or ceil
    return {"rate": rate, "ceil": ceil, "burst": round(rate * buffer * TICK)}


def hfsc_class(options: bytes) -> Settings:
    """In the long run: `real_time` is promised, `link_share` shares what is left, `upper` bounds both."""
    found = nested(options)
    names = {"real_time": _HFSC_RSC, "link_share": _HFSC_FSC, "upper": _HFSC_USC}
    return {name: _CURVE.unpack_from(found[kind])[2] for name, kind in names.items() if kind in found}


CLASSES: dict[str, Reader] = {
    "htb": htb_class, "hfsc": hfsc_class, "prio": no_default, "ets": no_default, "drr": no_default, "qfq": no_default,
}  # fmt: skip
"""By kind: what the options of one of its classes say."""
