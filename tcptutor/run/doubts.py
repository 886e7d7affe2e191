"""Reasons for doubt of a run, as they are collected."""

from __future__ import annotations

from dataclasses import dataclass, field

from tcptutor.run import Fidelity, Status
from tcptutor.spec import ETHERNET_HEADER, HEADERS, Experiment


@dataclass
class Doubts:
    """Of a run of `experiment`; `verdict` is their sum."""

    experiment: Experiment
    checks: dict[str, float | int | str | bool] = field(default_factory=dict)
    suspect: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)

    @property
    def frame(self) -> int:
        """Bytes of a full segment on the link."""
        hosts = self.experiment.hosts
        # TCP's options are a part of the MSS that an application sets.
        packet = hosts.mtu if hosts.mss is None else min(hosts.mtu, hosts.mss + HEADERS)
        return packet + ETHERNET_HEADER

    def verdict(self) -> Fidelity:
        """The sum of it: valid only where something was looked at."""
        status: Status = "valid" if self.checks else "unchecked"
        if self.suspect or self.invalid:
            status = "invalid" if self.invalid else "suspect"
        return Fidelity(status=status, reasons=(*self.invalid, *self.suspect), checks=self.checks)
