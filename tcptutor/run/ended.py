"""How a run ended: as the agent reports it, and with each flow's figures."""

from __future__ import annotations

import msgspec

from tcptutor.run.record import CapturedAt, Fidelity, FlowResult, UdpResult
from tcptutor.spec import Experiment


class TimerCounts(msgspec.Struct, frozen=True):
    """How well a run's samples kept to their times."""

    period: float
    """Between two samples, s."""
    longest_gap: float = 0.0
    """The longest time without a sample, s."""
    late: float = 0.0
    """The share of the timers that were late, 0 to 1."""
    missing: float = 0.0
    """The share of the samples that should have been taken until the last one and were not, 0 to 1."""
    mean_late: float = 0.0
    """The mean lateness of the timers, s."""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The run has ended, and so much the lab says of it; `backends.reading` makes Finished of it and of the samples."""

    experiment: Experiment
    """With every change that has happened."""
    flows: tuple[tuple[int, int], ...]
    """The number and the pair of each TCP flow."""
    seconds: float
    """Lab time of the traffic."""
    complete: bool
    """False for one that was cut short."""
    planned: bool
    """False for one whose flows somebody started by hand: then nobody can say which of them are missing."""
    timers: TimerCounts
    checks: dict[str, float | int | str | bool] = {}
    """What was looked at, and what it was."""
    suspect: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    trace_lost: int | None = None
    """ACKs that the trace lost; None without one."""
    udp: tuple[UdpResult, ...] = ()
    captured: tuple[CapturedAt, ...] = ()


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The run has ended."""

    flows: tuple[FlowResult, ...]
    fidelity: Fidelity
    seconds: float
    """Lab time of the traffic."""
    complete: bool = True
    udp: tuple[UdpResult, ...] = ()
    captured: tuple[CapturedAt, ...] = ()
