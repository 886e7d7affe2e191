"""View of the lab at a moment: interfaces and their qdiscs, kernel state, and a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tcptutor.course.goals.lab_run import LabRun
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import HostState, InterfaceState, QdiscSettings, SessionState

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


ALGORITHM = "tcp_congestion_control"
"""Sysctl that sets the algorithm of new connections."""


class LabView(NamedTuple):
    """Everything a goal is judged by. `run` is None for goals about the current state of the lab."""

    state: SessionState
    """Kernel state; with a run, the state at its start."""
    start: SessionState
    """Kernel state at the start of the page."""
    before: Mapping[tuple[str, str], str] = {}
    """Original values of changed sysctls, by host and name, as reported by sessions."""
    run: LabRun | None = None
    changed: Mapping[str, HostState] = {}
    """Hosts at the last change of the network, by name: the start of their counters."""

    @property
    def experiment(self) -> Experiment:
        """Experiment of the run, with the flows' actual settings, or of the current state."""
        return self.state.experiment if self.run is None else self.run.experiment

    @property
    def pairs(self) -> int:
        return state_pairs(self.start)

    @property
    def bottleneck(self) -> str:
        """Interface the manuals shape for data."""
        return bottleneck(self.pairs)

    @property
    def hosts(self) -> tuple[str, ...]:
        """End hosts."""
        return tuple(f"h{number}" for number in range(1, 2 * self.pairs + 1))

    @property
    def senders(self) -> tuple[str, ...]:
        """Hosts that send to the host after them."""
        return self.hosts[::2]

    def sysctl(self, host: str, name: str) -> str | None:
        """Return a sysctl's value; None if it is unreported, unchanged and not set by the page."""
        found = {(one.name, key): value for one in self.state.hosts for key, value in one.sysctls.items()}
        found |= {(one.host, one.name): one.now for one in self.state.sysctls}
        asked = self.start.experiment.hosts.sysctls.get(name)
        return found.get((host, name), self.before.get((host, name), asked))


SYSCTL = re.compile(r"sysctl\.(?:(?P<host>[hs]\d)\.)?(?P<name>tcp_[a-z0-9_]{1,60}|ip_forward|[rw]mem_max)")


class GoalQuantity(NamedTuple):
    """Quantity of the lab or of a run."""

    name: str
    kind: str
    """units.Kind, `algorithm`, `sysctl` or `address`."""
    value: Callable[[LabView], Any]
    """Value in base units, or None; a tuple for several hosts."""
    choices: tuple[str, ...] = ()
    about_run: bool = False
    at_end: bool = False
    """True if only a finished run has it."""
    host: str = ""
    """Host of a sysctl; empty for all hosts and for other quantities."""

    @property
    def sysctl(self) -> str:
        """Name of the sysctl behind the quantity, or empty."""
        found = SYSCTL.fullmatch(self.name)
        return found["name"] if found else ALGORITHM if self.name == "hosts.algorithm" else ""
