"""The mean window under independent random loss, from how a sender grows and what a loss leaves of it.

Between two losses the window follows a known course, and each segment is as likely to be lost as any other: so the
window at which the next loss is found has a known distribution, which depends on the last such window alone. That
is a Markov chain, and its stationary distribution gives what an epoch, from one loss to the next, lasts on average
in segments and in seconds. The one over the other is the mean window. Nothing is drawn by chance here, and no
constant stands for randomness: Reno's 1.31 comes out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Protocol

from tcptutor.theory.aimd import LEAST_WINDOW

_CELLS = 24
"""Windows that the chain tells apart: 0.1 % from Reno's constant, 1 % from finer ones for H-TCP."""

_LONGEST = 8.0
"""The largest window has grown for so many mean gaps between losses; one gap in 3000 is longer."""

_MOMENT, _AGES = 0.1, 5.0
"""Growth is taken for constant over 0.1 s, or a fifth of the time that it has gone on."""

_LOSSES = 60
"""After so many at most the chain has forgotten where it began: each leaves 0.8 of it or less."""


class Sender(Protocol):
    """A window law in congestion avoidance. From one loss to the next it remembers a window and a mode."""

    @property
    def kept(self) -> Sequence[float]:
        """By mode: what a loss leaves of the window, a ratio."""

    def start(self, window: float, kept: float) -> float:
        """The window, segments, after a loss that was found at `window`: with it the loss is repaired."""

    def growth(self, window: float, elapsed: float, kept: float) -> float:
        """Segments a round trip, above 0, at `elapsed` seconds after the repair."""

    def follow(self, window: float, mode: int, found: float) -> int:
        """The mode after a loss that is found at `found`; the one before was in `mode`, found at `window`."""


@dataclass(frozen=True, slots=True)
class _End:
    """A way for an epoch to end: in a piece of its course."""

    chance: float
    seconds: float
    """What the piece adds to the epoch on average, whether or not it ends there."""
    lost: float
    """Windows, in segments: when the segment is lost, and when that is found."""
    found: float


def mean_window(sender: Sender, loss: float, rtt: float) -> float:
    """Mean congestion window, segments, when each segment is lost by chance, without timeouts and without queue.

    An epoch is, as in Linux: the round trip in which the last loss is repaired and the window stands still; growth
    until a segment is lost; the round trip until that is found, whose other losses belong to the same event (the
    recovery point of RFC 6675, section 5). loss: share of segments, above 0 and at most 1. rtt: seconds, above 0.
    The caller has checked both. Source: the renewal-reward theorem; the chain of windows at losses as in Ott,
    Kemperman, Mathis: The Stationary Behavior of Ideal TCP Congestion Avoidance, 1996, who have Reno's.
    """
    unit = _largest(sender, loss, rtt) / _CELLS
    size = len(sender.kept) * (_CELLS + 1)
    rows, seconds, unseen = [], [], []
    courses: dict[tuple[float, float], list[_End]] = {}
    for mode, kept in enumerate(sender.kept):
        for cell in range(_CELLS + 1):
            window = max(LEAST_WINDOW, cell * unit)
            if (kept, window) not in courses:
                courses[kept, window] = list(_ends(sender, sender.start(window, kept), kept, loss, rtt, unit))
            ends, row = courses[kept, window], [0.0] * size
            for end in ends:
                # Between two cells it is partly in each, so that the mean stays what it is.
                below, part = divmod(min(end.found / unit, _CELLS - 1e-9), 1)
                place = sender.follow(window, mode, end.found) * (_CELLS + 1) + int(below)
                row[place] += end.chance * (1 - part)
                row[place + 1] += end.chance * part
            rows.append(row)
            seconds.append(rtt + sum(end.seconds for end in ends))
            unseen.append(sum(end.chance * (end.lost + end.found) / 2 for end in ends))
    share = _stationary(rows)
    segments: float = 1 / loss + sum(map(mul, share, unseen))
    lasts: float = sum(map(mul, share, seconds))
    return rtt * segments / lasts


def _ends(sender: Sender, start: float, kept: float, loss: float, rtt: float, unit: float) -> Iterator[_End]:
    """All ways for an epoch that begins with a window of `start` to end, the chances of which add up to 1.

    cwnd is in whole segments, on average half of one below the line along which it grows.
    """
    left = math.exp(-loss * start)
    # What is lost in the repair is found at most a round trip after it.
    yield _End(1 - left, rtt * (1 - left) / (loss * start), start, start)
    line, elapsed = start, 0.0
    while left > 1e-4:
        growth, dt = _step(sender, line, elapsed, kept, rtt, unit)
        middle = line + growth * dt / rtt / 2
        rise = sender.growth(middle, elapsed + (dt + rtt) / 2, kept)
        lost = max(start, middle - 0.5)
        sent = lost * dt / rtt
        chance = left * -math.expm1(-loss * sent)
        yield _End(chance, dt * chance / (loss * sent), lost, max(start, middle + rise - 0.5))
        left -= chance
        line, elapsed = line + growth * dt / rtt, elapsed + dt
    yield _End(left, 0.0, line, line)


def _step(
    sender: Sender, window: float, elapsed: float, kept: float, rtt: float, most: float
) -> tuple[float, float]:
    """Growth, segments a round trip, and the seconds for which it holds: those of about `most` segments at most."""
    growth = sender.growth(window, elapsed, kept)
    dt = min(most * rtt / growth, max(_MOMENT, elapsed / _AGES))
    return sender.growth(window + growth * dt / rtt / 2, elapsed + dt / 2, kept), dt


def _largest(sender: Sender, loss: float, rtt: float) -> float:
    """The window, segments, that a gap between losses leads to which hardly ever comes."""
    window, elapsed, sent = LEAST_WINDOW, 0.0, 0.0
    while sent < _LONGEST / loss:
        growth, dt = _step(sender, window, elapsed, sender.kept[0], rtt, window / 4)
        rise = growth * dt / rtt
        window, elapsed, sent = window + rise, elapsed + dt, sent + (window + rise / 2) * dt / rtt
    return window


def _stationary(rows: Sequence[Sequence[float]]) -> list[float]:
    """How often the chain is in each state in the long run, from where it goes from each."""
    columns = list(zip(*rows, strict=True))
    share = [1 / len(rows)] * len(rows)
    for _ in range(_LOSSES):
        before, share = share, [sum(map(mul, share, column)) for column in columns]
        if sum(abs(now - then) for now, then in zip(share, before, strict=True)) < 1e-4:
            break
    return share
