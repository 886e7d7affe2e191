"""Builds the scene of a run from its history: cwnd or throughput over time, limits, expected trajectory and means."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from tcptutor.analysis.observed.changes import changes_of_ends
from tcptutor.course.activities.run import ChartName
from tcptutor.course.setting_line import IMPORTED
from tcptutor.figures.axes import rounded_up
from tcptutor.run import mean_of_known
from tcptutor.spec import Experiment
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.comparison import comparison_curves, original_curves
from tcptutor.ui.widgets.chart.flows import MAX_CURVES, band_of, flow_names, share_texts
from tcptutor.ui.widgets.chart.history import STEPS, History
from tcptutor.ui.widgets.chart.quantities import rtt_scene, throughput_scene
from tcptutor.ui.widgets.chart.scene import WINDOW, FlowCurve, GuideLine, OwnPrediction, Points, Scene
from tcptutor.ui.widgets.chart.series import series, warmup_events

if TYPE_CHECKING:
    from tcptutor.analysis import Expectation


_AXIS_REACH = 1.3
"""Factor of the measured maximum up to which the axis extends."""
_WHAT_IF_REACH = 1.5
"""Reference lines up to this multiple of the measured maximum extend the axis of a what-if."""


def scene_of(
    live: Live, history: History, own: OwnPrediction | None, flow: int = 0, quantity: ChartName | None = None
) -> Scene:
    """Return the scene to draw; called in a thread, after `history` has followed the run.

    Args:
        live: The run.
        history: Samples of the run, or of a part of it.
        own: The student's prediction.
        flow: Flow to draw where the others form a band.
        quantity: Quantity of the chart; None for the quantity that the page asks about.
    """
    experiment = live.run.experiment
    tcp = [history.flows[number] for number in sorted(history.flows)]
    has_cwnd = any(not isnan(high) and high > 0 for each in tcp for high in each.high)
    if (tcp and not has_cwnd) or (not tcp and history.udp):
        return throughput_scene(live, history, own, flow)
    quantity = quantity or live.charted
    if quantity == "throughput":
        return throughput_scene(live, history, own, flow)
    # A what-if shows its base run, whose RTT is not stored for charts.
    if quantity == "rtt" and live.changed_from is None:
        return rtt_scene(live, history, flow)
    curves = [
        FlowCurve(name, each.low, each.high, each.last, figure)
        for each, name, figure in zip(
            tcp, flow_names(experiment, history.flows), share_texts(live, history), strict=True
        )
    ]
    drawn_flow = sorted(history.flows).index(flow) if flow in history.flows else 0
    guides = tuple(references(live, own))
    original, warm = original_curves(live, history), history.warm_steps(experiment.flows.warmup)
    comparison = comparison_curves(live.comparisons, history.start, history.seconds, len(curves))
    if comparison and len(curves) == 1:
        curves = [replace(curves[0], name="this")]
    near = _near_references(guides, original, warm) if original else guides
    upper, peak = axis_top([*curves, *original, *comparison], warm, near)
    shown = curves[drawn_flow : drawn_flow + 1] if len(curves) > MAX_CURVES else curves
    return Scene(
        seconds=history.seconds,
        start=history.start,
        warmup=experiment.flows.warmup,
        until=history.until,
        quantity=WINDOW,
        top=upper,
        curves=(*shown, *comparison),
        band=band_of(curves) if len(curves) > MAX_CURVES else None,
        references=guides,
        series=dict(series(live, history)),
        peak=peak,
        flows=max(experiment.total_streams, len(curves) + len(comparison)),
        ended=not live.in_progress,
        original=original,
        host_changes=changes_of_ends(experiment),
        warmup_events=warmup_events(live, history),
    )


def _near_references(
    references: Sequence[GuideLine], original: Sequence[FlowCurve], warm: int
) -> list[GuideLine]:
    """Return the reference lines close enough to the data to extend the axis of a what-if."""
    measured = max(
        (value for each in original for value in each.high[warm:] if not isnan(value)), default=0.0
    )
    return [each for each in references if each.value <= _WHAT_IF_REACH * measured]


def references(live: Live, own: OwnPrediction | None) -> Iterator[GuideLine]:
    experiment, expectation = live.run.experiment, live.expectation
    seconds, warmup = experiment.seconds, experiment.flows.warmup
    if expectation is not None:  # else the path is unknown
        yield from _limits(experiment)
        if trajectory := _trajectory(expectation, seconds):
            yield GuideLine("expected trajectory", "trajectory", trajectory)
        if expectation.cwnd_segments:
            mean = expectation.cwnd_segments
            yield GuideLine(f"expected mean {mean:.3g}", "expected", ((warmup, mean), (seconds, mean)))
        limited_by = expectation.binding.limited_by
        if own and own.bps and not experiment.lives and limited_by in ("random-loss", "receive-window"):
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
    if experiment.link_count > 1:
        return  # each flow has another path
    each = "/n" if experiment.lives else f"/{flows}" if flows > 1 else ""
    levels = [(f"BDP{each}", 0.0), (f"+queue{each}" if each else "BDP+queue", 1.0)]
    # The queue of an imported run's path is unknown.
    for name, queue in levels[:1] if experiment.name.startswith(IMPORTED) else levels:
        points = list(_limit_over_time(experiment, queue, flows))
        if points:
            yield GuideLine(name, "limit", points)


def _limit_over_time(experiment: Experiment, queue: float, flows: int) -> Iterator[tuple[float, float]]:
    """Yield BDP plus `queue` times the queue, in segments per flow; it steps where path or flows change."""
    path = experiment.path
    frame = experiment.segment + experiment.headers + experiment.framing
    steps = [(0.0, path)]
    for change in path.all_changes:
        path = path.after(change)
        steps.append((change.at, path))
    value = None
    for at, now in steps:
        if not now.rate or not now.delay:
            return
        if value is not None:
            yield at, value
        sharing = max(1, experiment.streams_at(at)) if experiment.lives else flows
        value = (now.rate * now.delay / 8 + queue * now.queue) / frame / sharing
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
