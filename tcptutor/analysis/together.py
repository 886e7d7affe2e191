"""Throughput of all flows together, also when they are there at different times."""

from __future__ import annotations

import math
from bisect import bisect_left

from tcptutor.analysis.measure import Measured, measure
from tcptutor.analysis.trace import Window
from tcptutor.run import Run

_SLACK, _LEAST_SLACK = 0.02, 0.25
"""By how much, relative or in seconds, flows may begin and end apart and still cover the same time."""


def together(run: Run) -> float:
    """Payload of all flows in the measured time, bit/s."""
    return throughput(run, measure(run))


def throughput(run: Run, measured: Measured) -> float:
    """The same, when it has been measured: all bytes over the time from the first flow's start to the last one's end.

    That is the sum of the flows' own means when all cover the same time, and that sum itself is given then, as where
    no samples tell when they did.
    """
    plain = math.fsum(flow.throughput_bps for flow in measured.flows)
    spans = flow_spans(run, measured)
    fixed = run.experiment.flows.bytes is not None
    if (len(spans) < 2 and not fixed) or not spans or any(flow.flow not in spans for flow in measured.flows):
        return plain
    start, end = _whole(spans)
    slack = max(_SLACK * (end - start), _LEAST_SLACK)
    alike = all(first - start <= slack and end - last <= slack for first, last in spans.values())
    if (alike and not fixed) or end <= start:
        return plain
    return 8 * math.fsum(window.grown("bytes_acked") for window in measured.windows) / (end - start)


def span(run: Run, measured: Measured) -> tuple[float, float]:
    """From the first flow's start to the last one's end in the measured time, s; all of that time without samples."""
    spans = flow_spans(run, measured)
    return _whole(spans) if spans else (run.experiment.flows.warmup, run.experiment.seconds)


def flow_spans(run: Run, measured: Measured) -> dict[int, tuple[float, float]]:
    """From when to when each flow was measured, seconds, by its number; empty without samples."""
    fixed = run.experiment.flows.bytes is not None
    return {window.flow: _span(window, fixed) for window in measured.windows}


def _whole(spans: dict[int, tuple[float, float]]) -> tuple[float, float]:
    return min(start for start, _ in spans.values()), max(end for _, end in spans.values())


def _span(window: Window, fixed: bool) -> tuple[float, float]:
    """A flow with a fixed amount is over with its last acknowledgement, not with its last sample."""
    if not fixed:
        return window.start, window.until
    acked = window.column("bytes_acked")
    return window.start, window.column("t")[max(1, bisect_left(acked, acked[-1]))]
