"""Latency in words: a row for each delay with the samples behind it, and what load does to the round trip."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.analysis.compared.latency import Latency
from tcptutor.analysis.observed.delays import DelayFigures
from tcptutor.base import units


class DelayRow(NamedTuple):
    """A delay with its name, and what its percentiles rest on."""

    name: str
    figures: DelayFigures
    remark: str
    """Samples, and the expected value where a model has one."""

    @property
    def percentiles(self) -> tuple[str, str, str]:
        """p50, p95 and p99 as text, with a dash for a percentile that the samples do not support."""
        p50, p95, p99 = (
            units.or_dash(each, units.seconds)
            for each in (self.figures.p50_s, self.figures.p95_s, self.figures.p99_s)
        )
        return p50, p95, p99


def delay_rows(found: Latency, of_path: bool = True) -> list[DelayRow]:
    """Return a row for each measured delay; with `of_path`, with predictions from the path's settings."""
    rows = []
    if found.queueing:
        limit = found.queue_limit if of_path else None
        expected = f", {limit.label} is {units.seconds(limit.delay_s)}" if limit else ""
        name = "queueing at s1" if found.queueing_second else "queueing delay"
        rows.append(
            DelayRow(name, found.queueing, f"{found.queueing.samples} samples of the queue{expected}")
        )
    if found.queueing_second:
        samples = f"{found.queueing_second.samples} samples of the queue"
        rows.append(DelayRow("queueing at s2", found.queueing_second, samples))
    if found.rtt:
        smallest = f", smallest {units.seconds(found.smallest_rtt_s)}" if found.smallest_rtt_s else ""
        name, what = (
            ("RTT", "captured segments") if found.rtt.source == "segments" else ("smoothed RTT", "samples")
        )
        rows.append(DelayRow(name, found.rtt, f"{found.rtt.samples} {what}{smallest}"))
    if found.completion:
        rows.append(DelayRow("completion", found.completion, _transfers(found, found.completion, of_path)))
    return rows


def _transfers(found: Latency, figures: DelayFigures, of_path: bool) -> str:
    text = f"{figures.samples} transfers"
    if figures.unfinished:
        return f"{text}, {figures.unfinished} unfinished (Kaplan-Meier)"
    if figures.max_s is None:
        return text
    text += f", slowest {units.seconds(figures.max_s)}"
    expected = found.slowest_expected_s if of_path else None
    return text if expected is None else f"{text} (expected {units.seconds(expected)})"


def load_text(found: Latency) -> str:
    """Return the median RTT on the full link against the smallest; empty without load."""
    loaded, idle = found.trips_loaded, found.trips_idle
    if loaded is None or idle is None:
        return ""
    return f"median RTT {idle / loaded:.2g} × the smallest: {loaded:.0f} round trips a minute, not {idle:.0f}"
