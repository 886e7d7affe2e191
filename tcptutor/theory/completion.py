"""Completion time of a transfer: slow start, then the link's rate, then the cost of losses."""

from __future__ import annotations

import math

from tcptutor.theory.domain import at_least, path, positive, require
from tcptutor.theory.limits import INITIAL_WINDOW
from tcptutor.theory.reno import backoff, mean_peak, timeout_share

MIN_TIMEOUT = 0.2
"""Seconds by which Linux's retransmission timeout exceeds the round trip at least."""


def completion_time(
    size: float,
    mss: float,
    rtt: float,
    rate: float | None = None,
    initial: float = INITIAL_WINDOW,
    loss: float = 0.0,
    rto: float | None = None,
) -> float:
    """Return the seconds from the first segment of a transfer to its last acknowledgment, without the handshake.

    Without losses the link sends size bytes, and idles at the end of each window until its first
    acknowledgment: 8*size/rate + rtt + sum of max(0, 8*mss/rate + rtt - window * 8*mss/rate) over all windows
    but the last, which double from `initial`. With losses it is the expected time of slow start until the
    first loss, of its repair, and of the rest at Reno's throughput with timeouts; never less than without
    losses. Source: Kurose, Ross: Computer Networking, 3rd ed., section 3.7, TCP delay modeling, the dynamic
    window, here from `initial` on; Cardwell, Savage, Anderson: Modeling TCP Latency, INFOCOM 2000, eq. 5, 11
    and 15 to 23 without delayed ACKs. Raises ParameterError outside the domain.

    Args:
        size: Payload bytes, above 0.
        mss: Payload bytes of a segment, above 0.
        rtt: Base RTT, seconds, above 0.
        rate: Payload rate, bit/s, above 0; None for a link without limit.
        initial: Segments of the first window, 1 or above.
        loss: Loss events per segment, 0 or above, below 1.
        rto: Retransmission timeout, seconds, above 0; None for rtt + 0.2 s.
    """
    positive("size", size, "without payload nothing is transferred")
    path(mss, rtt)
    if rate is not None:
        positive("rate", rate, "a link without a rate never finishes")
    at_least("initial", initial, 1, "segments that may be sent at once")
    require(0 <= loss < 1, "loss", loss, "0 or above, below 1", "loss events per segment")
    timeout = rtt + MIN_TIMEOUT if rto is None else rto
    positive("rto", timeout, "a retransmission timeout in seconds")
    segments = math.ceil(size / mss)
    each = 0.0 if rate is None else 8 * mss / rate
    without = each * size / mss + rtt + _idle(segments, each, rtt, initial)
    return max(without, _lossy(segments, rtt, initial, loss, timeout)) if loss else without


def _idle(segments: int, each: float, rtt: float, initial: float) -> float:
    """Return the seconds in which the sender waits for acknowledgments; a segment takes `each` seconds on the link."""
    waited, window, sent = 0.0, initial, initial
    while sent < segments and (stall := each + rtt - window * each) > 0:
        waited += stall
        window *= 2
        sent += window
    return waited


def _lossy(segments: int, rtt: float, initial: float, loss: float, rto: float) -> float:
    """Return Cardwell's expected time for the data, eq. 25 without delayed ACKs; equation numbers are the paper's."""
    some_lost = -math.expm1(segments * math.log1p(-loss))  # 16
    first = min(float(segments), some_lost * (1 - loss) / loss + 1)  # 5: sent in the first slow start
    window = (first + initial) / 2  # 11, doubling: reached when the loss comes
    start = rtt * math.log2(first / initial + 1)  # 15
    timed_out = min(1.0, timeout_share(window, loss))  # 17
    repair = some_lost * (timed_out * backoff(loss) * rto / (1 - loss) + (1 - timed_out) * rtt)  # 18 to 20
    return start + repair + (segments - first) / _delivered(rtt, loss, rto)  # 21, 24


def _delivered(rtt: float, loss: float, rto: float) -> float:
    """Return the steady-state rate of arriving (not sent) segments per second, by the full model; eq. 22 and 23."""
    window = mean_peak(loss, 1)
    timeout = timeout_share(window, loss)
    arrive = (1 - loss) / loss + window / 2 + timeout
    return arrive / (rtt * (window / 2 + 1) + timeout * backoff(loss) * rto / (1 - loss))
