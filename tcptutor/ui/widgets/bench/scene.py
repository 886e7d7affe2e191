"""What is to be drawn of a run, in seconds, segments and bit/s: no cells, no colours, no widgets."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Literal, NamedTuple

from tcptutor import units
from tcptutor.run import Run
from tcptutor.spec import ETHERNET_HEADER, Experiment
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench.history import STEPS, FlowHistory, History, filled, rates

if TYPE_CHECKING:
    from tcptutor.analysis import Expectation

MOST_CURVES = 8
"""Flows that are drawn one by one; of more a band and the first."""

_SMOOTH = 0.5
"""Seconds over which a rate is a curve and not the noise of single acknowledgements."""

Kind = Literal["limit", "expected", "course", "mean", "you"]
Points = Sequence[tuple[float, float]]


class OwnPrediction(NamedTuple):
    """The throughput that the student predicted."""

    text: str
    """As typed."""
    bps: float


@dataclass(frozen=True)
class Curve:
    """One flow, or the band of all: its lowest, highest and last value by step; NaN where nothing was measured."""

    name: str
    low: Sequence[float]
    high: Sequence[float]
    last: Sequence[float]
    figure: str = ""
    """What is told beside the name, "13 %"."""


@dataclass(frozen=True)
class Reference:
    """A line that was not measured in this place: a limit, what models expect, a mean."""

    name: str
    kind: Kind
    points: Points

    @property
    def value(self) -> float:
        """Where its name stands."""
        return self.points[-1][1]


@dataclass(frozen=True)
class Series:
    """A strip under the chart: a value for each step."""

    name: str
    """With its unit."""
    values: Sequence[float]
    full: float
    """What fills the strip to its upper edge."""
    said: str
    """One number, and which one: "mean 9.02", "now 8.7"."""
    base: float = 0.0
    """What leaves it empty."""
    how: Literal["mean", "most", "sum", "marks"] = "mean"
    over: Sequence[float] = ()
    """Marks that are stronger: what a queue dropped, beside what senders lost."""
    before: tuple[Points, ...] = ()
    """The same in earlier runs, in the unit of `values`."""
    scale: str = ""
    """What `full` is, with its unit."""


@dataclass(frozen=True)
class Scene:
    """One moment of a run."""

    seconds: float
    warmup: float
    until: float
    """What was measured so far, s."""
    quantity: str
    """Of the chart's axis, with its unit."""
    top: float
    curves: tuple[Curve, ...]
    band: Curve | None
    """From the lowest to the highest of all flows, where these are too many to be told apart."""
    references: tuple[Reference, ...]
    series: dict[str, Series]
    peak: float = 0.0
    """The highest value where the axis cuts it off, else 0."""
    flows: int = 1
    ended: bool = False

    def reference(self, kind: Kind) -> Reference | None:
        return next((each for each in self.references if each.kind == kind), None)


def scene_of(live: Live, history: History, own: OwnPrediction | None) -> Scene:
    """Called in a thread, with a history that has followed the run."""
    experiment = live.run.experiment
    tcp = [history.flows[flow] for flow in sorted(history.flows)]
    by_window = any(not isnan(high) and high > 0 for flow in tcp for high in flow.high)
    if (tcp and not by_window) or (not tcp and history.udp):
        return _by_rate(live, history)
    curves = [
        Curve(name, flow.low, flow.high, flow.last, figure)
        for flow, name, figure in zip(
            tcp, flow_names(experiment, history.flows), _shares(live, history), strict=True
        )
    ]
    references = tuple(_references(live, own))
    top, peak = _top(curves, experiment, references)
    return Scene(
        seconds=experiment.seconds,
        warmup=experiment.flows.warmup,
        until=history.until,
        quantity="cwnd, segments",
        top=top,
        curves=tuple(curves[:1] if len(curves) > MOST_CURVES else curves),
        band=_band(curves) if len(curves) > MOST_CURVES else None,
        references=references,
        series=dict(_series(live, history)),
        peak=peak,
        flows=max(experiment.total_streams, len(curves)),
        ended=not live.going_on,
    )


