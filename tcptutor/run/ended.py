"""Structs for the end of a run: the agent's report, and the result with each flow's figures."""

from __future__ import annotations

import msgspec

from tcptutor.run.record import CapturedAt, Fidelity, FlowResult, UdpResult
from tcptutor.spec import Experiment


class TimerCounts(msgspec.Struct, frozen=True):
    """Punctuality of a run's samples."""

    period: float
    """Time between two samples, s."""
    longest_gap: float = 0.0
    """Longest time without a sample, s."""
    late: float = 0.0
    """Fraction of timers that were late, 0 to 1."""
    missing: float = 0.0
    """Fraction of samples missing before the last sample, 0 to 1."""
    mean_late: float = 0.0
    """Mean lateness of the timers, s."""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """End of a run as the agent reports it; `backends.agent_events` turns it and the samples into Finished."""

    experiment: Experiment
    """The experiment with every change that happened."""
    flows: tuple[tuple[int, int], ...]
    """Number and pair of each TCP flow."""
    seconds: float
    """Duration of the traffic on the lab's clock, s."""
    complete: bool
    """False if it was cut short."""
    planned: bool
    """False if a user started the flows by hand, so that missing flows cannot be detected."""
    timers: TimerCounts
    checks: dict[str, float | int | str | bool] = {}
    """Values that were checked, by name."""
    suspect: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    trace_lost: int | None = None
    """ACKs lost by the trace; None without a trace."""
    udp: tuple[UdpResult, ...] = ()
    captured: tuple[CapturedAt, ...] = ()


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """End of a run with its results."""

    flows: tuple[FlowResult, ...]
    fidelity: Fidelity
    seconds: float
    """Duration of the traffic on the lab's clock, s."""
    complete: bool = True
    udp: tuple[UdpResult, ...] = ()
    captured: tuple[CapturedAt, ...] = ()
