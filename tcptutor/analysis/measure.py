"""What a run measured, flow by flow: the lab's own results, or what the samples of a cut run still tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from tcptutor.run import CA_STATES, FlowResult, Run, Sample

_ENOUGH = 0.2
"""Seconds between first and last sample below which a difference of counters says nothing."""

_SLACK = 1.0
"""Seconds after the planned end in which samples still belong to the traffic, as its start takes a moment."""


_CWR = CA_STATES.index("cwr")
"""This state and those after it answer a loss event."""


@dataclass(frozen=True)
class Window:
    """One flow's samples in the measured time, two or more. Counters are cumulative: differences count."""

    samples: list[Sample]
    """The first one is the last of the warm-up."""

    @property
    def seconds(self) -> float:
        return self.samples[-1].t - self.samples[0].t

    def column(self, name: str) -> list[float]:
        return [getattr(sample, name) for sample in self.samples]

    def grown(self, column: str) -> float:
        """How much a counter grew; 0 or above."""
        return max(0.0, float(getattr(self.samples[-1], column) - getattr(self.samples[0], column)))

    def mean(self, column: str) -> float:
        """Mean over the samples, which come at a steady rate."""
        return math.fsum(self.column(column)) / len(self.samples)

    @property
    def throughput(self) -> float:
        """Payload acknowledged, bit/s."""
        return 8 * self.grown("bytes_acked") / self.seconds

    @property
    def loss_events(self) -> int:
        """Times that ssthresh changed or the sender began to recover; two between two samples count as one.

        A regular sawtooth sets ssthresh to what it was, so that alone would miss every event.
        """
        return sum(
            now.ssthresh != before.ssthresh or (before.ca_state < _CWR <= now.ca_state)
            for before, now in pairwise(self.samples)
        )


@dataclass(frozen=True)
class Measured:
    """All that a run measured; one look at its samples serves verdict, report and document."""

    flows: tuple[FlowResult, ...]
    windows: tuple[Window, ...]
    """Of the flows with samples enough; empty for a run that was kept without them."""


def measure(run: Run) -> Measured:
    """Each flow over the measured time: as the lab gives it, or from the samples of a run cut short."""
    windows = _windows(run)
    flows = run.flows or [_result(run, window) for window in windows]
    return Measured(tuple(flows), tuple(windows))


def flow_results(run: Run) -> tuple[FlowResult, ...]:
    """The flows of `measure`."""
    return measure(run).flows


def _windows(run: Run) -> list[Window]:
    """The measured time of each flow; flows without two samples far enough apart in it are left out."""
    by_flow: dict[int, list[Sample]] = {}
    warmup, end = run.experiment.flows.warmup, run.experiment.seconds + _SLACK
    for sample in run.samples:
        mine = by_flow.setdefault(sample.flow, [])
        if sample.t <= warmup:
            mine.clear()
        if sample.t <= end:
            mine.append(sample)
    windows = [Window(samples) for _, samples in sorted(by_flow.items()) if samples]
    return [one for one in windows if one.seconds >= _ENOUGH and one.samples[-1].t > warmup]


def _result(run: Run, window: Window) -> FlowResult:
    last = window.samples[-1]
    return FlowResult(
        flow=last.flow,
        pair=last.flow // run.experiment.flows.streams,
        throughput_bps=window.throughput,
        retransmits=round(window.grown("retransmits")),
        losses=window.loss_events,
        segments=round(window.grown("segs_out")),
        mean_rtt_s=window.mean("rtt"),
        mean_cwnd_segments=window.mean("cwnd"),
        mss=last.mss,
    )
