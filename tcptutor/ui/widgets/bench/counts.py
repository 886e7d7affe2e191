"""Bytes counted while a flow goes on, and the throughput between any two instants of it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from math import isnan

_SPACINGS = 4
"""Spacings of the counts that a window spans: interpolating at both of its ends then changes little."""


class ByteCount:
    """Bytes since a flow began: the last count of each step of time, and the instant at which it was taken."""

    def __init__(self, steps: int) -> None:
        self._times = array("d", [math.nan]) * steps
        self._bytes = array("d", [math.nan]) * steps
        self._has_begun = False
        self._before: list[tuple[float, float]] = []
        self._after: list[tuple[float, float]] = []

    def add(self, step: int | None, t: float, counted: float) -> None:
        """Take a count. `step` is None outside the time that is shown: its first and last rates need that count."""
        if step is not None:
            self._times[step], self._bytes[step] = t, counted
            self._has_begun = True
        else:
            (self._after if self._has_begun else self._before).append((t, counted))

    def rates(self, start: float, step: float, round_trips: Sequence[float] = ()) -> array[float]:
        """Return the throughput around the middle of each step, bit/s; NaN where no counts surround it.

        A sender whose window is full sends once a round trip. Its throughput is even only over whole round trips, so
        each rate is the mean over a window of as many of them as the spacing of the counts allows. Near the first and
        the last count the window is moved, not shortened.

        Args:
            start: When the first step begins, s.
            step: Seconds of each step.
            round_trips: The RTT in each step, s; NaN where it is not known.
        """
        result = array("d", [math.nan]) * len(self._times)
        points = list(self._points())
        if len(points) < 2:
            return result
        first, last = points[0][0], points[-1][0]
        least = max(step, _SPACINGS * (last - first) / (len(points) - 1) if round_trips else 0.0)
        begins, ends = _Course(points), _Course(points)
        for at in range(len(result)):
            middle = start + (at + 0.5) * step
            if not first - step / 2 <= middle <= last + step / 2:
                continue
            begin, end = _window(middle, _width(round_trips[at] if round_trips else 0.0, least), first, last)
            if end > begin:
                result[at] = max(0.0, 8 * (ends.at(end) - begins.at(begin)) / (end - begin))
        return result

    def _points(self) -> Iterator[tuple[float, float]]:
        yield from self._before
        yield from (each for each in zip(self._times, self._bytes, strict=True) if not isnan(each[0]))
        yield from self._after


def _width(round_trip: float, least: float) -> float:
    """The shortest time of at least `least` seconds that has whole round trips."""
    return round_trip * max(1, math.ceil(least / round_trip - 1e-9)) if round_trip > 0 else least


def _window(middle: float, width: float, first: float, last: float) -> tuple[float, float]:
    """`width` seconds around `middle`, moved to lie between `first` and `last`."""
    begin = max(first, min(middle - width / 2, last - width))
    return begin, min(last, begin + width)


class _Course:
    """Counts with straight lines between them, looked up at instants that mostly rise."""

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
