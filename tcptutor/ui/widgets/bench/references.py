"""Reference lines of the chart: limits, expected trajectory and means, the student's prediction."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from math import isnan
from typing import TYPE_CHECKING

from tcptutor.run import mean_of_known
from tcptutor.spec import Experiment
from tcptutor.ui import words
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench.axes import rounded_up
from tcptutor.ui.widgets.bench.history import STEPS
from tcptutor.ui.widgets.bench.scene import FlowCurve, GuideLine, OwnPrediction, Points

if TYPE_CHECKING:
    from tcptutor.analysis import Expectation

_AXIS_REACH = 1.3
"""Factor of the measured maximum up to which the axis extends."""


def references(live: Live, own: OwnPrediction | None) -> Iterator[GuideLine]:
    experiment, expectation = live.run.experiment, live.expectation
    seconds, warmup = experiment.seconds, experiment.flows.warmup
    if expectation is not None:  # else the path is unknown
        yield from _limits(experiment)
        if trajectory := _trajectory(expectation, seconds):
            yield GuideLine("expected course", "trajectory", trajectory)
        if expectation.cwnd_segments:
            mean = expectation.cwnd_segments
            yield GuideLine(f"expected mean {mean:.3g}", "expected", ((warmup, mean), (seconds, mean)))
        if own and own.bps and expectation.binding.limited_by in ("random-loss", "receive-window"):
            # Without a standing queue, throughput is the window over the path's own RTT.
            window = (
                own.bps * experiment.path.delay / (8 * experiment.segment * max(1, experiment.total_streams))
            )
            if window >= 1:
                yield GuideLine("you", "you", ((0.0, window), (seconds, window)))
    measured = mean_of_known(flow.mean_cwnd_segments for flow in live.report.flows) if live.report else None
    if measured:
        yield GuideLine(f"measured mean {measured:.3g}", "mean", ((warmup, measured), (seconds, measured)))


def _limits(experiment: Experiment) -> Iterator[GuideLine]:
    """Yield the limits on a flow's data in flight: receive window, share of the path, share of the queue."""
    seconds, flows = experiment.seconds, max(1, experiment.total_streams)
    if experiment.hosts.window:
        window = experiment.hosts.window / experiment.segment
        yield GuideLine("window", "limit", ((0.0, window), (seconds, window)))
    each = f"/{flows}" if flows > 1 else ""
    levels = [(f"BDP{each}", 0.0), (f"+queue{each}" if each else "BDP+queue", 1.0)]
    # The queue of an imported run's path is unknown.
    for name, queue in levels[:1] if experiment.name.startswith(words.IMPORTED) else levels:
        points = list(_limit_over_time(experiment, queue, flows))
        if points:
            yield GuideLine(name, "limit", points)


def _limit_over_time(experiment: Experiment, queue: float, flows: int) -> Iterator[tuple[float, float]]:
    """Yield BDP plus `queue` times the queue, in segments per flow; it steps where the path changes."""
    path = experiment.path
    frame = experiment.segment + experiment.headers + experiment.framing
    steps = [(0.0, path)]
    for change in path.changes:
        path = path.after(change)
        steps.append((change.at, path))
    value = None
    for at, now in steps:
        if not now.rate or not now.delay:
            return
        if value is not None:
            yield at, value
        value = (now.rate * now.delay / 8 + queue * now.queue) / frame / flows
        yield at, value
    assert value is not None
    yield experiment.seconds, value


def _trajectory(expectation: Expectation, seconds: float) -> Points:
    """Return the expected trajectory of cwnd, averaged over flows; empty if no model predicts it."""
    trajectories = set(expectation.trajectory)
    if len(trajectories) < 2:
        return next(iter(trajectories), ())
    sums = array("d", [0.0]) * STEPS
    numbers = array("d", [0.0]) * STEPS
    for trajectory in trajectories:
        number = expectation.trajectory.count(trajectory)
        for t, window in trajectory:
            at = min(STEPS - 1, int(t / seconds * STEPS))
            sums[at] += number * window
            numbers[at] += number
    return [
        ((at + 0.5) * seconds / STEPS, total / number)
        for at, (total, number) in enumerate(zip(sums, numbers, strict=True))
        if number
    ]


def axis_top(curves: Sequence[FlowCurve], start: int, references: Sequence[GuideLine]) -> tuple[float, float]:
    """Return the upper end of the axis, and the highest value if the axis cuts it off, otherwise 0.

    The overshoot of slow start may be twenty times the rest. It is cut off where it exceeds the needs of the
    measured time by more than `_AXIS_REACH`. A limit just above the measured windows is shown.

    Args:
        curves: Measured curves.
        start: First step of the measured time.
        references: Lines that the axis includes if they are near.
    """
    measured = max((v for each in curves for v in each.high[start:] if not isnan(v)), default=0.0)
    warmup_max = max((v for each in curves for v in each.high[:start] if not isnan(v)), default=0.0)
    expected = next((each.value for each in references if each.kind == "expected"), 0.0)
    limit = max((each.value for each in references if each.kind == "limit"), default=0.0)
    # During warm-up, only models can tell how high the measured time will be.
    needed = max(measured, expected * 1.5, 10)
    if not measured and not expected:
        needed = max(min(warmup_max, limit) if limit else warmup_max, 10)
    if warmup_max <= _AXIS_REACH * needed:
        needed = max(needed, warmup_max)
    near = [each.value for each in references if each.kind != "mean" and each.value <= _AXIS_REACH * needed]
    top = rounded_up(max([needed, *(1.04 * value for value in near)]))
    highest = max(measured, warmup_max)
    return top, highest if highest > top else 0.0
