"""Simulation of flows that share a link and also lose segments at random: the mean of each flow.

`theory.renewal` has a single flow's chain of windows. With several flows on a link each depends on all others
through the queue, so their senders are simulated together, a round trip at a time. Randomness is spread
evenly: the hazards at which flows lose are the quantiles of their distribution, in a fixed order, so that a
short simulation gives the mean and is reproducible.

When the queue is full, the excess over the link's capacity is dropped, from each flow in proportion, until
the first flows have found their losses and halved. So several flows lose together; their number follows from
their growth.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tcptutor.theory.loss_laws import MIN_WINDOW
from tcptutor.theory.renewal import Age, Epoch, Limits, Sender

_FLOW_ROUNDS = 5000
"""Simulated round trips of all flows together; about 20 ms of computation."""

_MIN_ROUNDS = 500
"""Simulated round trips per flow, at least."""

_SETTLING = 0.15
"""Fraction of the simulation before the mean starts."""

_GOLDEN = (math.sqrt(5) - 1) / 2
"""Golden ratio: the fractional parts of its multiples are spread evenly."""

_HAZARDS = 256
"""Number of quantiles in a cycle."""


@dataclass(frozen=True, slots=True)
class Member:
    """A flow of the simulation."""

    sender: Sender
    limits: Limits
    """Its own limits; rate and queue are those of the link."""
    loss: float
    """Loss probability of a segment."""


class SharedLink(NamedTuple):
    """Mean behavior of flows and the queue of their link."""

    rates: tuple[float, ...]
    """Arriving segments per second of each flow."""
    delay: float
    """Queueing delay of a segment, seconds."""
    loss: float
    """Loss events per sent segment, of all flows; losses before a loss is found belong to the same event."""


class _Flow:
    """A sender in the simulation. Owns its position between two losses."""

    __slots__ = (
        "age",
        "base",
        "count",
        "delivered",
        "detected_at",
        "draws",
        "epoch",
        "events",
        "flight",
        "hazard",
        "limit",
        "limits",
        "line",
        "loss",
        "mode",
        "most",
        "repaired",
        "round_trip",
        "sender",
        "sent",
        "total_sent",
        "window",
    )  # fmt: skip

    def __init__(self, member: Member, window: float, draws: Sequence[float], place: int) -> None:
        self.sender, self.limits, self.loss = member.sender, member.limits, member.loss
        self.base, self.most = member.limits.rtt, member.limits.max_inflight
        self.limit = member.limits.max_cwnd + 0.5
        self.window, self.mode = window, 0
        self.epoch: Epoch = member.sender.epoch(window, 0)
        self.line = min(self.most, max(self.epoch.start, window))
        self.flight = self.line
        self.age = Age(0.0, 0.0)
        self.draws, self.count = draws, place
        self.hazard = draws[place % len(draws)] * 0.5
        self.detected_at = self.repaired = math.inf
        self.round_trip = self.base
        self.sent = 0.0
        self.begin()

    def begin(self) -> None:
        self.delivered = self.total_sent = 0.0
        self.events = 0

    def turn_to(self, now: float, dt: float) -> None:
        """Apply events due until the middle of the next `dt` seconds, and grow the window."""
        soon = now + dt / 2
        if soon >= self.detected_at:
            self._find(now)
        elif soon >= self.repaired:
            self.repaired = math.inf
            self.line, self.age = self.epoch.start, Age(0.0, 0.0)
        if self.repaired == math.inf:
            # Comparisons instead of min and max: this runs for each flow in each step.
            seconds, rounds = self.age
            after, epoch = Age(seconds + dt, rounds + dt / self.round_trip), self.epoch
            line = epoch.grow(self.line, self.age, after)
            line = line if line < self.limit else self.limit
            flight, start = (self.line + line) / 2 - 0.5, epoch.start
            flight = flight if flight > start else start
            self.flight = flight if flight < self.most else self.most
            self.line, self.age = line, after

    def send(self, now: float, dt: float, room: float, others: float) -> None:
        """Send for `dt` seconds; the link accepts the fraction `room`."""
        rounds = dt / self.round_trip
        sent = (self.flight - self.limits.waiting(self.flight, others)) * rounds
        self.sent = sent
        self.total_sent += sent
        self.delivered += sent * room * (1 - self.loss)
        hazard = sent * self.loss
        if hazard < self.hazard:
            self.hazard -= hazard
            return
        self.lose(now + dt * self.hazard / hazard)
        if (more := hazard - self.hazard) >= _hazard_cycle():
            # Complete cycles of hazards cancel; a step at an extreme rate can have many.
            hazard = self.hazard + more % _hazard_cycle()
        while hazard >= self.hazard:
            self.count += 1
            hazard, self.hazard = hazard - self.hazard, self.draws[self.count % len(self.draws)]
        self.hazard -= hazard

    def lose(self, now: float) -> None:
        """Lose a segment; until the loss is found, further losses belong to the same event."""
        if self.detected_at == math.inf:
            self.detected_at = now + self.round_trip
            self.events += 1

    def _find(self, now: float) -> None:
        """Find the loss: reduce the window and start the repair."""
        window = self.flight if self.repaired < math.inf else min(self.limits.max_cwnd, self.line - 0.5)
        window = max(MIN_WINDOW, window)
        self.mode = self.sender.next_mode(self.window, self.mode, window)
        self.epoch = self.sender.epoch(window, self.mode)
        self.window = window
        self.detected_at = math.inf
        self.flight = min(self.most, self.epoch.start)
        if self.limits.window < math.inf:
            self.flight = max(1.0, min(self.flight, self.limits.window - window))
        self.repaired = now + self.round_trip


_MAX_DROPS = 1000
"""At most this many drops per round trip are assigned to flows."""


def shared_link(members: Sequence[Member], rate: float, queue: float) -> SharedLink:
    """Return the means of flows that share a link.

    Args:
        members: The flows.
        rate: Capacity of the link, segments per second.
        queue: Largest queue of the link, segments.
    """
    draws = _hazards()
    number = len(members)
    share = (rate * min(one.limits.rtt for one in members) + queue) / number
    flows = [
        _Flow(one, max(3.0, share * (0.6 + 0.4 * ((place * _GOLDEN) % 1))), draws, place * 97)
        for place, one in enumerate(members)
    ]
    rounds = max(_MIN_ROUNDS, _FLOW_ROUNDS // number)
    longest = queue / rate
    delay = now = since = excess = waited = 0.0
    dropped, dt = 0, min(flow.base for flow in flows)
    for step in range(rounds):
        if step == int(_SETTLING * rounds):
            since, waited = now, 0.0
            for flow in flows:
                flow.begin()
        for flow in flows:
            flow.turn_to(now, dt)
        delay, room = _delay(flows, rate, delay, longest)
        dt, total = math.inf, sum([flow.flight for flow in flows])
        for flow in flows:
            flow.round_trip = flow.base + delay
            dt = min(dt, flow.round_trip)
        for flow in flows:
            flow.send(now, dt, room, total - flow.flight)
        # The excess is dropped, from each flow in proportion.
        excess = excess + sum([flow.sent for flow in flows]) * (1 - room) if room < 1 else 0.0
        excess = min(excess, _MAX_DROPS)
        while excess >= 1:
            excess, dropped = excess - 1, dropped + 1
            _drop_victim(flows, dropped).lose(now + dt / 2)
        now += dt
        waited += delay * dt
    seconds, segments = now - since, math.fsum(flow.total_sent for flow in flows)
    return SharedLink(
        rates=tuple(flow.delivered / seconds for flow in flows),
        delay=waited / seconds,
        loss=math.fsum(flow.events for flow in flows) / segments if segments else 0.0,
    )


def _drop_victim(flows: Sequence[_Flow], number: int) -> _Flow:
    left = (number * _GOLDEN % 1) * sum([flow.sent for flow in flows])
    for flow in flows:
        left -= flow.sent
        if left <= 0:
            return flow
    return flows[-1]


def _delay(flows: Sequence[_Flow], rate: float, before: float, longest: float) -> tuple[float, float]:
    """Return the delay, seconds, that solves sum of flight / (base + delay) = rate, and the fraction accepted."""
    pairs = [(flow.flight, flow.base) for flow in flows]
    if sum([flight / base for flight, base in pairs]) <= rate:
        return 0.0, 1.0
    delay = before
    for _ in range(3):
        total = sum([flight / (base + delay) for flight, base in pairs])
        slope = sum([flight / (base + delay) ** 2 for flight, base in pairs])
        delay = max(0.0, delay + (total - rate) / slope)
    if delay <= longest:
        return delay, 1.0
    return longest, rate / sum([flow.flight / (flow.base + longest) for flow in flows])


@cache
def _hazards() -> tuple[float, ...]:
    """Return quantiles of the exponential distribution with mean 1, in mixed order."""
    values = [-math.log(1 - (place + 0.5) / _HAZARDS) for place in range(_HAZARDS)]
    random.Random(1).shuffle(values)
    return tuple(values)


@cache
def _hazard_cycle() -> float:
    return math.fsum(_hazards())
