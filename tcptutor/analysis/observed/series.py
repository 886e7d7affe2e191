"""Throughput over time from acknowledged bytes, updated with each batch of samples."""

from __future__ import annotations

from collections.abc import Iterable

from tcptutor.run import Sample

Points = list[tuple[float, float]]
"""Pairs of (end of the step in seconds, bit/s in that step)."""


class Throughput:
    """Aggregate and per-flow throughput in steps of `step` seconds.

    Add the samples in order of time; each costs the same regardless of the run's length. Bytes between two samples are
    spread evenly over the steps they span, so an off-beat sample causes no jump in the aggregate.
    """

    def __init__(self, step: float = 0.5) -> None:
        self.step = step
        self._last: dict[int, Sample] = {}
        self._bytes: dict[int, list[float]] = {}
        self._total: list[float] = []
        self._latest = 0.0

    def add(self, samples: Iterable[Sample]) -> None:
        """Add the next samples."""
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
        """Aggregate of all flows for each finished step."""
        return self._points(self._total)

    def flow_points(self, flow: int) -> Points:
        """Return the points of a flow; empty before its second sample."""
        return self._points(self._bytes.get(flow, []))

    @property
    def flows(self) -> tuple[int, ...]:
        """Numbers of the sampled flows in order."""
        return tuple(sorted(self._last))

    def _points(self, column: list[float]) -> Points:
        # The slack covers a last sample at 0.99999 of its step.
        over = int(self._latest / self.step + 0.01)
        return [((n + 1) * self.step, 8 * acked / self.step) for n, acked in enumerate(column[:over])]
