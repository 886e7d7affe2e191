"""The bottleneck in balance: what waits in the queue, and what each flow gets, from what all have in flight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from tcptutor.theory.trajectory.law import Law
from tcptutor.theory.trajectory.path import Bottleneck


class Flow(Protocol):
    """What the link reads and writes of a flow."""

    law: Law
    base: float
    rtt: float
    rate: float


class Link:
    """Rates are segments/s here, and times seconds."""

    def __init__(self, path: Bottleneck, flows: Sequence[Flow]) -> None:
        self._alike = len({flow.base for flow in flows}) == 1
        self._rate = math.inf if path.rate is None else path.rate / (8 * path.mss)
        self._longest = 0.0 if path.rate is None else 8 * path.queue / path.rate

    def share(self, flows: Sequence[Flow]) -> tuple[float, float]:
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

    def fits(self, flows: Sequence[Flow]) -> bool:
        """Whether path and queue hold what all have in flight."""
        return sum(flow.law.flight / (flow.base + self._longest) for flow in flows) <= self._rate

    def _delay(self, flows: Sequence[Flow]) -> float:
        if self._alike:
            return sum([flow.law.flight for flow in flows]) / self._rate - flows[0].base
        # Newton from below: the sum falls and is convex, so it never steps over the root.
        delay = 0.0
        for _ in range(50):
            rates = [flow.law.flight / (flow.base + delay) for flow in flows]
            excess = sum(rates) - self._rate
            if excess <= 1e-9 * self._rate:
                break
            delay += excess / sum(rate / (flow.base + delay) for rate, flow in zip(rates, flows, strict=True))
        return delay
