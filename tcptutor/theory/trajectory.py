"""Trajectories of cwnd: the expected behavior of algorithms on a shared bottleneck, for comparison with a run.

A step is the shortest base RTT, and ends early when a loss or a flow's start is due. Within it the path is in
balance: the queue holds the data in flight that does not fit on the path, each flow gets its data in flight
over its round trip, and round trips grow with the queue. No randomness, no timeouts, no bursts.

An overflow of the queue is noticed a round trip later; the windows grow until then, so slow start ends at
twice the capacity. Then flows lose in order, the largest first, until the rest fits: a drop-tail queue drops
from each in proportion to its share. AIMD flows that take turns like this use exactly `shared_utilisation` of
a link without buffer. With `synchronised` all flows lose together, and use as much as a single flow.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tcptutor.theory.domain import at_least, path, positive, require
from tcptutor.theory.window_laws import AIMD, BBR, HTCP, Cubic, HighSpeed, WindowLaw

MAX_ROUNDS = 1_000_000
"""Largest number of round trips of all flows per call; each takes about four microseconds."""
LARGEST_WINDOW = 2.0**30
"""Largest window that a TCP receiver can announce, bytes (RFC 7323, section 2.3)."""

_TOLERANCE = 1e-9  # relative difference of equal times

LAWS: dict[str, Callable[[float, float, float, int], WindowLaw]] = {
    "reno": lambda rtt, initial, most, _: AIMD(rtt, initial, most),
    "cubic": lambda rtt, initial, most, _: Cubic(rtt, initial, most),
    "htcp": lambda rtt, initial, most, _: HTCP(rtt, initial, most),
    "highspeed": lambda rtt, initial, most, _: HighSpeed(rtt, initial, most),
    "bbr": BBR,
}
"""Window laws by algorithm; arguments: base RTT in seconds, first and largest window in segments, index of
the flow."""


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


def trajectories(
    path: Bottleneck, flows: Sequence[Source], duration: float, *, synchronised: bool = False
) -> tuple[Trajectory, ...]:
    """Return each flow's trajectory over `duration` seconds, in the order of `flows`.

    Args:
        path: The bottleneck.
        flows: The flows.
        duration: Seconds, above 0.
        synchronised: Whether all flows lose when the queue overflows.

    Raises:
        ParameterError: There are no flows, an algorithm is unknown, the duration is invalid, or the flows
            need more than MAX_ROUNDS round trips.
    """
    positive("duration", duration, "seconds to compute")
    require(bool(flows), "flows", "none", "at least one", "without a flow nothing happens")
    known = ", ".join(LAWS)
    for flow in flows:
        require(flow.algorithm in LAWS, "algorithm", flow.algorithm, f"one of {known}", "no law for it")
    step = min(flow.rtt or path.rtt for flow in flows)
    longest = MAX_ROUNDS * step / len(flows)
    reason = f"{MAX_ROUNDS:,} round trips of all flows together"
    require(duration <= longest, "duration", f"{duration:g}", f"at most {longest:g}", reason)
    simulated = [_Flow(path, flow, place) for place, flow in enumerate(flows)]
    _play(_Link(path, simulated), simulated, duration, step, synchronised)
    return tuple(flow.trajectory() for flow in simulated)


class _Flow:
    """A simulated flow: its law, the losses to come, and the columns so far."""

    def __init__(self, path: Bottleneck, source: Source, place: int) -> None:
        self.source = source
        self.base = source.rtt or path.rtt
        most = LARGEST_WINDOW / path.mss if source.window is None else source.window
        self.law = LAWS[source.algorithm](self.base, source.initial, most, place)
        self.bits = 8 * path.mss
        self.rtt = self.base
        self.rate = 0.0  # segments/s
        self.repaired = 0.0  # losses before this time belong to an earlier event
        self._loss_times = sorted(source.losses, reverse=True)
        self._every = 1 / source.loss if source.loss else math.inf
        self._until_loss = self._every
        self.has_losses = bool(source.losses) or source.loss > 0
        self.points: list[tuple[float, float, float, float]] = []
        self.losses: list[float] = []

    def record(self, t: float) -> None:
        self.points.append((t, self.law.window, self.rtt, self.rate))

    def next_loss(self, t: float) -> float:
        """Return the time of its next own loss, seconds; losses of a round trip that already had a loss are skipped."""
        scheduled = self._loss_times[-1] if self._loss_times else math.inf
        if self._until_loss == math.inf:
            return scheduled
        periodic, spacing = t + self._until_loss / self.rate, self._every / self.rate
        if periodic < self.repaired:
            periodic += spacing * math.ceil((self.repaired - periodic) / spacing)
        return min(scheduled, periodic)

    def loses(self, t: float, dt: float) -> bool:
        """Return True if an own loss is due at the end of the `dt` seconds up to `t`."""
        due = bool(self._loss_times) and self._loss_times[-1] <= t
        if due:
            self._loss_times.pop()
        if self._until_loss < math.inf:
            self._until_loss -= self.rate * dt
            if self._until_loss <= _TOLERANCE * self._every:
                overshoot = -self._until_loss % self._every
                now = min(overshoot, self._every - overshoot) <= _TOLERANCE * self._every
                self._until_loss = self._every if now else self._every - overshoot
                due = due or now
        return due

    def lose(self, t: float, room: float) -> None:
        if t < self.repaired:
            return
        self.losses.append(t)
        self.law.lose(room)
        self.repaired = t + self.rtt * (1 - _TOLERANCE)
        while self._loss_times and self._loss_times[-1] < self.repaired:
            self._loss_times.pop()

    def trajectory(self) -> Trajectory:
        t, cwnd, rtt, rate = zip(*self.points, strict=True) if self.points else ((), (), (), ())
        throughput = tuple([self.bits * each for each in rate])
        return Trajectory(
            source=self.source, t=t, cwnd=cwnd, rtt=rtt, throughput=throughput, losses=tuple(self.losses)
        )


class _Link:
    """The bottleneck in balance: the queue and each flow's rate, in segments/s and seconds."""

    def __init__(self, path: Bottleneck, flows: Sequence[_Flow]) -> None:
        self._alike = len({flow.base for flow in flows}) == 1
        self._rate = math.inf if path.rate is None else path.rate / (8 * path.mss)
        self._longest = 0.0 if path.rate is None else 8 * path.queue / path.rate

    def share(self, flows: Sequence[_Flow]) -> tuple[float, float]:
        """Set round trip and rate of each flow; return the data in flight over the BDP, and the fraction that fits.

        The delay d solves sum of flight / (base + d) = rate, up to the delay of a full queue.
        """
        demand = sum([flow.law.flight / flow.base for flow in flows])
        delay, room = 0.0, 1.0
        if demand > self._rate:
            delay = self._delay(flows)
            if delay > self._longest:
                delay = self._longest
                room = self._rate / sum([flow.law.flight / (flow.base + delay) for flow in flows])
        for flow in flows:
            flow.rtt = flow.base + delay
            flow.rate = room * flow.law.flight / flow.rtt
        return demand / self._rate, room

    def fits(self, flows: Sequence[_Flow]) -> bool:
        return sum([flow.law.flight / (flow.base + self._longest) for flow in flows]) <= self._rate

    def _delay(self, flows: Sequence[_Flow]) -> float:
        if self._alike:
            # Rounding can make an almost empty queue negative.
            return max(0.0, sum([flow.law.flight for flow in flows]) / self._rate - flows[0].base)
        # Newton's method from below: the sum falls and is convex, so it never overshoots the root.
        delay = 0.0
        for _ in range(50):
            rates = [flow.law.flight / (flow.base + delay) for flow in flows]
            excess = sum(rates) - self._rate
            if excess <= 1e-9 * self._rate:
                break
            delay += excess / sum(rate / (flow.base + delay) for rate, flow in zip(rates, flows, strict=True))
        return delay


