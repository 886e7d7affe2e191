"""Throughput of flows with several simultaneous limits: random loss, window, pacing, a shared link with a queue."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tcptutor.theory.cubic import LinuxCubic
from tcptutor.theory.domain import at_least, positive, require
from tcptutor.theory.high_speed import LinuxHTCP
from tcptutor.theory.loss_laws import ACK_EVERY, ACK_STRETCHED
from tcptutor.theory.renewal import Limits, Sender, mean
from tcptutor.theory.senders import LinuxHighSpeed, LinuxReno
from tcptutor.theory.shared_link import Member, SharedLink, shared_link

_SENDERS: dict[str, Callable[[float, float], Sender]] = {
    "reno": lambda _rtt, _acked: LinuxReno(),
    "cubic": lambda rtt, _acked: LinuxCubic(rtt),
    "htcp": LinuxHTCP,
    "highspeed": lambda _rtt, acked: LinuxHighSpeed(acked),
}
"""Senders by algorithm, from the base RTT in seconds and the segments per ACK."""

LIMITED = frozenset(_SENDERS)
"""Algorithms of `limited_rates`, by the kernel's names."""


def sender(algorithm: str, rtt: float) -> Sender:
    """Return Linux's window law of `algorithm`, one of LIMITED, at a round trip of `rtt` seconds."""
    return _SENDERS[algorithm](rtt, ACK_EVERY)


_INTERACTION = 0.4
"""Fraction of the link's rate from which flows affect each other by occasional queues and spread flights."""


_MAX_SIMULATED = 16
"""Number of equal flows above which a smaller number is simulated on a proportional part of the link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedFlow:
    """A flow and its own limits."""

    algorithm: str
    """A member of LIMITED."""
    rtt: float
    """Base RTT, seconds, above 0."""
    loss: float = 0.0
    """Loss probability of a segment, 0 to below 1."""
    rto: float = 0.0
    """First retransmission timeout, seconds; 0 ignores timeouts and delayed acknowledgments."""
    window: float = math.inf
    """The receiver's window, segments, 1 or above."""
    pace: float = math.inf
    """Pacing rate, segments per second, above 0."""
    spread: bool = False
    """Whether pacing above the flow's rate spreads its segments, so that each ACK covers two segments and not
    a burst."""

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
        """Return True if the flow has no limit of its own."""
        return self.loss == 0 and math.isinf(self.window) and math.isinf(self.pace)

    def limits(self, rate: float = math.inf, queue: float = math.inf) -> Limits:
        return Limits(rtt=self.rtt, window=self.window, pace=self.pace, rate=rate, queue=queue, rto=self.rto)


def limited_rates(
    flows: Sequence[LimitedFlow], rate: float = math.inf, queue: float = math.inf
) -> tuple[float, ...]:
    """Return the mean goodput of each flow, segments per second; infinite without a limit.

    Never more than window, pace or link allow. Source: `theory.renewal` for a flow that is alone or
    independent of the others, `theory.shared_link` for flows that share a link; the senders are those of
    net/ipv4. Raises ParameterError outside the domain.

    Args:
        flows: The flows.
        rate: Capacity of their shared link, segments per second, above 0; infinite for no link.
        queue: Largest queue of the link, segments, 0 or above; infinite for no link.
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
    if together <= _INTERACTION * rate or (together <= rate and all(flow.loss == 0 for flow in flows)):
        return free
    if len(flows) == 1:
        return (min(rate, free[0], _alone(flows[0], rate, queue)),)
    if len(flows) > _MAX_SIMULATED and len(set(flows)) == 1:
        part = _MAX_SIMULATED / len(flows)
        return _rates(flows[:_MAX_SIMULATED], part * rate, part * queue)[:1] * len(flows)
    return _averaged(flows, free, _simulated(flows, rate, queue).rates)


def limited_link(flows: Sequence[LimitedFlow], rate: float, queue: float) -> SharedLink:
    """Return the mean rates, delay and loss events of `flows` on a shared link.

    Arguments, source and errors as in `limited_rates`; the rate must be finite.
    """
    _require_link(flows, rate, queue)
    require(math.isfinite(rate), "rate", rate, "finite", "only a link with a rate has a queue")
    if len(flows) > _MAX_SIMULATED and len(set(flows)) == 1:
        part = _MAX_SIMULATED / len(flows)
        link = _simulated(tuple(flows[:_MAX_SIMULATED]), part * rate, part * queue)
        return link._replace(rates=link.rates[:1] * len(flows))
    return _simulated(tuple(flows), rate, queue)


@lru_cache(maxsize=64)
def _simulated(flows: tuple[LimitedFlow, ...], rate: float, queue: float) -> SharedLink:
    members = [
        Member(_SENDERS[flow.algorithm](flow.rtt, ACK_EVERY), flow.limits(rate, queue), flow.loss)
        for flow in flows
    ]
    return shared_link(members, rate, queue)


def _averaged(
    flows: Sequence[LimitedFlow], free: Sequence[float], simulated: Sequence[float]
) -> tuple[float, ...]:
    """Average the rates of equal flows, limited to their rate without the link."""
    same: dict[LimitedFlow, list[float]] = {}
    for flow, simulated_rate in zip(flows, simulated, strict=True):
        same.setdefault(flow, []).append(simulated_rate)
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
