"""Each flow's time in seconds, and what limited it in each.

A second is judged by the same rules as a whole run, with the losses that hold its window down (see `losses.holding`).
So that a verdict does not flicker, a single second of what the network does (loss, bottleneck, reordering, growth)
between two of another such cause counts with these.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tcptutor.analysis.cause import cause
from tcptutor.analysis.evidence import Evidence, of_window
from tcptutor.analysis.link import Bottleneck, Links
from tcptutor.analysis.losses import Events, Loss, holding
from tcptutor.analysis.model import LimitedBy, Second
from tcptutor.analysis.trace import Trace, Window
from tcptutor.run import Run

_LEAST = 0.2
"""Seconds; a shorter rest at an end counts with its neighbour."""

_SLACK = 1e-3
"""Seconds by which a sample may come beside its time."""

_SOFT: frozenset[LimitedBy] = frozenset({"random-loss", "bottleneck", "reordering", "growing"})


def seconds(run: Run, flows: Sequence[Trace], links: Links, events: Events) -> dict[int, tuple[Second, ...]]:
    """By flow number, of the whole run, warm-up included; nothing for a flow that was hardly seen."""
    parts = {trace.flow: _cut(trace, run.experiment.flows.warmup) for trace in flows}
    loads = _loads(run, parts.values())
    return {
        trace.flow: _judged(run, parts[trace.flow], events[trace.flow], links[reverse], loads[reverse])
        for trace in flows
        for reverse in [run.experiment.reversed(trace.flow)]
    }


class _Load:
    """What the flows of one direction carried in one second."""

    def __init__(self) -> None:
        self.flows: set[int] = set()
        self.bits = 0.0
        self.start, self.end = math.inf, 0.0

    def add(self, window: Window) -> None:
        self.flows.add(window.flow)
        self.bits += 8 * window.grown("bytes_acked")
        self.start, self.end = min(self.start, window.start), max(self.end, window.until)

    @property
    def throughput(self) -> float:
        """bit/s"""
        return self.bits / (self.end - self.start)


def _loads(run: Run, parts: Iterable[list[Window]]) -> dict[bool, dict[int, _Load]]:
    """By direction and second."""
    loads: dict[bool, dict[int, _Load]] = {False: {}, True: {}}
    for windows in parts:
        for window in windows:
            mine = loads[run.experiment.reversed(window.flow)]
            mine.setdefault(_number(window), _Load()).add(window)
    return loads


def _number(window: Window) -> int:
    """Of the second in which it begins, with a hair of slack."""
    return int(window.start + _SLACK)


def _judged(
    run: Run,
    windows: Sequence[Window],
    events: Sequence[Loss],
    link: Bottleneck,
    loads: dict[int, _Load],
) -> tuple[Second, ...]:
    found = []
    for window in windows:
        load = loads[_number(window)]
        seen = of_window(run, window, link, _used(run, window, link, load))
        last = window.trace.column("t")[-1]
        kind = holding(events, window.start, window.until, window.mean("cwnd"), last)
        found.append((cause(run.experiment, seen, kind, len(load.flows)), seen))
    names = _steady([name for name, _ in found])
    return tuple(
        _second(name, seen, window) for name, (_, seen), window in zip(names, found, windows, strict=True)
    )


def _cut(trace: Trace, warmup: float) -> list[Window]:
    """At whole seconds and at the end of the warm-up."""
    times = trace.column("t")
    if len(times) < 2 or times[-1] - times[0] < _LEAST:
        return []
    whole = range(math.floor(times[0]) + 1, math.ceil(times[-1]))
    edges = sorted({*map(float, whole), warmup})
    edges = [edge for edge in edges if times[0] + _LEAST <= edge <= times[-1] - _LEAST]
    kept: list[float] = []
    for edge in edges:
        if not kept or edge - kept[-1] >= _LEAST:
            kept.append(edge)
        elif edge == warmup:
            kept[-1] = edge
    cuts = [0, *(bisect_left(times, edge - _SLACK) for edge in kept), len(times) - 1]
    windows = [Window(trace, first, last + 1) for first, last in pairwise(cuts) if last > first]
    return [window for window in windows if window.seconds > 0]


def _used(run: Run, window: Window, link: Bottleneck, load: _Load) -> float | None:
    """The share of the link that all flows had; UDP takes its part as well."""
    goodput = link.goodput(window.start, window.until)
    if not goodput:
        return None
    used = load.throughput / goodput
    return (
        max(used, link.used(window.start, window.until) or 0.0) if run.experiment.flows.udp_streams else used
    )


def _steady(names: Sequence[LimitedBy]) -> list[LimitedBy]:
    """Without single seconds of one soft cause between two of another."""
    steady = list(names)
    for at in range(1, len(steady) - 1):
        before, now, after = steady[at - 1 : at + 2]
        if before == after != now and {before, now} <= _SOFT:
            steady[at] = before
    return steady


def _second(name: LimitedBy, seen: Evidence, window: Window) -> Second:
    return Second(
        start=window.start,
        end=window.until,
        limited_by=name,
        throughput_bps=seen.throughput_bps,
        busy=seen.busy,
        rwnd_limited=seen.rwnd_limited,
        sndbuf_limited=seen.sndbuf_limited,
        app_limited=seen.app_limited,
        stalled=seen.stalled,
        loss_events=seen.loss_events,
        retransmits=seen.retransmits,
        timeouts=seen.timeouts,
        marks=seen.marks,
        reordered=seen.reordered,
        queue_drops=seen.queue_drops,
        rtt_s=seen.mean_rtt_s,
        min_rtt_s=seen.min_rtt_s,
        cwnd_segments=window.mean("cwnd"),
        link_share=seen.link_share,
        link_used=seen.link_used,
    )
