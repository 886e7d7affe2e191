"""Byte counters sampled during a flow, and the throughput between any two instants."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from math import isnan

_SPACINGS = 4
"""Minimum spacings of samples in an averaging window, so interpolation at both ends matters little."""


class ByteCount:
    """Byte counter of a flow: the last sample in each step, with its time."""

    def __init__(self, steps: int) -> None:
        self._times = array("d", [math.nan]) * steps
        self._bytes = array("d", [math.nan]) * steps
        self._has_begun = False
        self._before: list[tuple[float, float]] = []
        self._after: list[tuple[float, float]] = []

    def add(self, step: int | None, t: float, count: float) -> None:
        """Add a sample; `step` is None outside the shown time, where samples serve the first and last rates."""
        if step is not None:
            self._times[step], self._bytes[step] = t, count
            self._has_begun = True
        else:
            (self._after if self._has_begun else self._before).append((t, count))

    def rates(self, start: float, step: float, round_trips: Sequence[float] = ()) -> array[float]:
        """Return the throughput around the middle of each step, bit/s; NaN outside the samples.

        A sender with a full window sends once per round trip. Its throughput is even only over complete round
        trips, so each rate is the mean over as many round trips as the spacing of samples requires. Near the
        first and last sample the window is moved, not shortened.

        Args:
            start: Start of the first step, s.
            step: Length of a step, s.
            round_trips: RTT in each step, s; NaN where unknown.
        """
        result = array("d", [math.nan]) * len(self._times)
        points = list(self._points())
        if len(points) < 2:
            return result
        first, last = points[0][0], points[-1][0]
        least = max(step, _SPACINGS * (last - first) / (len(points) - 1) if round_trips else 0.0)
        starts, ends = _Interpolation(points), _Interpolation(points)
        for at in range(len(result)):
            middle = start + (at + 0.5) * step
            if not first - step / 2 <= middle <= last + step / 2:
                continue
            begin, end = _window(
                middle, _window_width(round_trips[at] if round_trips else 0.0, least), first, last
            )
            if end > begin:
                result[at] = max(0.0, 8 * (ends.at(end) - starts.at(begin)) / (end - begin))
        return result

    def _points(self) -> Iterator[tuple[float, float]]:
        yield from self._before
        yield from (each for each in zip(self._times, self._bytes, strict=True) if not isnan(each[0]))
        yield from self._after


def _window_width(round_trip: float, least: float) -> float:
    """Return the shortest multiple of the RTT that is at least `least` seconds."""
    return round_trip * max(1, math.ceil(least / round_trip - 1e-9)) if round_trip > 0 else least


def _window(middle: float, width: float, first: float, last: float) -> tuple[float, float]:
    begin = max(first, min(middle - width / 2, last - width))
    return begin, min(last, begin + width)


class _Interpolation:
    """Linear interpolation of samples, efficient for increasing times."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        self._points, self._next = points, 1

    def at(self, t: float) -> float:
        points = self._points
        while self._next < len(points) - 1 and points[self._next][0] < t:
            self._next += 1
        while self._next > 1 and points[self._next - 1][0] > t:
            self._next -= 1
        (t0, y0), (t1, y1) = points[self._next - 1], points[self._next]
        return y0 + (y1 - y0) * (t - t0) / (t1 - t0) if t1 > t0 else y1