def flow_names(experiment: Experiment, flows: Sequence[int] | dict[int, FlowHistory]) -> list[str]:
    """Short names: the number, or the sending host where each pair has one flow; the algorithm where it differs."""
    ordered = sorted(flows)
    algorithms = {flow: experiment.algorithm(flow) for flow in ordered}
    several = len(set(algorithms.values())) > 1
    names = []
    for flow in ordered:
        host = experiment.pairs > 1 and experiment.flows.streams == 1
        name = f"h{2 * flow + 1}" if host else f"{flow + 1}"
        names.append(f"{name} {algorithms[flow]}" if several else name)
    return names


def _shares(live: Live, history: History) -> list[str]:
    """Of each flow, once the run has ended."""
    figures = {flow.flow: flow.share for flow in live.report.flows} if live.report else {}
    if len(figures) < 2:
        return [""] * len(history.flows)
    return [f"{100 * figures[flow]:.0f} %" if flow in figures else "" for flow in sorted(history.flows)]


def _band(curves: Sequence[Curve]) -> Curve:
    low, high = array("d", [math.nan]) * STEPS, array("d", [math.nan]) * STEPS
    for each in curves:
        for at, (lowest, highest) in enumerate(zip(each.low, each.high, strict=True)):
            if not isnan(lowest):
                low[at] = lowest if isnan(low[at]) else min(low[at], lowest)
                high[at] = highest if isnan(high[at]) else max(high[at], highest)
    return Curve(f"all {len(curves)}", low, high, high)


# What was not measured in this place


def _references(live: Live, own: OwnPrediction | None) -> Iterator[Reference]:
    experiment, expectation = live.run.experiment, live.expectation
    seconds, warmup = experiment.seconds, experiment.flows.warmup
    yield from _limits(experiment)
    if expectation is not None:
        if course := _course(expectation, seconds):
            yield Reference("expected course", "course", course)
        if expectation.cwnd_segments:
            mean = expectation.cwnd_segments
            yield Reference(f"expected mean {mean:.3g}", "expected", ((warmup, mean), (seconds, mean)))
        if own and own.bps and expectation.binding.limited_by in ("random-loss", "receive-window"):
            # Where no queue stands: throughput is a window over the path's own round trip.
            window = (
                own.bps * experiment.path.delay / (8 * experiment.segment * max(1, experiment.total_streams))
            )
            if window >= 1:
                yield Reference("you", "you", ((0.0, window), (seconds, window)))
    means = [flow.mean_cwnd_segments for flow in live.report.flows] if live.report else []
    if any(means):
        mean = sum(means) / len(means)
        yield Reference(f"measured mean {mean:.3g}", "mean", ((warmup, mean), (seconds, mean)))


def _limits(experiment: Experiment) -> Iterator[Reference]:
    """What one flow may have under way: its receiver's window, its part of the path, and of the queue."""
    seconds, flows = experiment.seconds, max(1, experiment.total_streams)
    if experiment.hosts.window:
        window = experiment.hosts.window / experiment.segment
        yield Reference("window", "limit", ((0.0, window), (seconds, window)))
    each = f"/{flows}" if flows > 1 else ""
    for name, queue in ((f"BDP{each}", 0.0), (f"+queue{each}" if each else "BDP+queue", 1.0)):
        points = list(_over_time(experiment, queue, flows))
        if points:
            yield Reference(name, "limit", points)


def _over_time(experiment: Experiment, queue: float, flows: int) -> Iterator[tuple[float, float]]:
    """Bandwidth-delay product and that part of the queue, segments a flow; it steps where the path changes."""
    path = experiment.path
    frame = experiment.segment + experiment.headers + ETHERNET_HEADER
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


