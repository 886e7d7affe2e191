"""BBR version 1: paces at the measured rate and does not treat loss as congestion."""

from __future__ import annotations

import math

from tcptutor.theory.domain import at_least, path, positive, require
from tcptutor.theory.limits import bdp

BBR_STARTUP_GAIN = 2 / math.log(2)
"""Pacing rate over measured rate in Startup, 2.885: the smallest that doubles the rate each round trip."""

BBR_PACING_CYCLE = (1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
"""Pacing rate over measured rate in ProbeBW, each for a round trip: probe, drain, cruise."""

BBR_CWND_GAIN = 2.0
"""Window over bandwidth-delay product: room for late or bursty acknowledgments."""

BBR_MIN_WINDOW = 4.0
"""Smallest window, segments; also the window while measuring the base RTT."""

BBR_LOSS_LIMIT = (max(BBR_PACING_CYCLE) - 1) / max(BBR_PACING_CYCLE)
"""0.2: with more loss not even the probe at 1.25 delivers the link's rate, and the estimate falls."""

BBR_LOSS_HELD = 0.12
"""Random loss up to which Linux's BBR keeps its estimate of the rate, measured on Linux 6.12.

A probe lasts one round trip, and the rate samples taken in it also cover parts of the rounds before and
after. So the estimate falls well below BBR_LOSS_LIMIT: on a link of 20 Mbit/s and 40 ms BBR reached 0.95 of
the rate at 13 %, 0.64 at 15 % and 0.24 at 18 %; on 50 Mbit/s and 100 ms 0.14 at 15 %.
"""

BBR_PROBE_RTT_EVERY, BBR_PROBE_RTT = 10.0, 0.2
"""Seconds between measurements of the base RTT, and their duration with a window of 4 segments."""


def bbr_throughput(rate: float, loss: float = 0.0) -> float:
    """Return the throughput of a lone BBR flow, bit/s: rate * (1 - loss), at any round-trip time.

    The measurement of the base RTT, 200 ms every 10 s, costs up to 2 % more. Source: Cardwell, Cheng, Gunn,
    Yeganeh, Jacobson: BBR: Congestion-Based Congestion Control, ACM Queue 14(5), 2016, figure 8 and its text,
    which expects BBR to work up to almost 0.2, where 1.25 * (1 - loss) = 1. Raises ParameterError outside the
    domain.

    Args:
        rate: Payload rate of the link, bit/s, above 0.
        loss: Random loss per segment, 0 to 0.12 (BBR_LOSS_HELD).
    """
    positive("rate", rate, "the goodput of the link in bit/s")
    reason = "above it Linux's BBR loses its estimate of the rate, and no formula says how fast"
    require(0 <= loss <= BBR_LOSS_HELD, "loss", loss, f"0 to {BBR_LOSS_HELD:g}", reason)
    return rate * (1 - loss)


def bbr_fraction(rate: float, rtt: float, buffer: float, mss: float, flows: float = 1) -> float:
    """Return the fraction of a full link that BBR flows take from loss-based flows, 0 to 1.

    (1 - p) * (1 - probing), where p = 1/2 - 1/(2X) - 4 * flows * mss / buffer, at least 0, is the fraction of
    the loss-based flows, X the buffer in bandwidth-delay products, and probing = (8 * buffer / rate + 0.2 s +
    rtt) / 10 s the fraction of time in which BBR drains the queue to measure the RTT. The number of
    loss-based flows does not matter. The paper reports a median error of 5 % against CUBIC and 8 % against
    Reno; in this lab's runs of 40 to 110 s a single BBR flow took 0.1 to 0.25 less from 1 BDP on. Source:
    Ware, Mukerjee, Seshan, Sherry: Modeling BBR's Interactions with Loss-Based Congestion Control, IMC 2019,
    eq. 9 to 11. Raises ParameterError outside the domain.

    Args:
        rate: Rate of the link, bit/s, above 0.
        rtt: Base RTT, seconds, above 0, the same for all flows.
        buffer: Drop-tail queue that is mostly full, bytes, above 0.
        mss: Bytes of a packet, above 0.
        flows: BBR flows, 1 or more.
    """
    path(mss, rtt)
    positive("rate", rate, "the bottleneck's rate in bit/s")
    positive("buffer", buffer, "without a queue the flows share none")
    at_least("flows", flows, 1, "without a BBR flow the others have all")
    others = 1 / 2 - bdp(rate, rtt) / (2 * buffer) - BBR_MIN_WINDOW * flows * mss / buffer
    probing = (8 * buffer / rate + BBR_PROBE_RTT + rtt) / BBR_PROBE_RTT_EVERY
    return (1 - max(0.0, others)) * max(0.0, 1 - probing)


def bbr_window(rate: float, rtt: float, mss: float, gain: float = BBR_CWND_GAIN) -> float:
    """Return the congestion window of BBR, segments: gain * BDP / mss, at least 4.

    About half of it is in flight, as pacing limits the flow to the BDP. Source: Cardwell et al. 2016, on
    cwnd_gain; `bbr_set_cwnd` of net/ipv4/tcp_bbr.c. Raises ParameterError outside the domain.

    Args:
        rate: Payload rate of the flow, bit/s, above 0.
        rtt: Base RTT, seconds, above 0.
        mss: Payload bytes of a segment, above 0.
        gain: 1 or above; 2 once the pipe is full, BBR_STARTUP_GAIN before.
    """
    path(mss, rtt)
    at_least("gain", gain, 1, "with less than one BDP in flight the link runs dry")
    return max(BBR_MIN_WINDOW, gain * bdp(rate, rtt) / mss)
