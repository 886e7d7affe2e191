"""Congestion window of a prediction: mean, start-up time, and trajectory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from tcptutor import theory
from tcptutor.analysis.case import Case, case_of
from tcptutor.analysis.expected.prediction import Candidate, WindowTrajectory
from tcptutor.spec import Experiment
from tcptutor.theory.models import ThroughputModel

MOST_POINTS = 500
"""Most points in a trajectory; no chart is wider."""

MAX_ROUNDS = 5000
"""Most simulated round trips over all flows, for about 30 ms."""

_BESIDE_THE_WINDOW = frozenset({"receive-window", "send-buffer", "pacing", "application"})
"""Limits that keep data in flight below cwnd, which is then meaningless."""


def mean_window(case: Case, binding: Candidate, near: list[Candidate]) -> float | None:
    """Return the mean cwnd of one flow, segments; None without a model for it.

    Loss models, a sawtooth on a full link, and BBR have one, for flows that write all the time without short flows.
    """
    queued = binding.model is ThroughputModel.MEETING and case.tcp_capacity is not None
    is_disturbed = bool(case.short_rate) or any(flow.pauses for flow in case.flows)
    if not case.flows or case.is_cut or len(case.kinds) > 1 or queued or is_disturbed:
        return None
    if binding.is_lossy:
        return binding.throughput * case.rtt / (8 * case.mss * case.flow_count)
    is_window_free = any(one.limited_by in _BESIDE_THE_WINDOW for one in near)
    if is_window_free or binding.limited_by != "bottleneck" or case.tcp_capacity is None:
        return None
    if case.algorithm == "bbr":
        return theory.bbr_window(case.tcp_capacity / case.flow_count, case.rtt, case.mss)
    product = case.tcp_capacity * case.rtt / 8
    held = case.buffer * case.payload_ratio
    mean = {"reno": theory.sawtooth_mean(held / product), "cubic": theory.CUBIC_MEAN}.get(case.algorithm)
    if mean is None or case.loss_rate > 0:
        return None
    # Flows lose in turn: at any time about one is below its peak.
    return (1 - (1 - mean) / case.flow_count) * (product + held) / (case.mss * case.flow_count)


def errors_with_start(case: Case, one: Candidate) -> dict[str, float]:
    """Return the candidate's errors, plus the bias of the start; losses end slow start early."""
    share = 0.0 if one.is_lossy or one.model.has_start else startup_share(case, one.throughput)
    return {**one.errors, "slow start": share} if share > 0 else dict(one.errors)


def startup_share(case: Case, throughput: float) -> float:
    """Return the largest share of the measured mean that a flow's start-up costs.

    The start-up is slow start, and the growth after it. 0 if the warm-up covers it.

    Args:
        case: The case.
        throughput: Steady aggregate throughput, bit/s.
    """
    flows = case.experiment.flows
    settled = max(0.0, flows.warmup - min((flow.start for flow in case.flows), default=0.0))
    window = case.window_at(throughput)
    if window <= 0:
        return 0.0
    end = min(window, _overflow(case))
    begin = theory.slow_start_duration(end, case.rtt, case.initial_window)
    missing = 0.0
    if settled < begin:
        sent = case.rtt / math.log(2) * (1 - 2 ** ((settled - begin) / case.rtt)) * end / window
        missing = begin - settled - sent
    if case.algorithm == "cubic" and window > case.initial_window:
        missing += _after_slow_start(window, min(window / 2, end), max(0.0, settled - begin))
    elif end < window:
        missing += _after_reno(window, end / 2, case.rtt, max(0.0, settled - begin))
    return min(1.0, missing / flows.duration)


def _overflow(case: Case) -> float:
    """Return the window at which slow start overflows a short queue, segments; infinite otherwise.

    In slow start each ACK releases twice the acknowledged data, so half of a flight queues at the bottleneck.
    """
    if (
        not case.bursts_overflow
        or case.loss_rate > 0
        or case.paced_rate is not None
        or case.algorithm == "bbr"
    ):
        return math.inf
    return case.initial_window + 2 * case.queue / case.frame


def _after_slow_start(window: float, start: float, settled: float) -> float:
    """Return the deficit of CUBIC from `settled` seconds after slow start, in seconds of the full rate."""
    until = _cubic_seconds(window, start)
    if settled >= until:
        return 0.0
    below = (until - settled) * (1 - start / window)
    return below - theory.CUBIC_C / 4 * (until**4 - settled**4) / window


def _cubic_seconds(window: float, start: float) -> float:
    """Return the time of CUBIC's growth by t³ from `start` to `window` segments, s."""
    return math.cbrt((window - start) / theory.CUBIC_C)


def _after_reno(window: float, start: float, rtt: float, settled: float) -> float:
    """Return the deficit of growth by a segment per RTT, in seconds of the full rate."""
    until = (window - start) * rtt
    left = max(0.0, until - settled)
    return left * left / (2 * rtt * window)


def start_seconds(case: Case, throughput: float) -> float:
    """Return the time until a flow reaches its part of `throughput` bit/s, s, including growth after slow start."""
    window = case.window_at(throughput)
    end = min(window, _overflow(case))
    begin = theory.slow_start_duration(max(end, 1e-9), case.rtt, case.initial_window)
    if case.algorithm == "cubic" and window > case.initial_window:
        begin += _cubic_seconds(window, min(window / 2, end))
    elif end < window:
        begin += (window - end / 2) * case.rtt
    return begin


