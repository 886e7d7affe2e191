"""Curves of a run for each plotted quantity, thinned to the resolution of paper. Independent of matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tcptutor.analysis import Expectation, Throughput, expect, is_path_known, window_trajectories
from tcptutor.run import SSTHRESH_INFINITE, Run, UdpSample
from tcptutor.run.flow_columns import FlowColumns, rows_of_flows

POINTS = 1200
"""Points of a curve: a column of a printed page has about as many dots."""
FEW = 4
"""Flows up to which each one's ssthresh can be distinguished."""

Point = tuple[float, float]


_STEPS = 20_000
"""Largest number of steps of a mean."""


@dataclass(frozen=True)
class Curve:
    """Points (s, value) in base units."""

    points: list[Point]
    flow: int | None
    """None for a curve of all flows."""
    role: str = "value"
    """Measured: value, udp, ssthresh, total, second (of two queues) or mean; computed, with a name: limit, expected
    or trajectory."""
    name: str = ""


def columns(run: Run) -> dict[int, dict[str, Sequence[Any]]]:
    """Return the samples' columns of each flow."""
    names = ("t", "cwnd", "ssthresh", "rtt", "bytes_acked", "retransmits")
    flows = (
        (flow, FlowColumns(run.samples, rows)) for flow, rows in sorted(rows_of_flows(run.samples).items())
    )
    return {flow: {name: samples.column(name) for name in names} for flow, samples in flows}


def cwnd(run: Run, overlaid: bool) -> list[Curve]:
    """Return the congestion windows, segments; with ssthresh for few flows, otherwise with the mean."""
    flows = columns(run)
    curves = _flow_curves(flows, "cwnd", overlaid)
    if overlaid or len(flows) > FEW:
        return curves
    if curves:
        curves += _expected(run, lambda expectation: expectation.cwnd_segments) + _trajectory(run)
    for flow, values in flows.items():
        pairs = zip(values["t"], values["ssthresh"], strict=True)
        points = [(t, float(value)) for t, value in pairs if value != SSTHRESH_INFINITE]
        curves += [Curve(thinned(points), flow, "ssthresh")] if points else []
    return curves


def rtt(run: Run, overlaid: bool) -> list[Curve]:
    """Return the smoothed RTT, s."""
    return _flow_curves(columns(run), "rtt", overlaid)


def throughput(run: Run, overlaid: bool) -> list[Curve]:
    """Return the payload acknowledged, bit/s, in steps of half a second: each flow, and the total."""
    series = Throughput()
    series.add(run.samples)
    if not series.points:
        return []
    total = Curve(series.points, None, "total")
    if overlaid:
        return [total]
    each = [Curve(series.flow_points(flow), flow) for flow in series.flows] if len(series.flows) > 1 else []
    return [*each, total, *_expected(run, lambda expectation: expectation.binding.throughput_bps)]


def retransmissions(run: Run, overlaid: bool) -> list[Curve]:
    """Return the segments retransmitted since the start."""
    return _counter_curves(run, "retransmits", overlaid)


def acknowledged(run: Run, overlaid: bool) -> list[Curve]:
    """Return the payload acknowledged since the start, bytes."""
    return _counter_curves(run, "bytes_acked", overlaid)


def queue(run: Run, overlaid: bool) -> list[Curve]:
    """Return the backlog at each bottleneck, bytes, and the size of its buffer."""
    curves = []
    for link, table in enumerate(run.queues):
        if not len(table):
            continue
        path = run.experiment.at_link(link).path
        points = list(zip(table.column("t"), map(float, table.column("bytes")), strict=True))
        name = f"at s{link + 1}" if run.experiment.link_count > 1 else ""
        curves.append(Curve(thinned(points), None, "second" if link else "total", name))
        if path.rate and not overlaid:
            ends = [(points[0][0], float(path.queue)), (points[-1][0], float(path.queue))]
            curves.append(Curve(ends, None, "limit", "buffer"))
    return curves


def udp_received(run: Run, overlaid: bool) -> list[Curve]:
    """Return the UDP payload received, bit/s, between consecutive reports of the receiver."""
    pairs = {
        flow: [
            (now.t, 8 * (now.received - before.received) / (now.t - before.t))
            for before, now in pairwise(rows)
            if now.t > before.t
        ]
        for flow, rows in _udp_rows(run).items()
    }
    return _udp_curves(pairs, overlaid)


def udp_lost(run: Run, overlaid: bool) -> list[Curve]:
    """Return the UDP datagrams lost since the start."""
    pairs = {flow: [(row.t, float(row.lost)) for row in rows] for flow, rows in _udp_rows(run).items()}
    return _udp_curves(pairs, overlaid)


def udp_jitter(run: Run, overlaid: bool) -> list[Curve]:
    """Return UDP's smoothed jitter, s (RFC 3550, section 6.4.1), of each flow."""
    pairs = {
        flow: [(row.t, row.jitter) for row in rows if row.jitter is not None]
        for flow, rows in _udp_rows(run).items()
    }
    known = {flow: points for flow, points in pairs.items() if points}
    if overlaid and known:
        return [Curve(thinned(mean(list(known.values()))), None, "mean")]
    return [Curve(thinned(points), flow, "udp") for flow, points in known.items()]


