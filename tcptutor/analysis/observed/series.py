"""Throughput over time from the acknowledged bytes, as fast as samples arrive."""

from __future__ import annotations

from collections.abc import Iterable

from tcptutor.run import Sample

Points = list[tuple[float, float]]
"""(time at the end of a step in seconds, bit/s in that step)"""


class Throughput:
    """Aggregate and per-flow throughput in steps of `step` seconds. Give it the samples in order of time.

    Each sample costs the same however long the run is. The bytes between two samples are spread evenly over
    the steps that they span, so a flow sampled off the beat does not make the aggregate jump.
    """

    def __init__(self, step: float = 0.5) -> None:
        self.step = step
        self._last: dict[int, Sample] = {}
        self._bytes: dict[int, list[float]] = {}
        self._total: list[float] = []
        self._latest = 0.0

    def add(self, samples: Iterable[Sample]) -> None:
        """Take the next samples."""
        for sample in samples:
            before = self._last.get(sample.flow)
            if before is None or sample.t > before.t:
                self._last[sample.flow] = sample
                self._latest = max(self._latest, sample.t)
            if before is not None and sample.t > before.t:
                self._spread(sample.flow, before.t, sample.t, max(0, sample.bytes_acked - before.bytes_acked))

    def _spread(self, flow: int, start: float, end: float, acked: float) -> None:
        """Add `acked` bytes to the steps between `start` and `end`."""
        steps = self._bytes.setdefault(flow, [])
        for index in range(int(start / self.step), int(end / self.step) + 1):
            overlap = min(end, (index + 1) * self.step) - max(start, index * self.step)
            for column in (steps, self._total):
                column.extend([0.0] * (index + 1 - len(column)))
                column[index] += acked * max(0.0, overlap) / (end - start)

    @property
    def points(self) -> Points:
        """All flows together; only steps that are over."""
        return self._points(self._total)

    def flow_points(self, flow: int) -> Points:
        """One flow; empty for a flow that has not been seen twice."""
        return self._points(self._bytes.get(flow, []))

    @property
    def flows(self) -> tuple[int, ...]:
        """The flows that have been seen, in order."""
        return tuple(sorted(self._last))

    def _points(self, column: list[float]) -> Points:
        # A hair of slack: the last sample of a step may come at 0.99999 of it.
        over = int(self._latest / self.step + 0.01)
        return [((n + 1) * self.step, 8 * acked / self.step) for n, acked in enumerate(column[:over])]
