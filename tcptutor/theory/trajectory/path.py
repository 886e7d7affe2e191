"""Input and output of trajectory computations: frozen data."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tcptutor.theory.domain import at_least, path, positive, require

MAX_ROUNDS = 1_000_000
"""Largest number of round trips of all flows per call; each takes about four microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The path shared by all flows: a link, a drop-tail queue, and the delay in both directions."""

    rate: float | None
    """Payload rate of the link, bit/s, above 0; None for no limit, and so no queue and no overflow."""
    rtt: float
    """Base RTT, seconds, above 0."""
    queue: float = math.inf
    """Largest queue, bytes of payload, 0 or above; infinite by default."""
    mss: float = 1448
    """Payload bytes of a full segment, above 0."""

    def __post_init__(self) -> None:
        if self.rate is not None:
            positive("rate", self.rate, "a link without a rate carries nothing")
        path(self.mss, self.rtt)
        require(self.queue >= 0, "queue", self.queue, "0 or above", "bytes that wait at the bottleneck")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A flow: its algorithm, and its events apart from the queue."""

    algorithm: str = "reno"
    """A name in LAWS: reno, cubic, htcp, highspeed, bbr."""
    start: float = 0.0
    """Start, seconds, 0 or above."""
    losses: tuple[float, ...] = ()
    """Times at which it loses a segment, seconds, 0 or above."""
    loss: float = 0.0
    """Loss rate: it also loses every 1/loss-th segment, 0 to 1; 0 for none."""
    rtt: float | None = None
    """Its own base RTT, seconds, above 0; None for the path's."""
    initial: float = 10.0
    """First window, segments, 1 or above."""
    window: float | None = None
    """The receiver's window in segments, 1 or above; None for the largest that TCP can announce, 1 GiB."""

    def __post_init__(self) -> None:
        at_least("start", self.start, 0, "seconds after the beginning")
        for loss in self.losses:
            at_least("losses", loss, 0, "seconds after the beginning")
        require(0 <= self.loss <= 1, "loss", self.loss, "0 to 1", "losses per segment")
        if self.rtt is not None:
            positive("rtt", self.rtt, "a round trip takes time, in seconds")
        at_least("initial", self.initial, 1, "segments that may be sent at once")
        if self.window is not None:
            at_least("window", self.window, 1, "the receiver's window in segments")


class TrajectoryPoint(NamedTuple):
    """A flow at an instant."""

    cwnd: float
    """Segments."""
    rtt: float
    """Seconds."""
    throughput: float
    """Bit/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """A flow over time: columns of equal length, straight lines between the points.

    A reduction of the window has two points at the same time, before and after.
    """

    source: Source
    t: tuple[float, ...]
    """Seconds since the beginning, increasing."""
    cwnd: tuple[float, ...]
    """Congestion window, segments."""
    rtt: tuple[float, ...]
    """Round trip with the current queue, seconds."""
    throughput: tuple[float, ...]
    """Arriving payload, bit/s."""
    losses: tuple[float, ...]
    """Times at which the sender noticed a loss, seconds; the losses of a round trip count once."""

    def mean_cwnd(self, after: float = 0.0) -> float:
        """Return the mean window from the step that contains `after` seconds to the end, segments.

        Raises ParameterError unless `after` is before the flow's last instant.
        """
        return self._mean(self.cwnd, after)

    def mean_rtt(self, after: float = 0.0) -> float:
        """Return the mean round trip, seconds. `after` and errors as in `mean_cwnd`."""
        return self._mean(self.rtt, after)

    def mean_throughput(self, after: float = 0.0) -> float:
        """Return the mean throughput, bit/s. `after` and errors as in `mean_cwnd`."""
        return self._mean(self.throughput, after)

    def at(self, moment: float) -> TrajectoryPoint | None:
        """Return the last point up to `moment` seconds; None before the flow has begun."""
        index = bisect.bisect_right(self.t, moment) - 1
        return (
            None if index < 0 else TrajectoryPoint(self.cwnd[index], self.rtt[index], self.throughput[index])
        )

    def _mean(self, values: tuple[float, ...], after: float) -> float:
        end = self.t[-1] if self.t else 0.0
        require(0 <= after < end, "after", after, f"0 to below {end:g}", "the flow's last moment")
        area = span = 0.0
        for (t, value), (then, later) in pairwise(zip(self.t, values, strict=True)):
            if then > after:
                area += (value + later) / 2 * (then - t)
                span += then - t
        return area / span
