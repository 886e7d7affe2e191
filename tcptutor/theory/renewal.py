"""The mean rate under independent random loss, from a sender's growth and its reduction after a loss.

Between two losses the window follows a known trajectory, and each segment is lost with the same probability:
so the window at which the next loss is found has a known distribution, which depends only on the window of
the previous loss. That is a Markov chain. Its stationary distribution gives the mean length of an epoch, from
a loss to the next, in segments and in seconds; their ratio is the mean rate. The computation is deterministic
and contains no fitted constant: Reno's constant follows, near 1.31 for large windows and 1.27 at 0.1 % loss.

A second limit bounds the trajectory. Up to a window or a pacing rate the trajectory rises, and then it is
flat. On a link the round trip grows with the queue, and the trajectory ends when the queue is full. So where
two limits meet the chain gives less than either limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple, Protocol

from tcptutor.theory.loss_laws import ACK_DELAY, MIN_WINDOW, backoff

_CELLS = 24
"""Windows distinguished by the chain: 0.1 % from Reno's constant, 1 % from finer grids for H-TCP."""

_MAX_GAPS = 8.0
"""Mean gaps between losses after which the largest window is taken; a gap in 3000 is longer."""

_PIECE_SECONDS, _PIECES_OF_AGE = 0.1, 5.0
"""A piece of the trajectory is at most 0.1 s long, or a fifth of the time since growth began."""

_PIECE_GAPS = 0.4
"""Largest number of segments in a piece of the trajectory, in mean gaps between losses."""

_LOSSES = 60
"""Losses after which the chain has forgotten its start: each leaves a factor of 0.8 or less."""

_CWND_OFFSET = 0.5
"""Segments of cwnd, an integer, below the line along which it grows, on average."""


_TOLERANCE = 1e-9
"""Segments within which two windows are equal."""


class Age(NamedTuple):
    """Duration of growth so far."""

    seconds: float
    rounds: float
    """Round trips, which a queue makes longer."""


class Epoch(Protocol):
    """Growth of a window from a loss to the next. Hashable; equal epochs have the same trajectory."""

    @property
    def start(self) -> float:
        """Return the window left by the loss, segments, used during the repair."""

    def grow(self, line: float, before: Age, after: Age) -> float:
        """Return the line along which the window grows at `after`, segments; it never falls.

        Args:
            line: The line at `before`.
            before: Age at the start of the step, since the repair.
            after: Age at its end.
        """


class Sender(Protocol):
    """A window law in congestion avoidance, with a window and a mode as its memory of earlier losses."""

    @property
    def modes(self) -> int:
        """Return the number of modes; they are numbered from 0."""

    def epoch(self, window: float, mode: int) -> Epoch:
        """Return the epoch after a loss in `mode` that was found at a window of `window` segments."""

    def next_mode(self, window: float, mode: int, next_window: float) -> int:
        """Return the mode of a loss at `next_window` segments after a loss in `mode` at `window` segments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a flow in addition to random losses."""

    rtt: float
    """Base RTT, seconds."""
    window: float = math.inf
    """Limit of the receiver, or of a buffer that waits for acknowledgments, in flight: whole segments."""
    pace: float = math.inf
    """Largest pacing rate, segments per second."""
    rate: float = math.inf
    """Capacity of the link, segments per second."""
    queue: float = math.inf
    """Largest queue of the link, segments."""
    rto: float = 0.0
    """First retransmission timeout, seconds; 0 ignores timeouts and delayed acknowledgments."""

    @property
    def max_inflight(self) -> float:
        """Return the most segments in flight on the empty path."""
        return min(self.window, self.pace * self.rtt)

    @property
    def inflight_at_full_queue(self) -> float:
        """Return the segments in flight when the queue is full."""
        return self.rate * self.rtt + self.queue

    def round_trip(self, flight: float) -> float:
        """Return the round trip with `flight` segments in flight, seconds."""
        return max(self.rtt, flight / self.rate)

    @property
    def max_cwnd(self) -> float:
        """Return the largest cwnd, segments: an unused window grows only by the segment that makes it unused."""
        return self.max_inflight + 1

    def waiting(self, flight: float, others: float = 0.0) -> float:
        """Return the mean number of segments that wait at the receiver for another segment before their ACK.

        A flight that neither link nor pacing spreads arrives at once, and the last segment of an odd number
        waits for the next flight, or for ACK_DELAY; on average every second flight is odd.

        Args:
            flight: Segments in flight.
            others: Segments of other flows in flight on the link.
        """
        gap = self.rtt - (flight + others) / self.rate
        if self.rto <= 0 or gap <= 0 or self.pace < math.inf:
            return 0.0
        return 0.5 * min(1.0, ACK_DELAY / self.rtt, gap / self.rtt)

    def timeout(self, loss: float, flight: float) -> float:
        """Return the mean seconds of timeouts after a round trip with `flight` segments.

        With SACK and RACK a loss is found when any later segment arrives. So a timeout is needed only if no
        segment of a round trip arrives; it doubles until a segment does.
        """
        return loss**flight * self.rto * backoff(loss) / (1 - loss) if loss < 1 else math.inf