def _udp_rows(run: Run) -> dict[int, list[UdpSample]]:
    found: dict[int, list[UdpSample]] = {}
    for row in run.udp_samples:
        found.setdefault(row.flow, []).append(row)
    return dict(sorted(found.items()))


def _udp_curves(pairs: dict[int, list[Point]], overlaid: bool) -> list[Curve]:
    """Return a curve of each flow; their total in a plot of several runs."""
    known = {flow: points for flow, points in pairs.items() if points}
    if overlaid:
        return [Curve(thinned(_sum(known)), None, "total")] if known else []
    return [Curve(thinned(points), flow, "udp") for flow, points in known.items()]


QUANTITIES: dict[str, Callable[[Run, bool], list[Curve]]] = {
    "cwnd": cwnd,
    "rtt": rtt,
    "throughput": throughput,
    "retransmissions": retransmissions,
    "bytes": acknowledged,
    "queue": queue,
    "udp": udp_received,
    "udp-lost": udp_lost,
    "udp-jitter": udp_jitter,
}
"""By the names of `--what`."""


def _expected(run: Run, value: Callable[[Expectation], float | None]) -> list[Curve]:
    """Return the binding model's value as a line over the measured time; empty for an unknown path."""
    expectation = expect(run.experiment) if is_path_known(run) else None
    level = value(expectation) if expectation else None
    if expectation is None or level is None:
        return []
    start, end = run.experiment.flows.warmup, run.experiment.seconds
    return [
        Curve([(start, level), (end, level)], None, "expected", f"expected ({expectation.binding.label})")
    ]


def _trajectory(run: Run) -> list[Curve]:
    """Return the expected trajectory of cwnd: the mean of the flows of each kind."""
    experiment = run.experiment
    expected = window_trajectories(experiment) if is_path_known(run) else ()
    kinds: dict[object, list[list[Point]]] = {}
    for flow, course in enumerate(expected):
        kind = experiment.algorithm(flow), experiment.delay(flow), experiment.start(flow)
        kinds.setdefault(kind, []).append(list(course))
    name = "expected trajectory" if len(kinds) < 2 else "expected trajectory of each kind"
    means = (each[0] if len(each) == 1 else mean(each) for each in kinds.values() if all(each))
    return [Curve(thinned(points), None, "trajectory", name) for points in means]


def _flow_curves(flows: dict[int, dict[str, Sequence[Any]]], name: str, overlaid: bool) -> list[Curve]:
    """Return a curve per flow, and the mean of many; only the mean in a plot of several runs.

    A flow with only zeros was not measured.
    """
    known = {flow: values for flow, values in flows.items() if any(values[name])}
    pairs = {
        flow: [(t, float(v)) for t, v in zip(values["t"], values[name], strict=True) if v > 0]
        for flow, values in known.items()
    }
    means = [Curve(thinned(mean(list(pairs.values()))), None, "mean")] if pairs else []
    if overlaid:
        return means
    curves = [Curve(thinned(points), flow) for flow, points in pairs.items()]
    return curves + means if len(curves) > FEW else curves


def _counter_curves(run: Run, name: str, overlaid: bool) -> list[Curve]:
    flows = columns(run)
    pairs = {
        flow: list(zip(values["t"], map(float, values[name]), strict=True)) for flow, values in flows.items()
    }
    if not any(value for points in pairs.values() for _, value in points):
        return []
    total = Curve(thinned(_sum(pairs)), None, "total")
    if overlaid or len(pairs) == 1:
        return [total]
    return [*(Curve(thinned(points), flow) for flow, points in pairs.items()), total]


def _sum(pairs: dict[int, list[Point]]) -> list[Point]:
    """Return the sum of counters, each of which holds its value until the next reading."""
    latest: dict[int, float] = {}
    points: list[Point] = []
    for t, flow, value in sorted((t, flow, value) for flow, points in pairs.items() for t, value in points):
        latest[flow] = value
        points.append((t, sum(latest.values())))
    return points


def mean(flows: Sequence[Sequence[Point]], step: float = 0.05) -> list[Point]:
    """Return the mean over the flows in each `step` seconds; a flow holds its value until the next reading.

    A long run gets `_STEPS` longer steps.
    """
    step = max(step, max((points[-1][0] for points in flows), default=0.0) / _STEPS)
    sums: dict[int, tuple[float, int]] = {}
    for points in flows:
        for (t, value), (after, _) in pairwise([*points, points[-1]]):
            for column in range(int(t / step), max(int(t / step) + 1, int(after / step))):
                total, number = sums.get(column, (0.0, 0))
                sums[column] = total + value, number + 1
    return [((column + 0.5) * step, total / number) for column, (total, number) in sorted(sums.items())]


def thinned(points: list[Point]) -> list[Point]:
    """Return about POINTS points that look the same: first, lowest, highest and last of each column."""
    if len(points) <= POINTS:
        return points
    start, span = points[0][0], points[-1][0] - points[0][0]
    by_column: dict[int, list[Point]] = {}
    for point in points:
        by_column.setdefault(int((point[0] - start) / span * POINTS / 4) if span else 0, []).append(point)
    thinned_points: list[Point] = []
    for column in by_column.values():
        low = min(range(len(column)), key=lambda index: column[index][1])
        high = max(range(len(column)), key=lambda index: column[index][1])
        thinned_points += [column[index] for index in sorted({0, low, high, len(column) - 1})]
    return thinned_points
