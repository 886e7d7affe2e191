"""What was not measured in its place in the chart: limits, what models expect, means, the student's prediction."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from math import isnan
from typing import TYPE_CHECKING

from tcptutor.run import mean_of_known
from tcptutor.spec import Experiment
from tcptutor.ui import words
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench.history import STEPS
from tcptutor.ui.widgets.bench.scales import rounded_up
from tcptutor.ui.widgets.bench.scene import FlowCurve, GuideLine, OwnPrediction, Points

if TYPE_CHECKING:
    from tcptutor.analysis import Expectation

_CLIPPED = 1.3
"""How many times the windows of the measured time the axis reaches at most."""


def references(live: Live, own: OwnPrediction | None) -> Iterator[GuideLine]:
    experiment, expectation = live.run.experiment, live.expectation
    seconds, warmup = experiment.seconds, experiment.flows.warmup
    if expectation is not None:  # else the path is not known
        yield from _limits(experiment)
        if course := _course(expectation, seconds):
            yield GuideLine("expected course", "course", course)
        if expectation.cwnd_segments:
            mean = expectation.cwnd_segments
            yield GuideLine(f"expected mean {mean:.3g}", "expected", ((warmup, mean), (seconds, mean)))
        if own and own.bps and expectation.binding.limited_by in ("random-loss", "receive-window"):
            # Where no queue stands: throughput is a window over the path's own round trip.
            window = (
                own.bps * experiment.path.delay / (8 * experiment.segment * max(1, experiment.total_streams))
            )
            if window >= 1:
                yield GuideLine("you", "you", ((0.0, window), (seconds, window)))
    measured = mean_of_known(flow.mean_cwnd_segments for flow in live.report.flows) if live.report else None
    if measured:
        yield GuideLine(f"measured mean {measured:.3g}", "mean", ((warmup, measured), (seconds, measured)))


def _limits(experiment: Experiment) -> Iterator[GuideLine]:
    """What one flow may have under way: its receiver's window, its part of the path, and of the queue."""
    seconds, flows = experiment.seconds, max(1, experiment.total_streams)
    if experiment.hosts.window:
        window = experiment.hosts.window / experiment.segment
        yield GuideLine("window", "limit", ((0.0, window), (seconds, window)))
    each = f"/{flows}" if flows > 1 else ""
    levels = [(f"BDP{each}", 0.0), (f"+queue{each}" if each else "BDP+queue", 1.0)]
    # Nobody tells the queue of an imported run's path.
    for name, queue in levels[:1] if experiment.name.startswith(words.IMPORTED) else levels:
        points = list(_over_time(experiment, queue, flows))
        if points:
            yield GuideLine(name, "limit", points)


def _over_time(experiment: Experiment, queue: float, flows: int) -> Iterator[tuple[float, float]]:
    """Bandwidth-delay product and that part of the queue, segments a flow; it steps where the path changes."""
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


def _course(expectation: Expectation, seconds: float) -> Points:
    """The window over time that the models expect of one flow, the mean over all of them; empty where they do not."""
    courses = set(expectation.trajectory)
    if len(courses) < 2:
        return next(iter(courses), ())
    sums = array("d", [0.0]) * STEPS
    numbers = array("d", [0.0]) * STEPS
    for course in courses:
        number = expectation.trajectory.count(course)
        for t, window in course:
            at = min(STEPS - 1, int(t / seconds * STEPS))
            sums[at] += number * window
            numbers[at] += number
    return [
        ((at + 0.5) * seconds / STEPS, total / number)
        for at, (total, number) in enumerate(zip(sums, numbers, strict=True))
        if number
    ]


def top(curves: Sequence[FlowCurve], start: int, references: Sequence[GuideLine]) -> tuple[float, float]:
    """Return the upper end of the axis, a round number, and the highest value where the axis cuts it off, else 0.

    The overshoot of slow start may be twenty times the rest. It is cut off where it exceeds what the measured time
    needs by more than `_CLIPPED`. A limit just above the measured windows is shown.

    Args:
        curves: What was measured.
        start: The first step of the measured time.
        references: Lines that the axis should reach where they are near.
    """
    measured = max((v for each in curves for v in each.high[start:] if not isnan(v)), default=0.0)
    early = max((v for each in curves for v in each.high[:start] if not isnan(v)), default=0.0)
    expected = next((each.value for each in references if each.kind == "expected"), 0.0)
    limit = max((each.value for each in references if each.kind == "limit"), default=0.0)
    # While the warm-up goes on, only models can say how high the measured time will be.
    least = max(measured, expected * 1.5, 10)
    if not measured and not expected:
        least = max(min(early, limit) if limit else early, 10)
    if early <= _CLIPPED * least:
        least = max(least, early)
    near = [each.value for each in references if each.kind != "mean" and each.value <= _CLIPPED * least]
    top = rounded_up(max([least, *(1.04 * value for value in near)]))
    highest = max(measured, early)
    return top, highest if highest > top else 0.0
