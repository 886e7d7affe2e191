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

BBR_LOSS_HELD = 0.12
"""Random loss up to which Linux's BBR keeps its estimate of the rate. Measured on Linux 6.12.

A probe lasts one round trip, and the rate samples taken in it also cover parts of the rounds before and after. So the
estimate falls well below BBR_LOSS_LIMIT: of a link of 20 Mbit/s and 40 ms BBR had 0.95 at 13 %, 0.64 at 15 % and 0.24
at 18 %; of 50 Mbit/s and 100 ms 0.14 at 15 %.
"""

BBR_PROBE_RTT_EVERY, BBR_PROBE_RTT = 10.0, 0.2
"""Seconds from one measurement of the empty path's RTT to the next, and how long the window is 4 segments then."""


def bbr_throughput(rate: float, loss: float = 0.0) -> float:
    """Throughput of BBR alone on a link, bit/s: rate * (1 - loss), whatever the round-trip time.

    rate: bit/s of payload that the link carries, above 0. loss: random loss per segment, 0 to 0.12
    (BBR_LOSS_HELD); BBR paces at the rate that it measured, and what is lost is missing from it. The
    measurement of the empty path's RTT, 200 ms of every 10 s, costs up to 2 % more. Source: Cardwell, Cheng,
    Gunn, Yeganeh, Jacobson: BBR: Congestion-Based Congestion Control, ACM Queue 14(5), 2016, figure 8 and the
    text on it, which expects BBR to hold almost to 0.2, where 1.25 * (1 - loss) = 1. Raises ParameterError
    outside the domain.
    """
    positive("rate", rate, "the goodput of the link in bit/s")
    reason = "above it Linux's BBR loses its estimate of the rate, and no formula says how fast"
    require(0 <= loss <= BBR_LOSS_HELD, "loss", loss, f"0 to {BBR_LOSS_HELD:g}", reason)
    return rate * (1 - loss)


def bbr_fraction(rate: float, rtt: float, buffer: float, mss: float, flows: float = 1) -> float:
    """Share of a full link that BBR flows together take from loss-based ones, 0 to 1.

    (1 - p) * (1 - probing), with the loss-based flows' share p = 1/2 - 1/(2X) - 4 * flows * mss / buffer, at
    least 0. X: the buffer in bandwidth-delay products. probing: share of the time in which BBR drains the
    queue to measure the RTT, (8 * buffer / rate + 0.2 s + rtt) / 10 s. How many loss-based flows there are
    does not matter. The paper reports a median error of 5 % beside CUBIC and 8 % beside Reno; in this lab's
    runs of 40 to 110 s one BBR flow took 0.1 to 0.25 less than this from 1 BDP on.

    rate: bit/s of the link, above 0. rtt: seconds without queue, above 0, the same for all. buffer: bytes,
    above 0; a queue that drops at its tail and is mostly full. mss: bytes of a packet, above 0. flows: BBR
    flows, 1 or more. Source: Ware, Mukerjee, Seshan, Sherry: Modeling BBR's Interactions with Loss-Based
    Congestion Control, IMC 2019, eq. 9 to 11. Raises ParameterError outside the domain.
    """
    path(mss, rtt)
    positive("rate", rate, "the bottleneck's rate in bit/s")
    positive("buffer", buffer, "without a queue the flows share none")
    at_least("flows", flows, 1, "without a BBR flow the others have all")
    others = 1 / 2 - bdp(rate, rtt) / (2 * buffer) - BBR_LEAST_WINDOW * flows * mss / buffer
    probing = (8 * buffer / rate + BBR_PROBE_RTT + rtt) / BBR_PROBE_RTT_EVERY
    return (1 - max(0.0, others)) * max(0.0, 1 - probing)


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
