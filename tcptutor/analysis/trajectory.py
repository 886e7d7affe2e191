"""The window over time that the models expect of an experiment, for its chart."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from tcptutor import theory
from tcptutor.analysis.case import Case, case_of
from tcptutor.analysis.limits import in_flight, paced
from tcptutor.analysis.model import Course
from tcptutor.analysis.queues import buffer
from tcptutor.spec import Experiment

MOST_POINTS = 500
"""Of one flow: a chart is not wider."""

MOST_ROUNDS = 5000
"""Round trips of all flows together that are played; some 30 ms."""


def courses(experiment: Experiment, mss: int | None = None) -> tuple[Course, ...]:
    """(s, segments) of each flow, by `theory.trajectories` with losses at even distances; () where it has no law.

    It has none for other algorithms than Reno, CUBIC, H-TCP, HighSpeed and BBR, for a path that changes while the flows
    go on, since a trajectory has one bottleneck, for flows both ways, and it is not computed where so many round
    trips go by that a chart would show a band. Like flows that start together are drawn as one that has its part
    of link and queue, when all of them would take too long to compute.
    """
    whole = case_of(experiment, mss)
    if not whole.flows or not whole.algorithms <= set(theory.LAWS):
        return ()
    if experiment.path.changes or len(_ways(experiment)) > 1:
        return ()
    case = replace(whole, backward=True) if True in _ways(experiment) else whole
    if case.rate is None and in_flight(case) is None and case.loss_rate == 0:
        return ()  # slow start without end
    seconds = experiment.seconds
    rounds = seconds / case.rtt
    alike = len({(flow.algorithm, flow.rtt, flow.start) for flow in case.flows}) == 1
    if rounds * case.number <= MOST_ROUNDS:
        found = _play(case, tuple(range(case.number)), 1)
    elif alike and rounds <= MOST_ROUNDS:
        found = _play(case, (0,), case.number) * case.number
    else:
        return ()
    return tuple(thinned(points) for points in found)


def _ways(experiment: Experiment) -> set[bool]:
    return {experiment.reversed(flow) for flow in range(experiment.total_streams)}


def _play(case: Case, flows: tuple[int, ...], parts: int) -> tuple[list[tuple[float, float]], ...]:
    room = case.room
    path = theory.Bottleneck(
        rate=None if room is None else room / parts,
        rtt=case.rtt,
        queue=buffer(case) * case.ratio / parts,
        mss=case.mss,
    )
    sources = [
        theory.Source(
            algorithm=flow.algorithm,
            start=flow.start,
            loss=0.0 if flow.algorithm == "bbr" else min(1.0, case.loss_rate),
            rtt=flow.rtt,
            window=_window(case, flow.rtt),
        )
        for flow in (case.flows[place] for place in flows)
    ]
    made = theory.trajectories(path, sources, case.experiment.seconds)
    return tuple(_points(one, case) for one in made)


def _in_slow_start(trajectory: theory.Trajectory, place: int) -> float:
    """The kernel's cwnd where a window or pacing holds the flow back before its first loss, segments.

    The model's window is what is in flight. In slow start Linux lets cwnd grow to twice that (tcp_is_cwnd_limited).
    """
    source, cwnd = trajectory.source, trajectory.cwnd[place]
    lost = trajectory.losses and trajectory.t[place] >= trajectory.losses[0]
    if source.window is None or cwnd < source.window or lost or source.algorithm == "bbr":
        return cwnd
    rounds = (trajectory.t[place] - source.start) / (source.rtt or trajectory.rtt[place])
    grown = source.initial * 2 ** min(rounds, 40.0)
    return max(source.initial, min(2 * source.window, grown))


def _window(case: Case, rtt: float) -> float | None:
    """What windows and pacing let a flow have in flight, segments."""
    limits = [size / case.mss for size in [in_flight(case)] if size is not None]
    if (rate := paced(case)) is not None:
        limits.append(rate * rtt / 8 / case.mss)
    return max(1.0, min(limits)) if limits else None


def _points(trajectory: theory.Trajectory, case: Case) -> list[tuple[float, float]]:
    """Up to where a fixed amount has been sent."""
    # Rounded, so that flows which are alike are equal.
    pairs = [
        (round(t, 6), round(_in_slow_start(trajectory, place), 3)) for place, t in enumerate(trajectory.t)
    ]
    size = case.experiment.flows.bytes
    if size is None:
        return pairs
    sent = 0.0
    for index, (before, after) in enumerate(pairwise(range(len(pairs)))):
        span = trajectory.t[after] - trajectory.t[before]
        sent += (trajectory.throughput[before] + trajectory.throughput[after]) / 16 * span
        if sent >= size:
            return pairs[: index + 2]
    return pairs


def thinned(points: list[tuple[float, float]], most: int = MOST_POINTS) -> Course:
    """At most `most` of them that look the same: lowest and highest of each column, in order of time."""
    if len(points) <= most:
        return tuple(points)
    start, span = points[0][0], points[-1][0] - points[0][0]
    columns = (most - 2) // 2
    by_column: dict[int, list[int]] = {}
    for index, (t, _) in enumerate(points):
        by_column.setdefault(min(columns - 1, int((t - start) / span * columns)), []).append(index)
    kept = {0, len(points) - 1}
    for column in by_column.values():
        kept.add(min(column, key=lambda index: points[index][1]))
        kept.add(max(column, key=lambda index: points[index][1]))
    return tuple(points[index] for index in sorted(kept))
