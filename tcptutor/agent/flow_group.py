"""Groups of simultaneous flows: hosts, ports, and the steps from setup to the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tcptutor.agent.netlink import Address
from tcptutor.agent.network import Host, Network
from tcptutor.spec import Experiment

PORT = 5201
"""Port of the first group's receiver; other groups use the following ports."""
RUN_AGAIN = "run the experiment again"
"""Remedy when flows fail for no reason of the experiment."""


@dataclass
class Group(ABC):
    """Flows with equal settings between two hosts.

    Call `prepare`, `connect` and `send` in that order, and `stop` in any case.
    """

    network: Network
    experiment: Experiment
    number: int
    pair: int
    sender: Host
    receiver: Host
    start: float
    """Start time, s after the traffic began."""
    first_port: int
    """First of the flows' source ports, which are consecutive."""
    flows: tuple[int, ...] = ()
    """Numbers of the TCP flows; empty for UDP."""
    end: float | None = None
    """When the flows are closed, s after the traffic began; None for the end of the run."""
    udp_streams: int = 0
    remedy: str = RUN_AGAIN
    """Advice for the case that the flows fail."""

    @property
    def port(self) -> int:
        return PORT + self.number

    @property
    def addresses(self) -> list[tuple[int, Address]]:
        """Number and connection of each TCP flow."""
        return [
            (number, Address(self.sender.address, self.first_port + place, self.receiver.address, self.port))
            for place, number in enumerate(self.flows)
        ]

    @abstractmethod
    def prepare(self) -> None:
        """Begin to prepare both ends for connections. Raises LabError."""

    @property
    @abstractmethod
    def prepared(self) -> bool:
        """True once the receiver accepts connections. Raises LabError if it never will."""

    @abstractmethod
    def connect(self) -> None:
        """Begin to connect all flows. Raises LabError."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """True once all flows are connected."""

    @abstractmethod
    def send(self) -> None:
        """Let the flows send as soon as they are connected."""

    @property
    @abstractmethod
    def ended(self) -> bool:
        """True once the flows have started and none sends any more."""

    @property
    @abstractmethod
    def failure(self) -> str:
        """Unexpected end of a flow, in a line with advice; empty for none."""

    @abstractmethod
    def stop(self) -> None:
        """Release everything and stop running programs; safe to call twice."""