def _play(link: _Link, flows: list[_Flow], duration: float, step: float, synchronised: bool) -> None:
    waiting = sorted(flows, key=lambda flow: flow.source.start, reverse=True)
    active: list[_Flow] = []
    t, noticed = 0.0, math.inf
    while True:
        while waiting and waiting[-1].source.start <= t:
            active.append(waiting.pop())
        filled, room = link.share(active)
        for flow in active:
            flow.record(t)
        if room < 1 and noticed == math.inf:
            noticed = t + min(flow.rtt for flow in active)
        if t >= duration:
            return
        end = min(t + step, duration, noticed, waiting[-1].source.start if waiting else duration)
        for flow in active:
            if flow.has_losses:
                end = min(end, flow.next_loss(t))
        dt, t = max(0.0, end - t), max(t, end)
        for flow in active:
            flow.law.pass_time(dt, flow.rtt, flow.rate, filled)
        own = [flow for flow in active if flow.has_losses and flow.loses(t, dt)]
        if own or t >= noticed:
            _, room = link.share(active)
            for flow in active:
                flow.record(t)
            for flow in own:
                flow.lose(t, 1.0)
        if t >= noticed:
            noticed = math.inf
            _overflow(link, active, t, room, synchronised)


def _overflow(link: _Link, active: list[_Flow], t: float, room: float, synchronised: bool) -> None:
    for flow in sorted(active, key=lambda flow: flow.law.flight, reverse=True):
        if not synchronised and link.fits(active):
            return
        flow.lose(t, room)
