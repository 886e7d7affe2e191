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

_PIECE_SECONDS, _PIECES_OF_AGE = 0.1, 5.0
"""A piece of the course is at most 0.1 s long, or a fifth of the time that growth has gone on."""

_PIECE_GAPS = 0.4
"""Segments of a piece of the course over those of a mean gap between losses, at most."""

_LOSSES = 60
"""After so many at most the chain has forgotten where it began: each leaves 0.8 of it or less."""


class Epoch(Protocol):
    """How a window grows from one loss to another. Hashable; equal ones take the same course."""

    @property
    def start(self) -> float:
        """The window, segments, that the loss has left: with it the loss is repaired."""

    def grown(self, line: float, elapsed: float, seconds: float) -> float:
        """The line along which the window grows, segments, `seconds` later than `elapsed` seconds after the repair.

        `line` is where it was then. It never falls.
        """


class Sender(Protocol):
    """A window law in congestion avoidance. Of what it did before a loss it remembers a window and a mode."""

    @property
    def modes(self) -> int:
        """How many modes it has; they are numbered from 0."""

    def epoch(self, window: float, mode: int) -> Epoch:
        """What follows on a loss in `mode` that was found at a window of `window` segments."""

    def follow(self, window: float, mode: int, found: float) -> int:
        """The mode of a loss found at `found` segments that follows on one in `mode`, found at `window` segments."""


@dataclass(frozen=True, slots=True)
class _Ending:
    """A way for an epoch to end: in a piece of its course."""

    chance: float
    seconds: float
    """What the piece adds to the epoch on average, whether or not it ends there."""
    lost: float
    """The window when the segment is lost, segments."""
    found: float
    """The window when the loss is found, segments."""


def mean_window(sender: Sender, loss: float, rtt: float) -> float:
    """Mean congestion window, segments, when each segment is lost by chance, without timeouts and without queue.

    An epoch is, as in Linux: the round trip in which the last loss is repaired and the window stands still; growth
    until a segment is lost; the round trip until that is found, whose other losses belong to the same event (the
    recovery point of RFC 6675, section 5). loss: share of segments, above 0 and at most 1. rtt: seconds, above 0.
    The caller has checked both. Source: the renewal-reward theorem; the chain of windows at losses as in Ott,
    Kemperman, Mathis: The Stationary Behavior of Ideal TCP Congestion Avoidance, 1996, who have Reno's.
    """
    unit = _largest(sender, loss, rtt) / _CELLS
    size = sender.modes * (_CELLS + 1)
    rows, seconds, unnoticed = [], [], []
    courses: dict[Epoch, list[_Ending]] = {}
    for mode in range(sender.modes):
        for cell in range(_CELLS + 1):
            window = max(LEAST_WINDOW, cell * unit)
            epoch = sender.epoch(window, mode)
            if epoch not in courses:
                courses[epoch] = list(_ends(epoch, loss, rtt, unit))
            ends, row = courses[epoch], [0.0] * size
            for end in ends:
                # Between two cells it is partly in each, so that the mean stays what it is.
                below, part = divmod(min(end.found / unit, _CELLS - 1e-9), 1)
                place = sender.follow(window, mode, end.found) * (_CELLS + 1) + int(below)
                row[place] += end.chance * (1 - part)
                row[place + 1] += end.chance * part
            rows.append(row)
            seconds.append(rtt + sum(end.seconds for end in ends))
            unnoticed.append(sum(end.chance * (end.lost + end.found) / 2 for end in ends))
    share = _stationary(rows)
    segments: float = 1 / loss + sum(map(mul, share, unnoticed))
    lasts: float = sum(map(mul, share, seconds))
    return rtt * segments / lasts


def _ends(epoch: Epoch, loss: float, rtt: float, unit: float) -> Iterator[_Ending]:
    """All ways for `epoch` to end, the chances of which add up to 1.

    cwnd is in whole segments, on average half of one below the line along which it grows.
    """
    start = epoch.start
    left = math.exp(-loss * start)
    # What is lost in the repair is found at most a round trip after it.
    yield _Ending(1 - left, rtt * (1 - left) / (loss * start), start, start)
    line, elapsed = start, 0.0
    rise = epoch.grown(line, elapsed, rtt) - line
    while left > 1e-4:
        dt = _piece(line, rise, elapsed, loss, rtt, unit)
        middle, half = epoch.grown(line, elapsed, dt / 2), elapsed + dt / 2
        rise = epoch.grown(middle, half, rtt) - middle
        lost = max(start, middle - 0.5)
        sent = lost * dt / rtt
        chance = left * -math.expm1(-loss * sent)
        yield _Ending(chance, dt * chance / (loss * sent), lost, max(start, middle + rise - 0.5))
        left -= chance
        line, elapsed = epoch.grown(middle, half, dt / 2), elapsed + dt
    yield _Ending(left, 0.0, line, line)


def _piece(line: float, rise: float, elapsed: float, loss: float, rtt: float, most: float) -> float:
    """Seconds of a piece in which a window that grows by `rise` segments a round trip gets `most` at most."""
    longest = min(max(_PIECE_SECONDS, elapsed / _PIECES_OF_AGE), _PIECE_GAPS * rtt / (loss * line))
    return longest if rise * longest <= most * rtt else most * rtt / rise


def _largest(sender: Sender, loss: float, rtt: float) -> float:
    """The window after a gap between losses that is hardly ever exceeded, segments."""
    epoch = sender.epoch(LEAST_WINDOW, 0)
    line, elapsed, sent = epoch.start, 0.0, 0.0
    while sent < _LONGEST / loss:
        rise = epoch.grown(line, elapsed, rtt) - line
        dt = _piece(line, rise, elapsed, loss, rtt, line / 4)
        before, line = line, epoch.grown(line, elapsed, dt)
        elapsed, sent = elapsed + dt, sent + (before + line) / 2 * dt / rtt
    return line


def _stationary(rows: Sequence[Sequence[float]]) -> list[float]:
    """The chain's stationary distribution, from its transition matrix."""
    columns = list(zip(*rows, strict=True))
    share = [1 / len(rows)] * len(rows)
    for _ in range(_LOSSES):
        before, share = share, [sum(map(mul, share, column)) for column in columns]
        if sum(abs(now - then) for now, then in zip(share, before, strict=True)) < 1e-4:
            break
    return share
