"""The mean congestion window that goes with an expected throughput, and how long a flow takes to get there."""

from __future__ import annotations

import math

from tcptutor import theory
from tcptutor.analysis.candidate import Candidate
from tcptutor.analysis.case import Case
from tcptutor.analysis.queues import buffer

_BESIDE_THE_WINDOW = frozenset({"receive-window", "send-buffer", "pacing", "application"})
"""Limits that keep what is in flight below the congestion window, which then says nothing."""


def mean_window(case: Case, binding: Candidate, near: list[Candidate]) -> float | None:
    """Segments of one flow: given by loss models, by a sawtooth over a full link, and by BBR; None elsewhere."""
    if not case.flows or case.down or len(case.kinds) > 1:
        return None
    if binding.limited_by == "random-loss":
        return binding.throughput * case.rtt / (8 * case.mss * case.number)
    if any(one.limited_by in _BESIDE_THE_WINDOW for one in near) or binding.limited_by != "bottleneck":
        return None
    return _over_a_full_link(case, case.room) if case.room is not None else None


def _over_a_full_link(case: Case, room: float) -> float | None:
    if case.algorithm == "bbr":
        return theory.bbr_window(room / case.number, case.rtt, case.mss)
    product = room * case.rtt / 8
    held = buffer(case) * case.ratio
    mean = {"reno": theory.sawtooth_mean(held / product), "cubic": theory.CUBIC_MEAN}.get(case.algorithm)
    if mean is None or case.loss_rate > 0:
        return None
    # Flows take turns in losing: at each moment about one of them is below its peak.
    return (1 - (1 - mean) / case.number) * (product + held) / (case.mss * case.number)


def unsettled(case: Case, throughput: float) -> float:
    """Share of the measured mean that a flow's start takes at most: slow start, and CUBIC's way on from HyStart.

    throughput: where it settles, of all flows, bit/s. What is sent meanwhile is counted; 0 when the warm-up is longer.
    """
    flows = case.experiment.flows
    settled = max(0.0, flows.warmup - min((flow.start for flow in case.flows), default=0.0))
    window = throughput / max(1, case.number) * case.rtt / 8 / case.mss
    if window <= 0:
        return 0.0
    begin = theory.slow_start_duration(window, case.rtt)
    missing = 0.0
    if settled < begin:
        sent = case.rtt / math.log(2) * (1 - 2 ** ((settled - begin) / case.rtt))
        missing = begin - settled - sent
    if case.algorithm == "cubic" and window > theory.INITIAL_WINDOW:
        missing += _after_hystart(window, max(0.0, settled - begin))
    return min(1.0, missing / flows.duration)


def start_seconds(case: Case, throughput: float) -> float:
    """How long a flow takes to its part of `throughput` bit/s, s: slow start, for CUBIC also what follows HyStart."""
    window = throughput / max(1, case.number) * case.rtt / 8 / case.mss
    begin = theory.slow_start_duration(max(window, 1e-9), case.rtt)
    later = math.cbrt(window / 2 / theory.CUBIC_C) if case.algorithm == "cubic" else 0.0
    return begin + (later if window > theory.INITIAL_WINDOW else 0.0)


def _after_hystart(window: float, settled: float) -> float:
    """Seconds' worth of the rate that is missing when CUBIC leaves slow start at half of `window` and goes on by t³."""
    until = math.cbrt(window / 2 / theory.CUBIC_C)
    if settled >= until:
        return 0.0
    return (until - settled) / 2 - theory.CUBIC_C / 4 * (until**4 - settled**4) / window
