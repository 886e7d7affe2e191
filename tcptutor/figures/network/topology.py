"""Names of the interfaces of a lab network: h1 ... h8 around the switches s1 and s2."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.spec import bottleneck_interface

MAX_PAIRS = 4


class PairPorts(NamedTuple):
    """Interfaces of a host pair, along the path of the data."""

    sender: str
    entry: str
    """Port of s1 that faces the sender."""
    exit: str
    """Port of s2 that faces the receiver."""
    receiver: str


def pair_ports(pair: int, pairs: int) -> PairPorts:
    """Return the interfaces of pair number `pair`, from 0 on."""
    # A lone pair takes the first port of s1 and the second of s2; several follow the link between the switches.
    entry, exit_ = ("s1-eth1", "s2-eth2") if pairs == 1 else (f"s1-eth{pair + 2}", f"s2-eth{pair + 2}")
    return PairPorts(f"h{2 * pair + 1}-eth0", entry, exit_, f"h{2 * pair + 2}-eth0")


def link_ports(pairs: int) -> tuple[str, str]:
    """Return the interfaces of s1 and s2 that face each other."""
    return bottleneck_interface(pairs), "s2-eth1"
