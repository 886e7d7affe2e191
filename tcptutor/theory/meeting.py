"""What flows get within all their limits at once: random loss, a window, pacing, a link with a queue, each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tcptutor.theory.aimd import ACK_EVERY, ACK_STRETCHED
from tcptutor.theory.cubic import LinuxCubic
from tcptutor.theory.domain import at_least, positive, require
from tcptutor.theory.htcp import LinuxHTCP
from tcptutor.theory.renewal import Limits, Sender, mean
from tcptutor.theory.senders import LinuxHighSpeed, LinuxReno
from tcptutor.theory.together import Member, SharedLink, shared_link

_SENDERS: dict[str, Callable[[float, float], Sender]] = {
    "reno": lambda _rtt, _acked: LinuxReno(),
    "cubic": lambda rtt, _acked: LinuxCubic(rtt),
    "htcp": LinuxHTCP,
    "highspeed": lambda _rtt, acked: LinuxHighSpeed(acked),
}
"""From the round trip without queue, seconds, and the segments of an ACK."""

LIMITED = frozenset(_SENDERS)
"""Algorithms that `limited_rates` has, by the kernel's names."""


def sender(algorithm: str, rtt: float) -> Sender:
    """Return Linux's window law of `algorithm`, one of LIMITED, at a round trip of `rtt` seconds."""
    return _SENDERS[algorithm](rtt, ACK_EVERY)


_FELT = 0.4
"""Share of the link from which on its flows feel it: a queue now and then, and flights that it spreads."""


_PLAYED = 16
"""Flows that are alike and more than that are played as so many on their part of the link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedFlow:
    """One flow, and what limits it alone."""

    algorithm: str
    """One of LIMITED."""
    rtt: float
    """Seconds without queue, above 0."""
    loss: float = 0.0
    """Share of its segments that are lost by chance, 0 to below 1."""
    rto: float = 0.0
    """The first retransmission timeout, seconds; 0 leaves timeouts and delayed acknowledgements out."""
    window: float = math.inf
    """Segments that the receiver lets be under way, 1 or above."""
    pace: float = math.inf
    """Segments a second that it paces at, above 0."""
    spread: bool = False
    """Whether its segments are spread by pacing that is no limit: then each ACK is for two of them, not for a burst."""

    def __post_init__(self) -> None:
        known = ", ".join(sorted(LIMITED))
        require(self.algorithm in LIMITED, "algorithm", self.algorithm, known, "others have no law here")
        positive("rtt", self.rtt, "a round trip takes time, in seconds")
        require(0 <= self.loss < 1, "loss", self.loss, "0 or above, below 1", "share of segments")
        at_least("rto", self.rto, 0, "a retransmission timeout in seconds")
        require(self.window >= 1, "window", self.window, "1 or above", "the receiver's window in segments")
        require(self.pace > 0, "pace", self.pace, "above 0", "segments a second")

    @property
    def is_free(self) -> bool:
        """Whether nothing of its own limits it."""
        return self.loss == 0 and math.isinf(self.window) and math.isinf(self.pace)

    def limits(self, rate: float = math.inf, queue: float = math.inf) -> Limits:
        return Limits(rtt=self.rtt, window=self.window, pace=self.pace, rate=rate, queue=queue, rto=self.rto)


def limited_rates(
    flows: Sequence[LimitedFlow], rate: float = math.inf, queue: float = math.inf
) -> tuple[float, ...]:
    """Segments a second that arrive of each of `flows`, on average; infinite where nothing limits them.

    rate: segments a second that the link carries which they share, above 0; queue: segments that wait before it at
    most, 0 or above; both infinite for no link. Never more than window, pace or link allow. Source: `theory.renewal`
    for a flow that is alone or does not feel the others, `theory.together` for those that share a link; the senders
    are those of net/ipv4. Raises ParameterError outside the domain.
    """
    _require_link(flows, rate, queue)
    return _rates(tuple(flows), rate, queue)


def _require_link(flows: Sequence[LimitedFlow], rate: float, queue: float) -> None:
    require(bool(flows), "flows", "none", "at least one", "without a flow there is no rate")
    require(rate > 0, "rate", rate, "above 0", "a link without a rate carries nothing")
    require(queue >= 0, "queue", queue, "0 or above", "segments that wait")


@lru_cache(maxsize=256)
def _rates(flows: tuple[LimitedFlow, ...], rate: float, queue: float) -> tuple[float, ...]:
    free = tuple(_alone(flow, math.inf, math.inf) for flow in flows)
    together = math.fsum(free)
    if together <= _FELT * rate or (together <= rate and all(flow.loss == 0 for flow in flows)):
        return free
    if len(flows) == 1:
        return (min(rate, free[0], _alone(flows[0], rate, queue)),)
    if len(flows) > _PLAYED and len(set(flows)) == 1:
        part = _PLAYED / len(flows)
        return _rates(flows[:_PLAYED], part * rate, part * queue)[:1] * len(flows)
    return _evened(flows, free, _played(flows, rate, queue).rates)


def limited_link(flows: Sequence[LimitedFlow], rate: float, queue: float) -> SharedLink:
    """What `flows` and the queue of the link that they share do on average: rates, delay and loss events.

    Arguments, source and errors as of `limited_rates`; the rate is finite.
    """
    _require_link(flows, rate, queue)
    require(math.isfinite(rate), "rate", rate, "finite", "only a link with a rate has a queue")
    if len(flows) > _PLAYED and len(set(flows)) == 1:
        part = _PLAYED / len(flows)
        found = _played(tuple(flows[:_PLAYED]), part * rate, part * queue)
        return found._replace(rates=found.rates[:1] * len(flows))
    return _played(tuple(flows), rate, queue)


@lru_cache(maxsize=64)
def _played(flows: tuple[LimitedFlow, ...], rate: float, queue: float) -> SharedLink:
    members = [
        Member(_SENDERS[flow.algorithm](flow.rtt, ACK_EVERY), flow.limits(rate, queue), flow.loss)
        for flow in flows
    ]
    return shared_link(members, rate, queue)


def _evened(
    flows: Sequence[LimitedFlow], free: Sequence[float], played: Sequence[float]
) -> tuple[float, ...]:
    """Flows that are alike get the same on average, and none more than it could have alone."""
    same: dict[LimitedFlow, list[float]] = {}
    for flow, got in zip(flows, played, strict=True):
        same.setdefault(flow, []).append(got)
    return tuple(
        min(most, math.fsum(same[flow]) / len(same[flow])) for flow, most in zip(flows, free, strict=True)
    )


@lru_cache(maxsize=1024)
def _alone(flow: LimitedFlow, rate: float, queue: float) -> float:
    if flow.is_free and math.isinf(rate):
        return math.inf
    spread = flow.spread or rate < math.inf or flow.pace < math.inf
    sender = _SENDERS[flow.algorithm](flow.rtt, ACK_EVERY if spread else ACK_STRETCHED)
    return mean(sender, flow.loss, flow.limits(rate, queue)).rate