def _top(
    curves: Sequence[Curve], experiment: Experiment, references: Sequence[Reference]
) -> tuple[float, float]:
    """The upper end of the axis, a round number, and the highest value where it is cut off.

    The overshoot of slow start in the warm-up may be twenty times the rest; it is cut off, at two times the
    expected mean, so that the part that counts can be seen. A limit just above what is measured is shown.
    """
    start = math.ceil(experiment.flows.warmup / experiment.seconds * STEPS)
    measured = max((v for each in curves for v in each.high[start:] if not isnan(v)), default=0.0)
    early = max((v for each in curves for v in each.high[:start] if not isnan(v)), default=0.0)
    expected = next((each.value for each in references if each.kind == "expected"), 0.0)
    limit = max((each.value for each in references if each.kind == "limit"), default=0.0)
    bound = 2 * expected or 1.5 * limit or max(1.5 * measured, 40 if measured else early)
    least = max(measured, min(early, bound), expected * 1.5, 10)
    near = [each.value for each in references if each.kind != "mean" and each.value <= 1.3 * least]
    top = rounded_up(max([least, *(1.04 * value for value in near)]))
    highest = max(measured, early)
    return top, highest if highest > top else 0.0


def rounded_up(value: float) -> float:
    """The smallest round number that is not below `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    steps = (mantissa * power for mantissa in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10))
    return next(step for step in steps if step >= value * (1 - 1e-9))


# Strips


def _series(live: Live, history: History) -> Iterator[tuple[str, Series]]:
    experiment, ended = live.run.experiment, not live.going_on
    if history.flows:
        yield "throughput", _throughput(live, history)
    for flow, mine in sorted(history.udp.items()):
        yield f"udp{flow}", _udp(live, history, flow, mine.received)
    if any(flow.base_rtt < math.inf for flow in history.flows.values()):
        yield "rtt", _rtt(live, history)
    path = experiment.path
    if path.rate and path.queue and any(not isnan(value) for value in history.queue):
        scale, unit = _size_unit(path.queue)
        values = filled(history.queue)
        known = [value for value in values if not isnan(value)]
        said = f"most {max(known) / scale:.3g}" if ended else f"now {known[-1] / scale:.3g}"
        yield (
            "queue",
            Series(
                f"queue, {unit}", values, float(path.queue), said, how="most", scale=units.size(path.queue)
            ),
        )
    if history.flows:
        resent = sum(flow.total_resent for flow in history.flows.values())
        together = [sum(step) for step in zip(*(flow.resent for flow in history.flows.values()), strict=True)]
        losses = [sum(step) for step in zip(*(flow.losses for flow in history.flows.values()), strict=True)]
        counted = _counted(live.report.loss_events) if live.report else ""
        yield (
            "losses",
            Series("losses", losses, 1.0, counted, how="marks", over=history.dropped if path.rate else ()),
        )
        # The overshoot of slow start may lose a hundred times as much as all the rest: it is cut off.
        most = max(4.0, *together[math.ceil(experiment.flows.warmup / experiment.seconds * STEPS) :])
        counted = _counted(live.report.retransmits) if live.report else f"{resent} so far"
        yield "resent", Series("sent again", together, most, counted, how="sum", scale=f"{most:g} segments")


def _counted(number: int) -> str:
    """In the measured time; as much of that as there is room for."""
    return f"{number} measured" if number < 1000 else f"{number} meas."


def _throughput(live: Live, history: History) -> Series:
    total = array("d", [math.nan]) * STEPS
    for flow in history.flows.values():
        for at, rate in enumerate(rates(flow.acked, history.step)):
            if not isnan(rate):
                total[at] = rate if isnan(total[at]) else total[at] + rate
    link = live.run.experiment.path.rate
    full = link or max((rate for _, rate in live.rates), default=1.0)
    if live.expectation is not None:
        twice = rounded_up(2 * max(1.0, live.expectation.binding.throughput_bps))
        full = min(link, twice) if link else twice
    scale, unit = rate_unit(full)
    said = f"now {latest(live.rates) / scale:.3g}" if live.rates else ""
    if live.report:
        said = f"mean {live.report.throughput_bps / scale:.3g}"
    return Series(
        unit, total, full, said, before=tuple(run.points for run in live.before), scale=units.rate(full)
    )


def _udp(live: Live, history: History, flow: int, received: Sequence[float]) -> Series:
    rate, sent = rates(received, history.step), live.run.experiment.flows.udp_rate
    scale, unit = rate_unit(sent)
    result = next((each for each in live.run.udp if each.flow == flow), None)
    if result is not None:
        said = f"mean {result.received_bps / scale:.3g}"
    else:
        known = [value for value in rate if not isnan(value)]
        said = f"now {_mean(known[-math.ceil(1 / history.step) :]) / scale:.3g}" if known else ""
    return Series(f"UDP {unit}", rate, 1.25 * sent, said, scale=units.rate(1.25 * sent))


def _rtt(live: Live, history: History) -> Series:
    flows = [filled(flow.rtt) for flow in history.flows.values()]
    together = array("d", [math.nan]) * STEPS
    for at, values in enumerate(zip(*flows, strict=True)):
        known = [value for value in values if not isnan(value)]
        if known:
            together[at] = sum(known) / len(known)
    path = live.run.experiment.path
    base = min(flow.base_rtt for flow in history.flows.values())
    highest = max((value for value in together if not isnan(value)), default=base)
    full = base + path.queue * 8 / path.rate if path.rate else 0.0
    if not base < full < 20 * max(highest, base):
        full = max(highest, 1.2 * base)
    scale, unit = (1e-3, "ms") if full < 2 else (1.0, "s")
    known = [value for value in together if not isnan(value)]
    said = f"now {_mean(known[-math.ceil(1 / history.step) :]) / scale:.3g}" if known else ""
    if live.report and live.report.flows:
        mean = _mean([flow.mean_rtt_s for flow in live.report.flows if flow.mean_rtt_s])
        said = f"mean {mean / scale:.3g}" if mean else ""
    return Series(f"RTT, {unit}", together, full, said, base=base, scale=units.seconds(full))


def _by_rate(live: Live, history: History) -> Scene:
    """Where no windows are known: of UDP, and of other programs' files."""
    experiment = live.run.experiment
    named = list(
        zip(
            flow_names(experiment, history.flows),
            (history.flows[f].acked for f in sorted(history.flows)),
            strict=True,
        )
    )
    named += [(f"UDP {flow + 1}", each.received) for flow, each in sorted(history.udp.items())]
    width = max(1, round(_SMOOTH / history.step))
    smooth = {name: _smoothed(rates(acked, history.step), width) for name, acked in named}
    highest = max((value for each in smooth.values() for value in each if not isnan(value)), default=1.0)
    scale, unit = rate_unit(highest)
    curves = []
    for name, values in smooth.items():
        scaled = array("d", [value / scale for value in values])
        curves.append(Curve(name, scaled, scaled, scaled))
    many = len(curves) > MOST_CURVES
    return Scene(
        seconds=experiment.seconds,
        warmup=experiment.flows.warmup,
        until=history.until,
        quantity=f"throughput, {unit}",
        top=rounded_up(max(1.15 * highest / scale, 1e-3)),
        curves=tuple(curves[:1] if many else curves),
        band=_band(curves) if many else None,
        references=(),
        series=dict(_series(live, history)),
        flows=len(curves),
        ended=not live.going_on,
    )


def _smoothed(values: Sequence[float], width: int) -> array[float]:
    result = array("d", [math.nan]) * len(values)
    for at, value in enumerate(values):
        if not isnan(value):
            near = [v for v in values[max(0, at - width // 2) : at + width // 2 + 1] if not isnan(v)]
            result[at] = sum(near) / len(near)
    return result


def latest(points: Points, over: float = 1.0) -> float:
    """The mean of the last second: single points jump too much to be read. 0 before there is one."""
    return _mean([value for t, value in points[-200:] if t > points[-1][0] - over])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def rate_unit(bps: float) -> tuple[float, str]:
    steps = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
    return next(((scale, unit) for scale, unit in steps if bps >= scale * 0.999), (1.0, "bit/s"))


def _size_unit(size: float) -> tuple[float, str]:
    return (1024.0**2, "MiB") if size >= 10 * 1024**2 else (1024.0, "KiB")


def udp_lost(run: Run, flow: int) -> str:
    """ "3 of 1811 lost" of one UDP flow; empty before the run has ended."""
    return next((f"{each.lost} of {each.datagrams} lost" for each in run.udp if each.flow == flow), "")
