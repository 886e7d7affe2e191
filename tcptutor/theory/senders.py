"""Linux's senders of Reno and HighSpeed for `theory.renewal`; CUBIC's and H-TCP's are in their own modules."""

from __future__ import annotations

from dataclasses import dataclass

from tcptutor.theory.aimd import ACK_EVERY, MIN_WINDOW
from tcptutor.theory.domain import loss_rate
from tcptutor.theory.highspeed import step
from tcptutor.theory.renewal import Age, mean_window

_ANY_RTT = 0.1
"""Arbitrary round trip, seconds: the windows of Reno and HighSpeed do not depend on it."""


@dataclass(frozen=True, slots=True)
class _RenoEpoch:
    start: float

    def grown(self, line: float, before: Age, after: Age) -> float:
        return line + after.rounds - before.rounds


class LinuxReno:
    """The sender of net/ipv4/tcp_cong.c: it counts acknowledged segments, so that delayed ACKs do not slow it."""

    modes = 1

    def epoch(self, window: float, mode: int) -> _RenoEpoch:  # noqa: ARG002
        # Half of an odd window loses half a segment.
        return _RenoEpoch(max(MIN_WINDOW, window / 2 - 0.25))

    def follow(self, window: float, mode: int, found: float) -> int:  # noqa: ARG002
        return 0


@dataclass(frozen=True, slots=True)
class _HighSpeedEpoch:
    start: float
    acked: float

    def grown(self, line: float, before: Age, after: Age) -> float:
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

    def follow(self, window: float, mode: int, found: float) -> int:  # noqa: ARG002
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
