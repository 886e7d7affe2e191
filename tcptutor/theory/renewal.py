"""The mean rate under independent random loss, from how a sender grows and what a loss leaves of it.

Between two losses the window follows a known course, and each segment is as likely to be lost as any other: so the
window at which the next loss is found has a known distribution, which depends on the last such window alone. That
is a Markov chain, and its stationary distribution gives what an epoch, from one loss to the next, lasts on average
in segments and in seconds. The one over the other is the mean rate. Nothing is drawn by chance here, and no
constant stands for randomness: Reno's comes out, near 1.31 where windows are large and 1.27 at 0.1 % of loss.

A second limit is a bound of that course. Up to a window or a rate of pacing the course rises, and then it is flat. On
a link the round trip grows with the queue, and the course ends where the queue is full. So where two limits meet the
chain gives less than either alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple, Protocol

from tcptutor.theory.aimd import ACK_DELAY, MIN_WINDOW
from tcptutor.theory.reno import backoff

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

_BELOW = 0.5
"""cwnd is in whole segments, on average half of one below the line along which it grows."""


_CLOSE = 1e-9
"""Segments within which two windows are one."""


class Age(NamedTuple):
    """How long growth has gone on."""

    seconds: float
    rounds: float
    """Round trips, which a queue makes longer."""


class Epoch(Protocol):
    """How a window grows from one loss to another. Hashable; equal ones take the same course."""

    @property
    def start(self) -> float:
        """The window, segments, that the loss has left: with it the loss is repaired."""

    def grown(self, line: float, before: Age, after: Age) -> float:
        """The line along which the window grows, segments, at `after`.

        `line` is where it was at `before`; both count from the repair. It never falls.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a flow meets beside random losses."""

    rtt: float
    """Seconds without queue."""
    window: float = math.inf
    """Whole segments that the receiver, or a buffer that waits for acknowledgements, lets be under way."""
    pace: float = math.inf
    """Segments a second at which the sender paces at most."""
    rate: float = math.inf
    """Segments a second that the link carries."""
    queue: float = math.inf
    """Segments that wait before the link at most."""
    rto: float = 0.0
    """The first retransmission timeout, seconds; 0 leaves timeouts and delayed acknowledgements out."""

    @property
    def most(self) -> float:
        """Segments under way at most, on the empty path."""
        return min(self.window, self.pace * self.rtt)

    @property
    def full(self) -> float:
        """Segments under way when the queue is full."""
        return self.rate * self.rtt + self.queue

    def turn(self, flight: float) -> float:
        """The round trip with `flight` segments under way, seconds."""
        return max(self.rtt, flight / self.rate)

    @property
    def top(self) -> float:
        """The largest cwnd, segments: one that is not used does not grow, but by the segment that makes it so."""
        return self.most + 1

    def waiting(self, flight: float, others: float = 0.0) -> float:
        """Segments that wait at the receiver for another, on average, before they are acknowledged.

        A flight of segments that neither link nor pacing spreads arrives at once, and of an odd number the last waits
        for the next flight, or for ACK_DELAY; on average every second flight is odd. others: segments of other flows
        that the link has under way.
        """
        gap = self.rtt - (flight + others) / self.rate
        if self.rto <= 0 or gap <= 0 or self.pace < math.inf:
            return 0.0
        return 0.5 * min(1.0, ACK_DELAY / self.rtt, gap / self.rtt)

    def timeout(self, loss: float, flight: float) -> float:
        """Seconds that timeouts take on average after a round trip with `flight` segments.

        With SACK and RACK a loss is found as soon as anything that was sent after it arrives. So only where nothing of
        a round trip arrives a timeout is needed, which doubles as long as nothing does.
        """
        return loss**flight * self.rto * backoff(loss) / (1 - loss) if loss < 1 else math.inf


@dataclass(frozen=True, slots=True)
class _Ending:
    """A way for an epoch to end: in a piece of its course."""

    chance: float
    seconds: float
    """What the piece adds to the epoch on average, whether or not it ends there."""
    segments: float
    """Sent in the piece on average, whether or not the epoch ends there."""
    lost: float
    """The window when the segment is lost, segments."""
    found: float
    """The window when the loss is found, segments."""


class Mean(NamedTuple):
    """What a flow does on average."""

    rate: float
    """Segments that arrive a second."""
    window: float
    """Segments that are sent in a round trip of the empty path."""


def mean_window(sender: Sender, loss: float, rtt: float) -> float:
    """Mean congestion window, segments, when each segment is lost by chance, without timeouts and without queue.

    loss: share of segments, above 0 and at most 1. rtt: seconds, above 0. The caller has checked both.
    """
    return mean(sender, loss, Limits(rtt=rtt)).window


def mean(sender: Sender, loss: float, limits: Limits) -> Mean:
    """What one flow does within `limits` when each segment is lost by chance.

    An epoch is, as in Linux: the round trip in which the last loss is repaired and the window stands still; growth
    until a segment is lost, or until the queue is full; the round trip until that is found, whose other losses belong
    to the same event (the recovery point of RFC 6675, section 5). A receiver's window moves on only when the repair
    arrives: of it the repair gets what the flight of the loss has left.

    loss: share of segments, from 0 to 1. The caller has checked it. Source: the renewal-reward theorem; the chain of
    windows at losses as in Ott, Kemperman, Mathis: The Stationary Behavior of Ideal TCP Congestion Avoidance, 1996,
    who have Reno's.
    """
    if loss <= 0 and limits.most <= limits.full:
        # Always the same flight, so that what waits of it depends on whether it is odd.
        flight = math.floor(limits.window) if limits.window <= limits.most else limits.most
        steady = (flight - 2 * (flight % 2) * limits.waiting(flight)) / limits.turn(flight)
        return Mean(steady, steady * limits.rtt)
    unit = _largest(sender, loss, limits) / _CELLS
    size = sender.modes * (_CELLS + 1)
    rows, seconds, segments = [], [], []
    courses: dict[Epoch, list[_Ending]] = {}
    for mode in range(sender.modes):
        for cell in range(_CELLS + 1):
            window = max(MIN_WINDOW, cell * unit)
            epoch = sender.epoch(window, mode)
            if epoch not in courses:
                courses[epoch] = list(_ends(epoch, loss, limits, unit))
            repair, left = _repair(epoch.start, window, loss, limits)
            row = [0.0] * size
            lasts, sent = repair.seconds, repair.segments
            for place, end in enumerate((repair, *courses[epoch])):
                chance = end.chance * left if place else end.chance
                if place:
                    lasts += left * end.seconds
                    sent += left * end.segments
                # Until the loss is found.
                flight = min(limits.most, end.found)
                lasts += chance * (limits.turn(flight) + limits.timeout(loss, flight))
                sent += chance * ((end.lost + flight) / 2 - limits.waiting(end.lost))
                # Between two cells it is partly in each, so that the mean stays what it is.
                below, part = divmod(min(end.found / unit, _CELLS - 1e-9), 1)
                at = sender.follow(window, mode, end.found) * (_CELLS + 1) + int(below)
                row[at] += chance * (1 - part)
                row[at + 1] += chance * part
            rows.append(row)
            seconds.append(lasts)
            segments.append(sent)
    share = _stationary(rows)
    sent_a_second: float = sum(map(mul, share, segments)) / sum(map(mul, share, seconds))
    return Mean(sent_a_second * (1 - loss), sent_a_second * limits.rtt)


def _repair(start: float, window: float, loss: float, limits: Limits) -> tuple[_Ending, float]:
    """The round trip in which a loss that was found at `window` segments is repaired; the chance that it goes well."""
    flight = min(start, limits.most)
    if limits.window < math.inf:
        flight = max(1.0, min(flight, limits.window - window))
    turn, left = limits.turn(flight), math.exp(-loss * flight)
    # What is lost in the repair is found at most a round trip after it.
    segments = (1 - left) / loss if loss > 0 else flight
    again = 0.0
    if limits.rto > 0:
        # What is sent again may be lost again.
        again = turn * loss / (1 - loss) + limits.timeout(loss, flight) if loss < 1 else math.inf
    return _Ending(1 - left, turn * segments / flight + again, segments, start, start), left


def _ends(epoch: Epoch, loss: float, limits: Limits, unit: float) -> Iterator[_Ending]:
    """All ways for `epoch` to end after its repair, the chances of which add up to 1."""
    start, most, top, full = epoch.start, limits.most, limits.top, limits.full
    floor = min(start, most)
    line, age, left = start, Age(0.0, 0.0), 1.0
    turn = limits.turn(floor)
    rise = epoch.grown(line, age, Age(turn, 1.0)) - line
    while left > 1e-4:
        if line - _BELOW >= full - _CLOSE:
            yield _Ending(left, 0.0, 0.0, full, full + rise)
            return
        if line - _BELOW >= top - _CLOSE and loss > 0:
            sent = most - limits.waiting(most)
            yield _Ending(left, left * limits.turn(most) / (loss * sent), left / loss, most, top)
            return
        turn = limits.turn(min(line, most))
        rounds = _piece(min(line, most), rise, age.seconds, loss, turn, unit) / turn
        if line < most and full < most and rise > 0:
            rounds = min(rounds, max(0.02, (full + _BELOW - line) / rise))
        half = Age(age.seconds + turn * rounds / 2, age.rounds + rounds / 2)
        end = Age(age.seconds + turn * rounds, age.rounds + rounds)
        middle = epoch.grown(line, age, half)
        rise = epoch.grown(middle, half, Age(half.seconds + turn, half.rounds + 1)) - middle
        lost = min(most, max(floor, middle - _BELOW))
        sent = (lost - limits.waiting(lost)) * rounds
        chance = left * -math.expm1(-loss * sent)
        segments = chance / loss if loss > 0 else left * sent
        seconds = limits.turn(lost) * rounds * segments / sent
        found = min(top, max(floor, middle + rise - _BELOW))
        yield _Ending(chance, seconds, segments, lost, found)
        left -= chance
        # What does not use its window does not grow (tcp_is_cwnd_limited).
        line, age = min(top + _BELOW, epoch.grown(middle, half, end)), end
    yield _Ending(left, 0.0, 0.0, min(most, line), min(top, line))


def _piece(line: float, rise: float, elapsed: float, loss: float, rtt: float, most: float) -> float:
    """Seconds of a piece in which a window that grows by `rise` segments a round trip gets `most` at most."""
    longest = max(_PIECE_SECONDS, elapsed / _PIECES_OF_AGE, rtt / 4)
    if loss > 0:
        longest = min(longest, _PIECE_GAPS * rtt / (loss * line))
    return longest if rise * longest <= most * rtt else most * rtt / rise


def _largest(sender: Sender, loss: float, limits: Limits) -> float:
    """The window after a gap between losses that is hardly ever exceeded, segments."""
    epoch = sender.epoch(MIN_WINDOW, 0)
    line, age, sent = epoch.start, Age(0.0, 0.0), 0.0
    enough = _LONGEST / loss if loss > 0 else math.inf
    while sent < enough:
        turn = limits.turn(line)
        rise = epoch.grown(line, age, Age(age.seconds + turn, age.rounds + 1)) - line
        if line >= limits.top:
            return limits.top
        if line >= limits.full:
            return min(limits.top, limits.full + rise)
        dt = _piece(line, rise, age.seconds, loss, turn, line / 4)
        after = Age(age.seconds + dt, age.rounds + dt / turn)
        before, line = line, epoch.grown(line, age, after)
        age, sent = after, sent + (before + line) / 2 * dt / turn
    return min(line, limits.top)


def _stationary(rows: Sequence[Sequence[float]]) -> list[float]:
    """The chain's stationary distribution, from its transition matrix."""
    columns = list(zip(*rows, strict=True))
    share = [1 / len(rows)] * len(rows)
    for _ in range(_LOSSES):
        before, share = share, [sum(map(mul, share, column)) for column in columns]
        if sum(abs(now - then) for now, then in zip(share, before, strict=True)) < 1e-4:
            break
    return share