@dataclass(frozen=True, slots=True)
class _Ending:
    """A possible end of an epoch, in a piece of its trajectory."""

    chance: float
    seconds: float
    """Mean seconds that the piece adds to the epoch, whether or not the epoch ends in it."""
    segments: float
    """Mean number of segments sent in the piece, whether or not the epoch ends in it."""
    lost: float
    """Window when the segment is lost, segments."""
    detection_window: float
    """Window when the loss is found, segments."""


class Mean(NamedTuple):
    """Mean behavior of a flow."""

    rate: float
    """Arriving segments per second."""
    window: float
    """Segments sent in a round trip of the empty path."""


def mean_window(sender: Sender, loss: float, rtt: float) -> float:
    """Return the mean congestion window under random loss, segments, without timeouts and queue.

    The caller validates the arguments.

    Args:
        sender: The window law.
        loss: Loss probability of a segment, above 0 and at most 1.
        rtt: Seconds, above 0.
    """
    return mean(sender, loss, Limits(rtt=rtt)).window


def mean(sender: Sender, loss: float, limits: Limits) -> Mean:
    """Return the mean behavior of a flow within `limits` under random loss.

    An epoch, as in Linux, consists of: the round trip in which the last loss is repaired and the window is
    constant; growth until a segment is lost, or the queue is full; and the round trip until the loss is
    found, whose other losses belong to the same event (the recovery point of RFC 6675, section 5). A
    receiver's window advances only when the repair arrives, so the repair gets the rest that the flight of
    the loss left. Source: the renewal-reward theorem; the chain of windows at losses as in Ott, Kemperman,
    Mathis: The Stationary Behavior of Ideal TCP Congestion Avoidance, 1996, for Reno.

    Args:
        sender: The window law.
        loss: Loss probability of a segment, from 0 to 1, validated by the caller.
        limits: Further limits of the flow.
    """
    if loss <= 0 and limits.max_inflight <= limits.inflight_at_full_queue:
        # The flight is constant, so the waiting segments depend on whether it is odd.
        flight = math.floor(limits.window) if limits.window <= limits.max_inflight else limits.max_inflight
        steady = (flight - 2 * (flight % 2) * limits.waiting(flight)) / limits.round_trip(flight)
        return Mean(steady, steady * limits.rtt)
    unit = _max_window(sender, loss, limits) / _CELLS
    size = sender.modes * (_CELLS + 1)
    rows, seconds, segments = [], [], []
    courses: dict[Epoch, list[_Ending]] = {}
    for mode in range(sender.modes):
        for cell in range(_CELLS + 1):
            window = max(MIN_WINDOW, cell * unit)
            epoch = sender.epoch(window, mode)
            if epoch not in courses:
                courses[epoch] = list(_ends(epoch, loss, limits, unit))
            repair, survival = _repair(epoch.start, window, loss, limits)
            row = [0.0] * size
            lasts, sent = repair.seconds, repair.segments
            for place, end in enumerate((repair, *courses[epoch])):
                chance = end.chance * survival if place else end.chance
                if place:
                    lasts += survival * end.seconds
                    sent += survival * end.segments
                # Until the loss is found.
                flight = min(limits.max_inflight, end.detection_window)
                lasts += chance * (limits.round_trip(flight) + limits.timeout(loss, flight))
                sent += chance * ((end.lost + flight) / 2 - limits.waiting(end.lost))
                # A window between two cells is split over both, which preserves the mean.
                below, part = divmod(min(end.detection_window / unit, _CELLS - 1e-9), 1)
                at = sender.next_mode(window, mode, end.detection_window) * (_CELLS + 1) + int(below)
                row[at] += chance * (1 - part)
                row[at + 1] += chance * part
            rows.append(row)
            seconds.append(lasts)
            segments.append(sent)
    share = _stationary_distribution(rows)
    sent_a_second: float = sum(map(mul, share, segments)) / sum(map(mul, share, seconds))
    return Mean(sent_a_second * (1 - loss), sent_a_second * limits.rtt)


def _repair(start: float, window: float, loss: float, limits: Limits) -> tuple[_Ending, float]:
    """Return the round trip that repairs a loss at `window` segments, and the probability of no new loss."""
    flight = min(start, limits.max_inflight)
    if limits.window < math.inf:
        flight = max(1.0, min(flight, limits.window - window))
    round_trip, survival = limits.round_trip(flight), math.exp(-loss * flight)
    # A loss during the repair is found at most a round trip later.
    segments = (1 - survival) / loss if loss > 0 else flight
    again = 0.0
    if limits.rto > 0:
        # Retransmissions can be lost too.
        again = round_trip * loss / (1 - loss) + limits.timeout(loss, flight) if loss < 1 else math.inf
    return _Ending(1 - survival, round_trip * segments / flight + again, segments, start, start), survival


