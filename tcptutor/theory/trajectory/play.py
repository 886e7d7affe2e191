"""Play window laws against each other on one bottleneck, step by step.

A step is the shortest round trip without queue, and ends early where a loss or a flow's start is due. Within it the
path is in balance: the queue is what of all that is in flight does not fit on the path, each flow gets what it has in
flight over its round trip, and round trips grow with the queue. No randomness, no timeouts, no bursts.

A queue that overflows is noticed a round trip later; the windows grow on until then, so slow start ends at twice what
fits. Then flows lose one after another, that with the most in flight first, until what is left fits: a drop-tail queue
drops from each in proportion to its share. AIMD flows that take turns like this use exactly `shared_utilisation` of a
link without buffer. With `synchronised` all lose together, and use what one flow does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tcptutor.theory.domain import positive, require
from tcptutor.theory.trajectory.bbr import BBR
from tcptutor.theory.trajectory.law import WindowLaw
from tcptutor.theory.trajectory.lossbased import AIMD, HTCP, Cubic, HighSpeed
from tcptutor.theory.trajectory.path import MOST_ROUNDS, Bottleneck, Source, Trajectory

LARGEST_WINDOW = 2.0**30
"""Bytes that a TCP receiver can announce (RFC 7323, section 2.3)."""

_CLOSE = 1e-9  # relative: what is as near as this is the same moment

LAWS: dict[str, Callable[[float, float, float, int], WindowLaw]] = {
    "reno": lambda rtt, initial, most, _: AIMD(rtt, initial, most),
    "cubic": lambda rtt, initial, most, _: Cubic(rtt, initial, most),
    "htcp": lambda rtt, initial, most, _: HTCP(rtt, initial, most),
    "highspeed": lambda rtt, initial, most, _: HighSpeed(rtt, initial, most),
    "bbr": BBR,
}
"""Every algorithm: a law from its round trip in seconds, first and largest window in segments, and its place."""


def trajectories(
    path: Bottleneck, flows: Sequence[Source], duration: float, *, synchronised: bool = False
) -> tuple[Trajectory, ...]:
    """What each flow's window, round trip and throughput do for `duration` seconds, in the order of `flows`.

    synchronised: whether all flows lose when the queue overflows. Raises ParameterError for no flow, an
    unknown algorithm, a duration that is not above 0, and more than MOST_ROUNDS round trips of all flows.
    """
    positive("duration", duration, "seconds to compute")
    require(bool(flows), "flows", "none", "at least one", "without a flow nothing happens")
    known = ", ".join(LAWS)
    for flow in flows:
        require(flow.algorithm in LAWS, "algorithm", flow.algorithm, f"one of {known}", "no law for it")
    step = min(flow.rtt or path.rtt for flow in flows)
    longest = MOST_ROUNDS * step / len(flows)
    reason = f"{MOST_ROUNDS:,} round trips of all flows together"
    require(duration <= longest, "duration", f"{duration:g}", f"at most {longest:g}", reason)
    played = [_Flow(path, flow, place) for place, flow in enumerate(flows)]
    _play(_Link(path, played), played, duration, step, synchronised)
    return tuple(flow.trajectory() for flow in played)


class _Flow:
    """One flow while it is played: its law, the losses to come, and the columns so far."""

    def __init__(self, path: Bottleneck, source: Source, place: int) -> None:
        self.source = source
        self.base = source.rtt or path.rtt
        most = LARGEST_WINDOW / path.mss if source.window is None else source.window
        self.law = LAWS[source.algorithm](self.base, source.initial, most, place)
        self.bits = 8 * path.mss
        self.rtt = self.base
        self.rate = 0.0  # segments/s
        self.repaired = 0.0  # until then a loss belongs to one that it has answered
        self._given = sorted(source.losses, reverse=True)
        self._every = 1 / source.loss if source.loss else math.inf
        self._left = self._every
        self.has_losses = bool(source.losses) or source.loss > 0
        self.points: list[tuple[float, float, float, float]] = []
        self.losses: list[float] = []

    def record(self, t: float) -> None:
        self.points.append((t, self.law.window, self.rtt, self.rate))

    def next_loss(self, t: float) -> float:
        """When one of its own losses is due again, seconds; those of a round trip that it has answered are not."""
        given = self._given[-1] if self._given else math.inf
        if self._left == math.inf:
            return given
        counted, apart = t + self._left / self.rate, self._every / self.rate
        if counted < self.repaired:
            counted += apart * math.ceil((self.repaired - counted) / apart)
        return min(given, counted)

    def loses(self, t: float, dt: float) -> bool:
        """Whether one of its own losses is due at the end of the `dt` seconds up to `t`."""
        due = bool(self._given) and self._given[-1] <= t
        if due:
            self._given.pop()
        if self._left < math.inf:
            self._left -= self.rate * dt
            if self._left <= _CLOSE * self._every:
                passed = -self._left % self._every
                now = min(passed, self._every - passed) <= _CLOSE * self._every
                self._left = self._every if now else self._every - passed
                due = due or now
        return due

    def lose(self, t: float, room: float) -> None:
        if t < self.repaired:
            return
        self.losses.append(t)
        self.law.lose(room)
        self.repaired = t + self.rtt * (1 - _CLOSE)
        while self._given and self._given[-1] < self.repaired:
            self._given.pop()

    def trajectory(self) -> Trajectory:
        t, cwnd, rtt, rate = zip(*self.points, strict=True) if self.points else ((), (), (), ())
        throughput = tuple([self.bits * each for each in rate])
        return Trajectory(
            source=self.source, t=t, cwnd=cwnd, rtt=rtt, throughput=throughput, losses=tuple(self.losses)
        )


class _Link:
    """The bottleneck in balance: what waits in its queue, and what each flow gets. In segments/s and seconds."""

    def __init__(self, path: Bottleneck, flows: Sequence[_Flow]) -> None:
        self._alike = len({flow.base for flow in flows}) == 1
        self._rate = math.inf if path.rate is None else path.rate / (8 * path.mss)
        self._longest = 0.0 if path.rate is None else 8 * path.queue / path.rate

    def share(self, flows: Sequence[_Flow]) -> tuple[float, float]:
        """Set round trip and rate of each; what is in flight over the BDP, and the share of it that fits.

        The delay d solves sum of flight / (base + d) = rate, and is the full queue's when that is less.
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
        """Whether path and queue hold what all have in flight."""
        return sum([flow.law.flight / (flow.base + self._longest) for flow in flows]) <= self._rate

    def _delay(self, flows: Sequence[_Flow]) -> float:
        if self._alike:
            # By a rounding less than nothing where the queue is only just empty.
            return max(0.0, sum([flow.law.flight for flow in flows]) / self._rate - flows[0].base)
        # Newton from below: the sum falls and is convex, so it never steps over the root.
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
    """The largest flows lose until the rest fits; all of them when they are `synchronised`."""
    for flow in sorted(active, key=lambda flow: flow.law.flight, reverse=True):
        if not synchronised and link.fits(active):
            return
        flow.lose(t, room)
