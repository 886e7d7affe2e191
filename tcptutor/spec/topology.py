"""Hosts, switches and interfaces of the lab's network, by its number of pairs and its bottlenecks.

Odd hosts send to the next even host. With one bottleneck, senders are at switch s1 and receivers at s2; with two, a
third switch s3 follows, and each pair crosses the first link, the second, or both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Crossing = Literal["both", "first", "second"]
CROSSINGS: tuple[Crossing, ...] = ("both", "first", "second")
"""Links that a pair may cross, in a network with two bottlenecks."""


LINKS_OF: Mapping[Crossing, tuple[int, ...]] = {"both": (0, 1), "first": (0,), "second": (1,)}
"""Numbers of the bottlenecks on each of these ways, from 0."""


def link_name(link: int) -> str:
    """Return the name of a bottleneck, by the switches at its ends: "s1 to s2"."""
    return f"s{link + 1} to s{link + 2}"


class Topology(NamedTuple):
    """The lab's network: its pairs, and with two bottlenecks the links that each pair crosses."""

    pairs: int = 1
    crossings: tuple[Crossing, ...] = ()
    """An entry per pair; empty for a single bottleneck."""

    @property
    def has_second(self) -> bool:
        """Return whether there is a second bottleneck."""
        return bool(self.crossings)

    @property
    def switches(self) -> tuple[str, ...]:
        return ("s1", "s2", "s3") if self.has_second else ("s1", "s2")

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"h{number}" for number in range(1, 2 * self.pairs + 1))

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Return both ends of each link between switches, from the senders on."""
        if self.has_second:
            return ("s1-eth1", "s2-eth1"), ("s2-eth2", "s3-eth1")
        return ((bottleneck_interface(self.pairs), "s2-eth1"),)

    def sender_port(self, pair: int) -> str:
        """Return the switch's interface that faces the sender of `pair`."""
        if self.has_second:
            return f"{'s2' if self.crossings[pair] == 'second' else 's1'}-eth{pair + 3}"
        return "s1-eth1" if self.pairs == 1 else f"s1-eth{pair + 2}"

    def receiver_port(self, pair: int) -> str:
        """Return the switch's interface that faces the receiver of `pair`."""
        if self.has_second:
            return f"{'s2' if self.crossings[pair] == 'first' else 's3'}-eth{pair + 3}"
        return "s2-eth2" if self.pairs == 1 else f"s2-eth{pair + 2}"

    @property
    def interfaces(self) -> tuple[str, ...]:
        """Return every interface on the path of packets, hosts first."""
        hosts = (f"{host}-eth0" for host in self.hosts)
        links = {end for link in self.links for end in link}
        access = {port(pair) for pair in range(self.pairs) for port in (self.sender_port, self.receiver_port)}
        return (*hosts, *sorted(links | access))


def host_names(pairs: int) -> tuple[str, ...]:
    """Return the hosts and switches of a lab with `pairs` pairs and one bottleneck."""
    topology = Topology(pairs)
    return (*topology.hosts, *topology.switches)


def interface_names(pairs: int) -> tuple[str, ...]:
    """Return every interface of a lab with `pairs` pairs and one bottleneck, hosts first."""
    return Topology(pairs).interfaces


def bottleneck_interface(pairs: int) -> str:
    """Return the interface of s1 that faces s2 in a lab with `pairs` pairs: it shapes the data."""
    return "s1-eth2" if pairs == 1 else "s1-eth1"
