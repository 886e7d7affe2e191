"""BBR, version 1: it paces at the rate that it measures, and does not take a loss for congestion."""

from __future__ import annotations

import math

from tcptutor.theory.domain import at_least, path, positive, require
from tcptutor.theory.limits import bdp

BBR_STARTUP_GAIN = 2 / math.log(2)
"""Pacing over measured rate while starting, 2.885: the least that doubles the rate each round trip."""

BBR_PACING_CYCLE = (1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
"""Pacing over measured rate once the pipe is full, each for one round trip: probe, drain, cruise."""

BBR_CWND_GAIN = 2.0
"""Window over bandwidth-delay product: room for acknowledgements that come late or in bursts."""

BBR_LEAST_WINDOW = 4.0
"""Segments that it always keeps in flight, and all that it keeps while it measures the empty path's RTT."""

BBR_LOSS_LIMIT = (max(BBR_PACING_CYCLE) - 1) / max(BBR_PACING_CYCLE)
"""0.2: with more loss not even the probe at 1.25 delivers the link's rate, and the estimate falls."""


def bbr_throughput(rate: float, loss: float = 0.0) -> float:
    """Throughput of BBR alone on a link, bit/s: rate * (1 - loss), whatever the round-trip time.

    rate: bit/s of payload that the link carries, above 0. loss: random loss per segment, 0 to 0.2; what is
    lost has used the link. Measured flows stay a little below from about 0.1 on, and the 200 ms of every 10 s
    in which BBR measures the empty path's RTT cost up to 2 %. Source: Cardwell, Cheng, Gunn, Yeganeh,
    Jacobson: BBR: Congestion-Based Congestion Control, ACM Queue 14(5), 2016, figure 8 and the text on it;
    the limit solves 1.25 * (1 - loss) = 1. Raises ParameterError outside the domain.
    """
    positive("rate", rate, "the goodput of the link in bit/s")
    reason = "above it not even BBR's probe at 1.25 of the rate delivers the link's rate"
    require(0 <= loss <= BBR_LOSS_LIMIT, "loss", loss, f"0 to {BBR_LOSS_LIMIT:g}", reason)
    return rate * (1 - loss)


def bbr_window(rate: float, rtt: float, mss: float, gain: float = BBR_CWND_GAIN) -> float:
    """Congestion window of BBR, segments: gain * BDP / mss, and never below 4.

    rate: bit/s of payload that the flow gets, above 0. rtt: seconds without queue, above 0. mss: payload
    bytes, above 0. gain: 1 or above; 2 once the pipe is full, BBR_STARTUP_GAIN before. What is in flight is
    about half of it, since pacing limits it to the BDP. Source: Cardwell et al. 2016, the part on
    cwnd_gain; `bbr_set_cwnd` of net/ipv4/tcp_bbr.c. Raises ParameterError outside the domain.
    """
    path(mss, rtt)
    at_least("gain", gain, 1, "with less than one BDP in flight the link runs dry")
    return max(BBR_LEAST_WINDOW, gain * bdp(rate, rtt) / mss)