def _ends(epoch: Epoch, loss: float, limits: Limits, unit: float) -> Iterator[_Ending]:
    """Yield all possible ends of `epoch` after its repair; their probabilities add up to 1."""
    start, max_inflight, max_cwnd = epoch.start, limits.max_inflight, limits.max_cwnd
    full_flight = limits.inflight_at_full_queue
    floor = min(start, max_inflight)
    line, age, survival = start, Age(0.0, 0.0), 1.0
    round_trip = limits.round_trip(floor)
    rise = epoch.grow(line, age, Age(round_trip, 1.0)) - line
    while survival > 1e-4:
        if line - _CWND_OFFSET >= full_flight - _TOLERANCE:
            yield _Ending(survival, 0.0, 0.0, full_flight, full_flight + rise)
            return
        if line - _CWND_OFFSET >= max_cwnd - _TOLERANCE and loss > 0:
            sent = max_inflight - limits.waiting(max_inflight)
            yield _Ending(
                survival,
                survival * limits.round_trip(max_inflight) / (loss * sent),
                survival / loss,
                max_inflight,
                max_cwnd,
            )
            return
        round_trip = limits.round_trip(min(line, max_inflight))
        rounds = _piece(min(line, max_inflight), rise, age.seconds, loss, round_trip, unit) / round_trip
        if line < max_inflight and full_flight < max_inflight and rise > 0:
            rounds = min(rounds, max(0.02, (full_flight + _CWND_OFFSET - line) / rise))
        half = Age(age.seconds + round_trip * rounds / 2, age.rounds + rounds / 2)
        end = Age(age.seconds + round_trip * rounds, age.rounds + rounds)
        middle = epoch.grow(line, age, half)
        rise = epoch.grow(middle, half, Age(half.seconds + round_trip, half.rounds + 1)) - middle
        lost = min(max_inflight, max(floor, middle - _CWND_OFFSET))
        sent = (lost - limits.waiting(lost)) * rounds
        chance = survival * -math.expm1(-loss * sent)
        segments = chance / loss if loss > 0 else survival * sent
        seconds = limits.round_trip(lost) * rounds * segments / sent
        detection_window = min(max_cwnd, max(floor, middle + rise - _CWND_OFFSET))
        yield _Ending(chance, seconds, segments, lost, detection_window)
        survival -= chance
        # An unused window does not grow (tcp_is_cwnd_limited).
        line, age = min(max_cwnd + _CWND_OFFSET, epoch.grow(middle, half, end)), end
    yield _Ending(survival, 0.0, 0.0, min(max_inflight, line), min(max_cwnd, line))


def _piece(line: float, rise: float, elapsed: float, loss: float, rtt: float, limit: float) -> float:
    """Return the seconds of a piece in which a window with growth `rise` per round trip gains at most `limit`."""
    longest = max(_PIECE_SECONDS, elapsed / _PIECES_OF_AGE, rtt / 4)
    if loss > 0:
        longest = min(longest, _PIECE_GAPS * rtt / (loss * line))
    return longest if rise * longest <= limit * rtt else limit * rtt / rise


def _max_window(sender: Sender, loss: float, limits: Limits) -> float:
    """Return the largest window of the grid, segments: that after a gap between losses which is rarely exceeded."""
    epoch = sender.epoch(MIN_WINDOW, 0)
    line, age, sent = epoch.start, Age(0.0, 0.0), 0.0
    enough = _MAX_GAPS / loss if loss > 0 else math.inf
    while sent < enough:
        round_trip = limits.round_trip(line)
        rise = epoch.grow(line, age, Age(age.seconds + round_trip, age.rounds + 1)) - line
        if line >= limits.max_cwnd:
            return limits.max_cwnd
        if line >= limits.inflight_at_full_queue:
            return min(limits.max_cwnd, limits.inflight_at_full_queue + rise)
        dt = _piece(line, rise, age.seconds, loss, round_trip, line / 4)
        after = Age(age.seconds + dt, age.rounds + dt / round_trip)
        before, line = line, epoch.grow(line, age, after)
        age, sent = after, sent + (before + line) / 2 * dt / round_trip
    return min(line, limits.max_cwnd)


def _stationary_distribution(rows: Sequence[Sequence[float]]) -> list[float]:
    columns = list(zip(*rows, strict=True))
    share = [1 / len(rows)] * len(rows)
    for _ in range(_LOSSES):
        before, share = share, [sum(map(mul, share, column)) for column in columns]
        if sum(abs(now - then) for now, then in zip(share, before, strict=True)) < 1e-4:
            break
    return share
