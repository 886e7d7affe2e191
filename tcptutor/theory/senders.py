"""Linux's senders under random loss: Reno and HighSpeed, and approximations of algorithms without a model of their own.

CUBIC's and H-TCP's are in their own modules. The approximations omit parts that depend on the queue: a path with
random losses only has none. Sources: net/ipv4/tcp_yeah.c, tcp_scalable.c, tcp_veno.c, tcp_illinois.c, tcp_westwood.c,
tcp_vegas.c, tcp_lp.c, tcp_hybla.c, tcp_nv.c, tcp_cdg.c, tcp_dctcp.c, tcp_bic.c.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tcptutor.theory.domain import loss_rate
from tcptutor.theory.high_speed import step
from tcptutor.theory.loss_laws import ACK_EVERY, ACK_STRETCHED, MIN_WINDOW
from tcptutor.theory.renewal import Age, Epoch, Limits, Sender, mean, mean_window

_ANY_RTT = 0.1
"""Arbitrary round trip, seconds: the windows of Reno and HighSpeed do not depend on it."""
_STEPS = 4
"""Integration steps per round trip for growth that depends on the window."""


@dataclass(frozen=True, slots=True)
class _RenoEpoch:
    start: float

    def grow(self, line: float, before: Age, after: Age) -> float:
        return line + after.rounds - before.rounds


class LinuxReno:
    """The sender of net/ipv4/tcp_cong.c: it counts acknowledged segments, so that delayed ACKs do not slow it."""

    modes = 1

    def epoch(self, window: float, mode: int) -> _RenoEpoch:  # noqa: ARG002
        # Half of an odd window loses half a segment.
        return _RenoEpoch(max(MIN_WINDOW, window / 2 - 0.25))

    def next_mode(self, window: float, mode: int, next_window: float) -> int:  # noqa: ARG002
        return 0


@dataclass(frozen=True, slots=True)
class _HighSpeedEpoch:
    start: float
    acked: float

    def grow(self, line: float, before: Age, after: Age) -> float:
        return line + (after.rounds - before.rounds) * step(line)[0] / self.acked


class LinuxHighSpeed:
    """The sender of net/ipv4/tcp_highspeed.c, which counts ACKs and not segments: delayed ACKs halve its growth.

    Growth and decrease are the steps of the kernel's table (RFC 3649, appendix B).
    """

    modes = 1

    def __init__(self, acked: float = ACK_EVERY) -> None:  # acked: mean segments per ACK
        self._acked = acked

    def epoch(self, window: float, mode: int) -> _HighSpeedEpoch:  # noqa: ARG002
        # The kernel rounds the decrease down to integers.
        _, share = step(window)
        rounding = 0.25 if share == 0.5 else 0.5
        return _HighSpeedEpoch(max(MIN_WINDOW, window * (1 - share) + rounding), self._acked)

    def next_mode(self, window: float, mode: int, next_window: float) -> int:  # noqa: ARG002
        return 0


def reno_random_window(loss: float) -> float:
    """Return the mean congestion window of Linux's Reno under random loss, segments.

    About 1.31 / sqrt(loss) for large windows and less for small windows: cwnd is an integer, a loss is found
    a round trip later and repaired in the next, and losses in between belong to the same event. Without
    timeouts. Source: net/ipv4/tcp_cong.c, and `theory.renewal` for the mean over the losses. Raises
    ParameterError outside the domain.

    Args:
        loss: Loss probability of a segment, above 0 and at most 1.
    """
    loss_rate(loss)
    return mean_window(LinuxReno(), loss, _ANY_RTT)


def highspeed_random_window(loss: float) -> float:
    """Return the mean congestion window of Linux's HighSpeed TCP under random loss, segments.

    Below RFC 3649's `highspeed_window`, since Linux counts ACKs and not segments: an ACK covers ACK_EVERY
    segments here (RFC 1122), ACK_STRETCHED in the lab. Growth and decrease are the steps of Linux's table.
    Source: net/ipv4/tcp_highspeed.c, and `theory.renewal` for the mean over the losses. Raises ParameterError
    outside the domain.

    Args:
        loss: Loss probability of a segment, above 0 and at most 1.
    """
    loss_rate(loss)
    return mean_window(LinuxHighSpeed(), loss, _ANY_RTT)


@dataclass(frozen=True, slots=True)
class _GrowingEpoch:
    """A window that grows by its law."""

    start: float
    law: _Aimd | _BicGrowth

    def grow(self, line: float, before: Age, after: Age) -> float:
        rounds = after.rounds - before.rounds
        steps = max(1, math.ceil(rounds * _STEPS))
        for _ in range(steps):
            line += self.law.growth(line) * rounds / steps
        return line


@dataclass(frozen=True, slots=True)
class _Aimd:
    """Additive increase and multiplicative decrease."""

    beta: float
    """Fraction of the window left by a loss."""
    added: float = 1.0
    """Segments per round trip, from `wide` segments on; 1 below."""
    wide: float = 0.0
    share: float = 0.0
    """Smallest growth per round trip over the window."""
    modes: int = 1

    def growth(self, line: float) -> float:
        added = self.added if line >= self.wide else 1.0
        return max(added, self.share * line)

    def epoch(self, window: float, mode: int) -> Epoch:  # noqa: ARG002
        beta = self.beta if window >= self.wide else 0.5
        return _GrowingEpoch(max(MIN_WINDOW, beta * window), self)

    def next_mode(self, window: float, mode: int, next_window: float) -> int:  # noqa: ARG002
        return 0


@dataclass(frozen=True, slots=True)
class _BicGrowth:
    """BIC between two losses: a binary search up to the window of the last loss, then a probe beyond it."""

    target: float

    def growth(self, line: float) -> float:
        """Return the segments added per round trip (bictcp_update in tcp_bic.c)."""
        if line <= _BIC_LOW:
            return 1.0
        if line < self.target:
            added = (self.target - line) / _BIC_PARTS
            added = _BIC_SLOW if added <= 1 else added
        elif line < self.target + _BIC_PARTS:
            added = _BIC_SLOW
        else:
            added = (line - self.target) / (_BIC_PARTS - 1)
        # The kernel divides by the segments of an ACK and then counts segments, so the growth is multiplied.
        return min(line, ACK_STRETCHED * min(_BIC_MAX, added))


class _Bic:
    """The sender of net/ipv4/tcp_bic.c. Mode 1: the last loss came at a smaller window than the loss before it."""

    modes = 2

    def epoch(self, window: float, mode: int) -> Epoch:
        beta = _BIC_BETA if window > _BIC_LOW else 0.5
        target = window * (1 + _BIC_BETA) / 2 if mode else window
        return _GrowingEpoch(max(MIN_WINDOW, beta * window), _BicGrowth(target))

    def next_mode(self, window: float, mode: int, next_window: float) -> int:
        target = window * (1 + _BIC_BETA) / 2 if mode else window
        return int(next_window < target)


_BIC_LOW, _BIC_BETA = 14, 819 / 1024
"""Window up to which BIC is Reno (low_window), segments, and the fraction left by a loss (beta)."""
_BIC_PARTS, _BIC_SLOW, _BIC_MAX = 4, 0.2, 16
"""BICTCP_B, BICTCP_B / smooth_part and max_increment, segments per round trip."""


def _hybla(rtt: float) -> Sender:
    """Return Hybla: growth by the square of the round trip over 25 ms, per ACK and not per segment."""
    return _Aimd(beta=1 / 2, added=max(1.0, rtt / _HYBLA_RTT) ** 2 / ACK_STRETCHED)


_HYBLA_RTT = 0.025
_HALF = _Aimd(beta=1 / 2)

RELATED: Mapping[str, Callable[[float], Sender]] = {
    # tcp_cong_avoid_ai with at most 100: one segment a round trip, and 1 % of the window above that.
    "scalable": lambda _: _Aimd(beta=7 / 8, share=0.01),
    "yeah": lambda _: _Aimd(beta=7 / 8, share=0.01),
    # While the queue holds less than 3 segments of the flow.
    "veno": lambda _: _Aimd(beta=4 / 5),
    # Without delay alpha is 10 and beta 1/8, from a window of 15 segments on.
    "illinois": lambda _: _Aimd(beta=7 / 8, added=10.0, wide=15.0),
    # Continues at its measured bandwidth. The fraction of 7/8 is measured, not derived.
    "westwood": lambda _: _Aimd(beta=7 / 8),
    "bic": lambda _: _Bic(),
    "hybla": _hybla,
    "vegas": lambda _: _HALF,
    "lp": lambda _: _HALF,
    "nv": lambda _: _HALF,
    "cdg": lambda _: _HALF,
    "dctcp": lambda _: _HALF,
}
"""Senders by the kernel's names, from the round trip in seconds."""


def related_rate(algorithm: str, rtt: float, loss: float, rto: float) -> float:
    """Return the goodput of a flow of `algorithm`, a name in RELATED, under random loss, segments per second.

    The caller validates the arguments.

    Args:
        algorithm: A name in RELATED.
        rtt: Seconds, above 0.
        loss: Loss probability of a segment, above 0 and below 1.
        rto: First retransmission timeout, seconds.
    """
    return mean(RELATED[algorithm](rtt), loss, Limits(rtt=rtt, rto=rto)).rate
