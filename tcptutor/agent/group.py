"""Flows that are sent together, whatever sends them: who, from which ports, and what happens to them in which order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tcptutor.agent.netlink import Address
from tcptutor.agent.network import Host, Network
from tcptutor.spec import Experiment

PORT = 5201
"""Where the first group's receiver waits for connections; those of others follow it."""
RUN_AGAIN = "run the experiment again"
"""What to do when flows fail for no reason of the experiment."""


@dataclass
class Group(ABC):
    """Flows between two hosts that differ in nothing.

    `prepare`, then `connect`, then `send`, and `stop` in the end, whatever came before.
    """

    network: Network
    experiment: Experiment
    number: int
    pair: int
    sender: Host
    receiver: Host
    start: float
    """Seconds after the traffic began."""
    first_port: int
    """Its flows' source ports are this one and those after it."""
    flows: tuple[int, ...] = ()
    """Numbers of its TCP flows; empty for UDP."""
    udp_streams: int = 0
    remedy: str = RUN_AGAIN
    """What to do when its flows fail."""

    @property
    def port(self) -> int:
        return PORT + self.number

    @property
    def addresses(self) -> list[tuple[int, Address]]:
        """Its TCP flows: their numbers and connections."""
        return [
            (number, Address(self.sender.address, self.first_port + place, self.receiver.address, self.port))
            for place, number in enumerate(self.flows)
        ]

    @abstractmethod
    def prepare(self) -> None:
        """Begin to make both ends ready to connect. Raises LabError."""

    @property
    @abstractmethod
    def prepared(self) -> bool:
        """Whether the receiver takes connections yet. Raises LabError when it never will."""

    @abstractmethod
    def connect(self) -> None:
        """Begin to connect all flows. Raises LabError."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether all flows are connected."""

    @abstractmethod
    def send(self) -> None:
        """Let the flows send as soon as they are connected."""

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether it has begun and no flow sends any more."""

    @property
    @abstractmethod
    def failure(self) -> str:
        """Why a flow ended that should not have, as one line with what to do; empty for none."""

    @abstractmethod
    def stop(self) -> None:
        """Let go of all that it has, and end what still runs; safe to call twice."""
