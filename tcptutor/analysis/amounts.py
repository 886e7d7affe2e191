"""Flows that send a fixed amount and end: how long they take, and what that makes of the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcptutor import theory, units
from tcptutor.analysis.candidate import Candidate
from tcptutor.analysis.case import Case

COMPLETION_ERROR = 0.15
"""Handshake, the last acknowledgement's delay, and how slow start meets the queue."""

LOSSY_ERROR = 0.3
"""Reno's mean; one transfer has a few losses or none."""


def completions(case: Case, believed: Sequence[Candidate]) -> tuple[float, ...]:
    """Seconds that each flow takes from its start, by slow start and then the least of its limits; empty for none.

    A link is shared as if all flows went on to the end, which the last of them to begin does not feel.
    """
    size = case.experiment.flows.bytes
    if size is None:
        return ()
    found: dict[tuple[float, float | None, float], float] = {}
    times = []
    for place, flow in enumerate(case.flows):
        # What a loss model says comes after the first loss: completion_time has it, by Reno's.
        own = [one.each[place] for one in believed if one.each and one.limited_by != "random-loss"]
        if case.room is not None:
            own.append(case.room / case.number)
        rate = min(own, default=None)
        loss = 0.0 if flow.algorithm == "bbr" else case.loss_rate
        key = (flow.rtt, rate, loss)
        if key not in found:
            found[key] = theory.completion_time(
                size, case.mss, flow.rtt, rate, loss=loss, rto=case.given_rto or None
            )
        times.append(found[key])
    return tuple(times)


def amount_candidate(case: Case, believed: Sequence[Candidate]) -> tuple[Candidate | None, float | None]:
    """The mean over the time until the last flow has sent all, and how long the slowest one takes, s.

    The candidate is the best only if all flows finish before the run ends.
    """
    times = completions(case, believed)
    size = case.experiment.flows.bytes
    if not times or size is None:
        return None, None
    slowest = max(times)
    starts = [flow.start for flow in case.flows]
    ends = [start + took for start, took in zip(starts, times, strict=True)]
    span = max(ends) - min(starts)
    total = 8 * size * case.number / span
    finished = max(ends) <= case.experiment.seconds and case.experiment.flows.warmup < max(ends)
    error = COMPLETION_ERROR if case.loss_rate == 0 else math.hypot(COMPLETION_ERROR, LOSSY_ERROR)
    if case.experiment.flows.warmup > 0:
        error += 0.2  # the part of it that the warm-up takes away is the slow one
    steady = min(believed, key=lambda one: one.throughput)
    return (
        Candidate(
            model="completion",
            label=f"{case.times}{units.size(size)}",
            throughput=total,
            formula=f"{case.times}{units.size(size)} / {units.seconds(span)}",
            sure={"model": error},
            # Most of a short transfer is slow start.
            limited_by=steady.limited_by if total > steady.throughput / 2 else "growing",
            best=finished,
            each=tuple(8 * size / took for took in times),
        ),
        slowest,
    )
