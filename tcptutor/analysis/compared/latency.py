"""Latency of a run: percentiles of queueing delay, RTT and completion times, next to what a model expects."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict

from tcptutor.analysis.expected.queue_limit import QueueLimit
from tcptutor.analysis.observed.delays import (
    DelayFigures,
    completion_figures,
    delay_figures,
    queueing_delays,
    segment_rtts,
    smallest_rtt,
    smoothed_rtts,
    transfer_times,
)
from tcptutor.analysis.observed.measured import Measured
from tcptutor.analysis.observed.segment_rtt import SegmentRtt


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Delays of a run over its measured time; None if not measured."""

    queueing: DelayFigures | None = None
    """Time in which the bottleneck's backlog leaves."""
    queueing_second: DelayFigures | None = None
    """Time in which the backlog of a second bottleneck leaves."""
    rtt: DelayFigures | None = None
    """RTT of captured segments, otherwise the kernel's smoothed RTT over time."""
    completion: DelayFigures | None = None
    """Completion times of transfers of a fixed size."""
    smallest_rtt_s: float | None = None
    """Smallest RTT of the flows; None if unknown, if their paths differ, or if the delay changes."""
    is_loaded: bool = False
    """True if the link was full."""
    queue_limit: QueueLimit | None = None
    """Expected queueing delay under load; None without a model."""
    slowest_expected_s: float | None = None
    """Expected time of the slowest transfer; None without a model."""

    @property
    def is_empty(self) -> bool:
        """True if no delay was measured."""
        return self.queueing is None and self.rtt is None and self.completion is None

    @property
    def trips_idle(self) -> float | None:
        """Round trips a minute at the smallest RTT; None if it is unknown."""
        return 60 / self.smallest_rtt_s if self.smallest_rtt_s else None

    @property
    def trips_loaded(self) -> float | None:
        """Round trips a minute at the median RTT under load; None without load."""
        median = self.rtt.p50_s if self.rtt else None
        return 60 / median if median and self.is_loaded else None


def latency(
    measured: Measured,
    rtts: Sequence[SegmentRtt] = (),
    limit: QueueLimit | None = None,
    slowest_expected_s: float | None = None,
    is_loaded: bool = False,
) -> Latency:
    """Return the latency of a measured run.

    Args:
        measured: The run.
        rtts: RTTs of its captured segments; without any the smoothed RTT of the samples is used.
        limit: Expected queueing delay under load.
        slowest_expected_s: Expected time of the slowest transfer, s.
        is_loaded: Whether the link was full.
    """
    segments = segment_rtts(measured, rtts) if rtts else None
    completion = completion_figures(transfer_times(measured))
    return Latency(
        queueing=delay_figures(queueing_delays(measured), "queue"),
        queueing_second=delay_figures(queueing_delays(measured, 1), "queue")
        if measured.run.experiment.link_count > 1
        else None,
        rtt=delay_figures(segments, "segments") or delay_figures(smoothed_rtts(measured), "samples"),
        completion=completion,
        smallest_rtt_s=smallest_rtt(measured),
        is_loaded=is_loaded,
        queue_limit=limit,
        slowest_expected_s=slowest_expected_s if completion else None,
    )


def latency_document(found: Latency) -> dict[str, object]:
    """Return the latency for JSON; absent delays are None."""
    return {
        "queueing": found.queueing and asdict(found.queueing),
        "queueing_second": found.queueing_second and asdict(found.queueing_second),
        "rtt": found.rtt and asdict(found.rtt),
        "completion": found.completion and asdict(found.completion),
        "smallest_rtt_s": found.smallest_rtt_s,
        "loaded": found.is_loaded,
        "round_trips_per_minute": {"idle": found.trips_idle, "loaded": found.trips_loaded},
        "expected": {
            "queueing_s": found.queue_limit.delay_s if found.queue_limit else None,
            "slowest_completion_s": found.slowest_expected_s,
        },
    }
