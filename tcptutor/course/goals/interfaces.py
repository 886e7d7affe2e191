"""What each interface of the lab does to packets, read from what a session reports; where each of them is.

One pair: s1-eth1 faces h1, s1-eth2 faces s2. Several: s1-eth1 faces s2. A qdisc acts on what leaves its interface.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tcptutor.wire.kernel_state import InterfaceState, QdiscSettings, SessionState

_NAME = re.compile(r"(?P<node>[hs])(?P<number>\d)-eth(?P<port>\d)")
_BY_RATE = ("netem", "tbf", "htb", "hfsc", "cake", "cbs")
"""Kinds that hold a rate: tell it of a discipline, or of a class in it."""
_BY_NETEM = ("delay", "jitter", "loss", "duplicate", "reorder")
"""Quantities of a path that netem makes; its settings have the same names."""


def bottleneck(pairs: int) -> str:
    """The interface on which the manuals shape the data's way: that of s1 that faces s2."""
    return "s1-eth2" if pairs == 1 else "s1-eth1"


def carries_data(name: str, pairs: int) -> bool:
    """Whether what leaves by that interface goes from a sender (h1, h3 ...) to its receiver; else it goes back."""
    match = _NAME.fullmatch(name)
    if match is None:
        return False  # a bridge's own: nothing of a flow leaves there
    if match["node"] == "h":
        return int(match["number"]) % 2 == 1
    faces_the_other = name in (bottleneck(pairs), "s2-eth1")
    return faces_the_other == (match["number"] == "1")


def is_on_path(name: str) -> bool:
    """Whether packets of a flow leave there: not by a bridge's own interface."""
    return _NAME.fullmatch(name) is not None


def chain(state: SessionState, name: str) -> tuple[QdiscSettings, ...]:
    """The disciplines of that interface, from the root down."""
    return next((one.qdiscs for one in state.interfaces if one.name == name), ())


def made(qdiscs: tuple[QdiscSettings, ...], quantity: str) -> Iterator[float]:
    """What each of them makes of a path's quantity, in base units; nothing of one that leaves it alone."""
    for one in qdiscs:
        if quantity in _BY_NETEM and one.kind == "netem" and one.settings.get(quantity):
            yield float(one.settings[quantity])
        elif quantity == "rate" and one.kind in _BY_RATE:
            if held := one.settings.get("rate", one.settings.get("upper")):
                yield float(held)
        elif quantity == "queue" and one.kind == "tbf":
            yield float(one.settings["limit"])


def makers(state: SessionState, quantity: str, data: bool) -> list[tuple[str, float]]:
    """Interfaces that make something of it on the data's way, or on the way back, with how much; one may be twice."""
    pairs = state_pairs(state)
    return [
        (one.name, value)
        for one in state.interfaces
        if is_on_path(one.name) and carries_data(one.name, pairs) is data
        for value in made(one.qdiscs, quantity)
    ]


def state_pairs(state: SessionState) -> int:
    """Host pairs of the lab: those of the interfaces that are told."""
    return max(1, sum(one.name.startswith("h") for one in state.interfaces) // 2)


def changed(before: SessionState, now: SessionState) -> list[InterfaceState]:
    """Interfaces with other disciplines than before, as they are now."""
    return [one for one in now.interfaces if one.qdiscs != chain(before, one.name)]
