"""A sender and a queue that signals early: CoDel drops, or marks above a threshold; and the bucket of a token bucket.

The flow is a fluid: it grows by a fixed number of segments per round trip, and answers a signal a round trip later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tcptutor.theory.cubic import CUBIC_BETA, CUBIC_RENO_ALPHA
from tcptutor.theory.domain import at_least, path, positive, require

CODEL_TARGET, CODEL_INTERVAL = 0.005, 0.1
"""Seconds: the wait that CoDel tolerates, and how long (RFC 8289, section 4)."""
DCTCP_GAIN = 1 / 16
"""Weight of the last round trip in DCTCP's running share of marks (RFC 8257, section 4.2)."""

_STEPS = 40
"""Steps per empty round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalledFlow:
    """A flow and its path: the queue is endless, and `signal` says when it drops or marks."""

    rate: float
    """Rate of the link, bit/s, above 0."""
    rtt: float
    """RTT of the empty path, seconds, above 0."""
    frame: float = 1514
    """Bytes of a segment on the link, above 0."""
    signal: Literal["codel", "threshold"] = "codel"
    target: float = CODEL_TARGET
    """Wait above which the queue signals, seconds, above 0: at once, or with CoDel after an interval."""
    sender: Literal["cubic", "dctcp"] = "cubic"
    """cubic keeps 0.7 of its window and grows as where CUBIC is Reno-friendly; dctcp cuts by half the marked share."""
    start: float = 0.0
    """Seconds at which it begins, with `initial` segments."""
    initial: float = 10
    burst: float = 0
    """Segments of others that arrive together at `burst_at`, on a link that is idle until `start`."""
    burst_at: float = 0.0

    def __post_init__(self) -> None:
        positive("rate", self.rate, "a link without a rate carries nothing")
        path(self.frame, self.rtt)
        positive("target", self.target, "a wait that the queue tolerates")
        at_least("initial", self.initial, 1, "segments")


class SignalledPoint(NamedTuple):
    """The flow at an instant."""

    t: float
    cwnd: float
    """Segments."""
    wait: float
    """Delay of a segment in the queue, seconds."""


class SignalledTrace(NamedTuple):
    """Points over time, and the instants of drops, or of the first mark of a round trip."""

    points: tuple[SignalledPoint, ...]
    signals: tuple[float, ...]


def signalled_flow(flow: SignalledFlow, seconds: float) -> SignalledTrace:
    """Return the flow over `seconds`, in steps of a fortieth of the empty round trip."""
    positive("seconds", seconds, "a duration")
    sender, queue = _Sender(flow), _Codel(flow) if flow.signal == "codel" else _Threshold(flow)
    points, signals = [], []
    step = flow.rtt / _STEPS
    for number in range(math.ceil(seconds / step) + 1):
        t = number * step
        wait = sender.wait(t)
        points.append(SignalledPoint(t, sender.cwnd if t >= flow.start else 0.0, wait))
        signal = queue.signals(t, wait)
        if signal and sender.note(t, wait):
            signals.append(t)
        sender.grow(t, wait, step, marked=signal)
    return SignalledTrace(tuple(points), tuple(signals))


class _Sender:
    def __init__(self, flow: SignalledFlow) -> None:
        self.flow = flow
        self.cwnd = flow.initial
        self._answers = math.inf  # when the sender learns of a signal
        self._quiet = 0.0  # until then signals belong to the last answer
        self._share = 0.0  # DCTCP's running share of marked segments
        self._marked, self._seen, self._round_end = 0.0, 0.0, flow.start

    def wait(self, t: float) -> float:
        """Return the wait of a segment that joins the queue, seconds."""
        own = (
            self.cwnd * 8 * self.flow.frame / self.flow.rate - self.flow.rtt if t >= self.flow.start else 0.0
        )
        others = self.flow.burst * 8 * self.flow.frame / self.flow.rate - (t - self.flow.burst_at)
        return max(0.0, own) + (max(0.0, others) if t >= self.flow.burst_at else 0.0)

    def note(self, t: float, wait: float) -> bool:
        """Note a signal; return False for one of a window that is answered already."""
        if t < self.flow.start or t < self._quiet or self._answers < math.inf:
            return False
        self._answers = t + self.flow.rtt + wait
        return True

    def grow(self, t: float, wait: float, step: float, *, marked: bool) -> None:
        if t < self.flow.start:
            return
        rtt = self.flow.rtt + wait
        self.cwnd += (1.0 if self.flow.sender == "dctcp" else CUBIC_RENO_ALPHA) * step / rtt
        self._seen += step
        self._marked += step * marked
        if t >= self._round_end:
            self._share += DCTCP_GAIN * (self._marked / self._seen - self._share)
            self._marked = self._seen = 0.0
            self._round_end = t + rtt
        if t >= self._answers:
            self.cwnd *= 1 - self._share / 2 if self.flow.sender == "dctcp" else CUBIC_BETA
            self._answers, self._quiet = math.inf, t + rtt


class _Threshold:
    """Marks everything that waits longer than the target."""

    def __init__(self, flow: SignalledFlow) -> None:
        self._target = flow.target

    def signals(self, _: float, wait: float) -> bool:
        return wait > self._target


class _Codel:
    """Drops after an interval above the target, then at ever shorter intervals (RFC 8289, section 5)."""

    def __init__(self, flow: SignalledFlow) -> None:
        self._target = flow.target
        self._deadline = math.inf
        self._next = math.inf
        self._count = 0

    def signals(self, t: float, wait: float) -> bool:
        if wait < self._target:
            self._deadline = self._next = math.inf
            self._count = 0
            return False
        if self._deadline == math.inf:
            self._deadline = self._next = t + CODEL_INTERVAL
        if t < self._next:
            return False
        self._count += 1
        self._next = t + CODEL_INTERVAL / math.sqrt(self._count)
        return True


class BucketPoint(NamedTuple):
    """A token bucket at an instant."""

    t: float
    tokens: float
    """Bytes that may pass at once."""
    passed: float
    """Rate at which data pass from here on, bit/s."""


def token_bucket(
    rate: float, bucket: float, offered: float, pause: tuple[float, float], seconds: float
) -> tuple[BucketPoint, ...]:
    """Return a token bucket, full at first, in front of a sender that offers data but for a pause.

    Args:
        rate: Of the tokens, bit/s, above 0.
        bucket: Most tokens it holds, bytes, above 0.
        offered: What the sender offers, bit/s, above `rate`.
        pause: Beginning and end of the sender's pause, seconds.
        seconds: Duration.
    """
    positive("rate", rate, "tokens drip in")
    positive("bucket", bucket, "tokens that it holds")
    require(offered > rate, "offered", offered, "above the rate", "else the bucket stays full")
    require(0 < pause[0] < pause[1], "pause", pause, "a beginning and a later end", "seconds")
    return tuple(_bucket_points(rate, bucket, offered, pause, seconds))


def _bucket_points(
    rate: float, bucket: float, offered: float, pause: tuple[float, float], seconds: float
) -> Iterator[BucketPoint]:
    tokens, t = bucket, 0.0
    for begin, end, input_rate in (
        (0.0, pause[0], offered),
        (pause[0], pause[1], 0.0),
        (pause[1], seconds, offered),
    ):
        t = begin
        passing = input_rate
        yield BucketPoint(t, tokens, passing)
        net = (rate - input_rate) / 8
        until = t + (tokens / -net if net < 0 else (bucket - tokens) / net)
        if until < end:
            tokens = 0.0 if net < 0 else bucket
            yield BucketPoint(until, tokens, passing)
            if net < 0:
                yield BucketPoint(until, tokens, rate)
                passing = rate
        else:
            tokens += net * (end - t)
        yield BucketPoint(end, tokens, passing)
