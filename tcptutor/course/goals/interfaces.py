"""Interfaces of the lab: their place on the path, and the effects of their qdiscs.

One pair: s1-eth1 faces h1, s1-eth2 faces s2. Several pairs: s1-eth1 faces s2. A qdisc acts on packets that
leave its interface.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tcptutor.wire.kernel_state import InterfaceState, QdiscSettings, SessionState

_NAME = re.compile(r"(?P<node>[hs])(?P<number>\d)-eth(?P<port>\d)")
_BY_RATE = ("netem", "tbf", "htb", "hfsc", "cake", "cbs")
"""Qdiscs that enforce a rate, of the qdisc or of a class."""
_BY_NETEM = ("delay", "jitter", "loss", "duplicate", "reorder")
"""Path quantities caused by netem; its settings have the same names."""


def bottleneck(pairs: int) -> str:
    """Return the interface the manuals shape for data: that of s1 which faces s2."""
    return "s1-eth2" if pairs == 1 else "s1-eth1"


def carries_data(name: str, pairs: int) -> bool:
    """Return True if packets leaving the interface travel from a sender (h1, h3 ...) to its receiver."""
    match = _NAME.fullmatch(name)
    if match is None:
        return False  # a bridge's own interface, which flows do not use
    if match["node"] == "h":
        return int(match["number"]) % 2 == 1
    faces_the_other = name in (bottleneck(pairs), "s2-eth1")
    return faces_the_other == (match["number"] == "1")


def is_on_path(name: str) -> bool:
    """Return True unless it is a bridge's own interface, which flows do not use."""
    return _NAME.fullmatch(name) is not None


def chain(state: SessionState, name: str) -> tuple[QdiscSettings, ...]:
    """Return the qdiscs of the interface, from the root down."""
    return next((one.qdiscs for one in state.interfaces if one.name == name), ())


def made(qdiscs: tuple[QdiscSettings, ...], quantity: str) -> Iterator[float]:
    """Yield each qdisc's contribution to a path quantity, in base units."""
    for one in qdiscs:
        if quantity in _BY_NETEM and one.kind == "netem" and one.settings.get(quantity):
            yield float(one.settings[quantity])
        elif quantity == "rate" and one.kind in _BY_RATE:
            if held := one.settings.get("rate", one.settings.get("upper")):
                yield float(held)
        elif quantity == "queue" and one.kind == "tbf":
            yield float(one.settings["limit"])


def makers(state: SessionState, quantity: str, data: bool) -> list[tuple[str, float]]:
    """Return the interfaces contributing to a quantity on the data or reverse path, with the amounts.

    An interface with several qdiscs may appear more than once.
    """
    pairs = state_pairs(state)
    return [
        (one.name, value)
        for one in state.interfaces
        if is_on_path(one.name) and carries_data(one.name, pairs) is data
        for value in made(one.qdiscs, quantity)
    ]


def state_pairs(state: SessionState) -> int:
    """Return the number of host pairs, counted by the reported interfaces."""
    return max(1, sum(one.name.startswith("h") for one in state.interfaces) // 2)


def changed(before: SessionState, now: SessionState) -> list[InterfaceState]:
    """Return the interfaces with changed qdiscs, in their current state."""
    return [one for one in now.interfaces if one.qdiscs != chain(before, one.name)]
