"""Throughput and RTT: the number and a line of blocks each, on the chart's time axis."""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby

from textual.content import Content

from tcptutor import units
from tcptutor.spec import Experiment
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import axis
from tcptutor.ui.widgets.bench.traces import rounded_up

BLOCKS = "▁▂▃▄▅▆▇"
"""Without the whole one, which would touch the line above."""

Points = list[tuple[float, float]]
"""(s, value), each standing for the time up to it."""


def throughput(live: Live, width: int) -> Content:
    """ "9.54 Mbit/s ▁▂▅▆▇▇▇▆▇" in `width` columns; all flows together."""
    now = live.report.throughput_bps if live.report else latest(live.rates)
    name = units.rate(now) if live.rates else "throughput"
    return _line(name, live, width, live.rates, throughput_scale(live))


def rtt(live: Live, width: int) -> Content:
    """The smoothed RTT over time, mean of the flows: a filling queue is seen here."""
    points = rtt_points(live)
    name = f"RTT {units.seconds(latest(points))}" if points else "RTT"
    return _line(name, live, width, points, _rtt_full(live))


def scales(live: Live) -> str:
    """What the highest block of each line stands for."""
    return f"{BLOCKS[-1]} is {units.rate(throughput_scale(live))} or {units.seconds(_rtt_full(live))}"


def throughput_scale(live: Live) -> float:
    """What the highest block stands for, bit/s: twice what is expected, at most the link; fixed before the run."""
    link = live.run.experiment.path.rate
    if live.expectation is None:
        return link or max((rate for _, rate in live.rates), default=1.0)
    twice = rounded_up(2 * live.expectation.binding.throughput_bps)
    return min(link, twice) if link else twice


def rtt_scale(experiment: Experiment) -> float:
    """What the highest block stands for, s: the delay and a full queue; 0 for a path that has neither."""
    path = experiment.path
    if not path.delay and not path.rate:
        return 0.0
    queue = path.queue * 8 / path.rate if path.rate else path.delay
    return rounded_up((path.delay + queue) * 1e6) / 1e6


def rtt_points(live: Live) -> Points:
    """The mean over the flows in each half second."""
    points = []
    for half, samples in groupby(live.drawn, key=lambda sample: int(sample.t * 2)):
        rtts = [sample.rtt for sample in samples if sample.rtt]
        if rtts:
            points.append(((half + 1) / 2, sum(rtts) / len(rtts)))
    return points


def latest(points: Points, over: float = 1.0) -> float:
    """The mean of the last second: single points jump too much to be read. 0 before there is one."""
    recent = [value for t, value in points[-200:] if t > points[-1][0] - over]
    return sum(recent) / len(recent) if recent else 0.0


def sparkline(points: Points, seconds: float, columns: int, full: float) -> str:
    """A block for each column of the time axis, blank where nothing was measured yet."""
    blocks = []
    ends = [t for t, _ in points]
    for column in range(columns):
        # A column takes the points that end in it, or the one that spans it.
        first = bisect_right(ends, column / columns * seconds)
        last = max(bisect_right(ends, (column + 1) / columns * seconds), first + 1)
        inside = [value for _, value in points[first:last]]
        blocks.append(_block(sum(inside) / len(inside) / full) if inside else " ")
    return "".join(blocks)


def _rtt_full(live: Live) -> float:
    highest = max((rtt for _, rtt in rtt_points(live)), default=1)
    return rtt_scale(live.run.experiment) or rounded_up(1e6 * highest) / 1e6


def _line(name: str, live: Live, width: int, points: Points, full: float) -> Content:
    blocks = sparkline(points, live.run.experiment.seconds, axis.columns(width), full)
    return Content.assemble((axis.label(name), "bold" if points else ""), (blocks, "$primary"))


def _block(share: float) -> str:
    return BLOCKS[min(int(share * len(BLOCKS)), len(BLOCKS) - 1)]
