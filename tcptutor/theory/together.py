"""Flows that share a link and lose segments by chance too, played: what each of them gets on average.

`theory.renewal` has one flow's chain of windows. Of several flows on one link each depends on all others through the
queue, so their senders are played side by side, a round trip at a time. Chance is drawn evenly: the hazards at which
flows lose are the quantiles of their distribution, in an order that is always the same, so that a short play gives the
mean and the same one each time.

When the queue is full, what is more than the link carries is dropped, of each flow its share, until the first flows
have found their losses and halved: so several flows lose together, how many follows from how fast they all grow.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tcptutor.theory.aimd import MIN_WINDOW
from tcptutor.theory.renewal import Age, Epoch, Limits, Sender

_FLOW_ROUNDS = 5000
"""Round trips of all flows together that are played; some 20 ms."""

_LEAST_ROUNDS = 500
"""Of each flow."""

_SETTLING = 0.15
"""Share of the play that comes before the mean begins."""

_GOLDEN = (math.sqrt(5) - 1) / 2
"""Its multiples, without their whole parts, are spread evenly."""

_HAZARDS = 256
"""Quantiles in a turn."""


@dataclass(frozen=True, slots=True)
class Member:
    """One of the flows."""

    sender: Sender
    limits: Limits
    """Its own; rate and queue are those of the link."""
    loss: float
    """Share of its segments that are lost by chance."""


class SharedLink(NamedTuple):
    """What flows and the queue of their link do on average."""

    rates: tuple[float, ...]
    """Segments a second that arrive of each flow."""
    delay: float
    """Seconds that a segment waits in the queue."""
    loss: float
    """Loss events per segment sent, of all flows: what is lost before a loss is found belongs to the same event."""


class _Flow:
    """A sender in the play. Owns where it is between two losses."""

    __slots__ = (
        "age",
        "base",
        "count",
        "draws",
        "epoch",
        "events",
        "flight",
        "found",
        "given",
        "got",
        "hazard",
        "limit",
        "limits",
        "line",
        "loss",
        "mode",
        "most",
        "repaired",
        "sender",
        "sent",
        "turn",
        "window",
    )  # fmt: skip

    def __init__(self, member: Member, window: float, draws: Sequence[float], place: int) -> None:
        self.sender, self.limits, self.loss = member.sender, member.limits, member.loss
        self.base, self.most = member.limits.rtt, member.limits.most
        self.limit = member.limits.top + 0.5
        self.window, self.mode = window, 0
        self.epoch: Epoch = member.sender.epoch(window, 0)
        self.line = min(self.most, max(self.epoch.start, window))
        self.flight = self.line
        self.age = Age(0.0, 0.0)
        self.draws, self.count = draws, place
        self.hazard = draws[place % len(draws)] * 0.5
        self.found = self.repaired = math.inf
        self.turn = self.base
        self.sent = 0.0
        self.begin()

    def begin(self) -> None:
        """The mean begins here."""
        self.got = self.given = 0.0
        self.events = 0

    def turn_to(self, now: float, dt: float) -> None:
        """What becomes due until the middle of the `dt` seconds from `now` on, and what the window grows by in them."""
        soon = now + dt / 2
        if soon >= self.found:
            self._find(now)
        elif soon >= self.repaired:
            self.repaired = math.inf
            self.line, self.age = self.epoch.start, Age(0.0, 0.0)
        if self.repaired == math.inf:
            # Comparisons in place of min and max: this is asked for each flow in each step.
            seconds, rounds = self.age
            after, epoch = Age(seconds + dt, rounds + dt / self.turn), self.epoch
            line = epoch.grown(self.line, self.age, after)
            line = line if line < self.limit else self.limit
            flight, start = (self.line + line) / 2 - 0.5, epoch.start
            flight = flight if flight > start else start
            self.flight = flight if flight < self.most else self.most
            self.line, self.age = line, after

    def send(self, now: float, dt: float, room: float, others: float) -> None:
        """`dt` seconds from `now` on, in which the link lets the share `room` of what is sent through."""
        rounds = dt / self.turn
        sent = (self.flight - self.limits.waiting(self.flight, others)) * rounds
        self.sent = sent
        self.given += sent
        self.got += sent * room * (1 - self.loss)
        hazard = sent * self.loss
        if hazard < self.hazard:
            self.hazard -= hazard
            return
        self.lose(now + dt * self.hazard / hazard)
        if (more := hazard - self.hazard) >= _turn():
            # Whole turns end where they began, however many a step of an absurd rate has.
            hazard = self.hazard + more % _turn()
        while hazard >= self.hazard:
            self.count += 1
            hazard, self.hazard = hazard - self.hazard, self.draws[self.count % len(self.draws)]
        self.hazard -= hazard

    def lose(self, now: float) -> None:
        """A segment is lost; one that is lost before that is found belongs to the same event."""
        if self.found == math.inf:
            self.found = now + self.turn
            self.events += 1

    def _find(self, now: float) -> None:
        """The loss is found: the window is cut, and the repair begins."""
        grown = self.flight if self.repaired < math.inf else min(self.limits.top, self.line - 0.5)
        window = max(MIN_WINDOW, grown)
        self.mode = self.sender.follow(self.window, self.mode, window)
        self.epoch = self.sender.epoch(window, self.mode)
        self.window = window
        self.found = math.inf
        self.flight = min(self.most, self.epoch.start)
        if self.limits.window < math.inf:
            self.flight = max(1.0, min(self.flight, self.limits.window - window))
        self.repaired = now + self.turn


_MOST_DROPS = 1000
"""Segments that are drawn of those dropped in a round trip: of more no other flow is told."""


def shared_link(members: Sequence[Member], rate: float, queue: float) -> SharedLink:
    """The means of the flows that share a link.

    rate: segments a second that the link carries; queue: segments that wait before it at most.
    """
    draws = _hazards()
    number = len(members)
    share = (rate * min(one.limits.rtt for one in members) + queue) / number
    flows = [
        _Flow(one, max(3.0, share * (0.6 + 0.4 * ((place * _GOLDEN) % 1))), draws, place * 97)
        for place, one in enumerate(members)
    ]
    rounds = max(_LEAST_ROUNDS, _FLOW_ROUNDS // number)
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
            flow.turn = flow.base + delay
            dt = min(dt, flow.turn)
        for flow in flows:
            flow.send(now, dt, room, total - flow.flight)
        # What is more than fits is dropped, of each flow by its share.
        excess = excess + sum([flow.sent for flow in flows]) * (1 - room) if room < 1 else 0.0
        excess = min(excess, _MOST_DROPS)
        while excess >= 1:
            excess, dropped = excess - 1, dropped + 1
            _drawn(flows, dropped).lose(now + dt / 2)
        now += dt
        waited += delay * dt
    seconds, given = now - since, math.fsum(flow.given for flow in flows)
    return SharedLink(
        rates=tuple(flow.got / seconds for flow in flows),
        delay=waited / seconds,
        loss=math.fsum(flow.events for flow in flows) / given if given else 0.0,
    )


def _drawn(flows: Sequence[_Flow], number: int) -> _Flow:
    """The flow of the segment that is dropped, drawn evenly by their shares."""
    left = (number * _GOLDEN % 1) * sum([flow.sent for flow in flows])
    for flow in flows:
        left -= flow.sent
        if left <= 0:
            return flow
    return flows[-1]


def _delay(flows: Sequence[_Flow], rate: float, before: float, longest: float) -> tuple[float, float]:
    """The queue's delay, seconds: sum of flight / (base + delay) = rate; and the share that it lets through."""
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
    """Quantiles of the exponential distribution of mean 1, in mixed order."""
    values = [-math.log(1 - (place + 0.5) / _HAZARDS) for place in range(_HAZARDS)]
    random.Random(1).shuffle(values)
    return tuple(values)


@cache
def _turn() -> float:
    """The sum of all quantiles."""
    return math.fsum(_hazards())