def window_trajectories(experiment: Experiment, mss: int | None = None) -> tuple[WindowTrajectory, ...]:
    """Return the trajectory of each flow by `theory.trajectories`, with evenly spaced losses.

    Empty without a law for an algorithm, on a changing path, with flows both ways, messages, short flows, or too
    many round trips for a readable chart. If computing all of many identical flows would take too long, one flow
    with its part of link and queue represents them. Takes about 50 ms at most.
    """
    directions = {experiment.reversed(flow) for flow in range(experiment.total_streams)}
    case = case_of(experiment, mss, is_reverse=True in directions)
    if len(directions) != 1 or experiment.path.all_changes or any(flow.pauses for flow in case.flows):
        return ()
    if experiment.has_short_flows or experiment.link_count > 1:
        return ()
    if not case.algorithms <= set(theory.LAWS):
        return ()
    if case.rate is None and case.max_in_flight is None and case.loss_rate == 0:
        return ()  # slow start without end
    rounds = experiment.seconds / case.rtt
    is_uniform = len({(flow.algorithm, flow.rtt, flow.start) for flow in case.flows}) == 1
    if rounds * case.flow_count <= MAX_ROUNDS:
        found = _play(case, case.flow_count, 1)
    elif is_uniform and rounds <= MAX_ROUNDS:
        found = _play(case, 1, case.flow_count) * case.flow_count
    else:
        return ()
    # Round after thinning, so that identical flows stay equal.
    return tuple(tuple((round(t, 6), round(cwnd, 3)) for t, cwnd in thin(points)) for points in found)


def _play(case: Case, flows: int, parts: int) -> tuple[list[tuple[float, float]], ...]:
    """Return the points of the first `flows` flows on 1/`parts` of the link."""
    room = case.tcp_capacity
    path = theory.Bottleneck(
        rate=None if room is None else room / parts,
        rtt=case.rtt,
        queue=case.buffer * case.payload_ratio / parts,
        mss=case.mss,
    )
    sources = [
        theory.Source(
            algorithm=flow.algorithm,
            start=flow.start,
            loss=0.0 if flow.algorithm == "bbr" else min(1.0, case.loss_rate),
            rtt=flow.rtt,
            initial=case.initial_window,
            window=_most_in_flight(case, flow.rtt),
        )
        for flow in case.flows[:flows]
    ]
    results = theory.trajectories(path, sources, case.experiment.seconds)
    return tuple(_points(one, case) for one in results)


def _in_slow_start(trajectory: theory.Trajectory, place: int) -> float:
    """Return the kernel's cwnd before the first loss of a window-limited or paced flow, segments.

    The model's window is the data in flight. In slow start Linux lets cwnd grow to twice that (tcp_is_cwnd_limited).
    """
    source, cwnd = trajectory.source, trajectory.cwnd[place]
    lost = trajectory.losses and trajectory.t[place] >= trajectory.losses[0]
    if source.window is None or cwnd < source.window or lost or source.algorithm == "bbr":
        return cwnd
    rounds = (trajectory.t[place] - source.start) / (source.rtt or trajectory.rtt[place])
    grown = source.initial * 2 ** min(rounds, 40.0)
    return max(source.initial, min(2 * source.window, grown))


def _most_in_flight(case: Case, rtt: float) -> float | None:
    """Return the most segments in flight under windows and pacing; None without either."""
    limits = [] if case.max_in_flight is None else [case.max_in_flight / case.mss]
    if (rate := case.paced_rate) is not None:
        limits.append(rate * rtt / 8 / case.mss)
    return max(1.0, min(limits)) if limits else None


def _points(trajectory: theory.Trajectory, case: Case) -> list[tuple[float, float]]:
    """Return the points up to the end of a fixed-size transfer."""
    windows: Sequence[float] = trajectory.cwnd
    if trajectory.source.window is not None:
        windows = [_in_slow_start(trajectory, place) for place in range(len(windows))]
    pairs = list(zip(trajectory.t, windows, strict=True))
    size = case.experiment.flows.bytes
    if size is None:
        return pairs
    sent = 0.0
    for before, after in pairwise(range(len(pairs))):
        span = trajectory.t[after] - trajectory.t[before]
        sent += (trajectory.throughput[before] + trajectory.throughput[after]) / 16 * span
        if sent >= size:
            return pairs[: after + 1]
    return pairs


def thin(points: list[tuple[float, float]], most: int = MOST_POINTS) -> WindowTrajectory:
    """Return at most `most` points that look the same: the minimum and maximum of each column."""
    if len(points) <= most:
        return tuple(points)
    start, span = points[0][0], points[-1][0] - points[0][0]
    columns = (most - 2) // 2
    last, scale = columns - 1, columns / span
    indexes = {0, len(points) - 1}
    column, lowest, highest = -1, 0, 0
    low = high = 0.0
    for index, (t, value) in enumerate(points):
        here = int((t - start) * scale)
        if here > column and column < last:
            indexes |= {lowest, highest}
            column, lowest, highest, low, high = here, index, index, value, value
        elif value < low:
            lowest, low = index, value
        elif value > high:
            highest, high = index, value
    return tuple(points[index] for index in sorted(indexes | {lowest, highest}))
