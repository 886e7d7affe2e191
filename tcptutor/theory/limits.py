"""Limits outside of congestion control: the window, the link, and the time to reach them."""

from __future__ import annotations

import math

from tcptutor.spec import ETHERNET_HEADER, HEADERS, TIMESTAMP_OPTION
from tcptutor.theory.domain import at_least, positive, require

EMULATED_FRAMING = ETHERNET_HEADER
"""Bytes that tbf and netem count in addition to the IP packet: the Ethernet header, without FCS and preamble."""

WIRE_FRAMING = 38
"""Bytes of real Ethernet in addition to the IP packet: header, FCS, preamble and gap."""

INITIAL_WINDOW = 10
"""Segments that a new connection may send at once (RFC 6928)."""


def window_limited(window: float, rtt: float) -> float:
    """Return the throughput of a flow with `window` bytes in flight, bit/s: 8 * window / rtt.

    Source: RFC 7323, section 1.1, a window per round trip. Raises ParameterError outside the domain.

    Args:
        window: Bytes of payload, above 0.
        rtt: Seconds, above 0.
    """
    positive("window", window, "with no byte in flight nothing is sent")
    positive("rtt", rtt, "a round trip takes time, in seconds")
    return 8 * window / rtt


def write_limited(length: float, mss: float, write: float, segment: float) -> float:
    """Return the throughput of an application whose processor is busy with small writes, bit/s.

    8 / (write / length + segment / mss). Source: the utilization law with a processor that is always busy.
    Raises ParameterError outside the domain.

    Args:
        length: Bytes per write, above 0.
        mss: Bytes per segment, above 0.
        write: Processor time per write, seconds, above 0.
        segment: Processor time per segment at both ends, seconds, 0 or above.
    """
    positive("length", length, "a write of nothing sends nothing")
    positive("mss", mss, "payload bytes of a full segment")
    positive("write", write, "a write takes time, in seconds")
    at_least("segment", segment, 0, "seconds of the processor")
    return 8 / (write / length + segment / mss)


def bdp(rate: float, rtt: float) -> float:
    """Return the bandwidth-delay product, bytes in flight that fill the path: rate * rtt / 8.

    Source: RFC 7323, section 1.1. Raises ParameterError outside the domain.

    Args:
        rate: Bit/s, above 0.
        rtt: Seconds, 0 or above.
    """
    positive("rate", rate, "a link without a rate has no bandwidth-delay product")
    at_least("rtt", rtt, 0, "a round trip takes time, in seconds")
    return rate * rtt / 8


def goodput_ratio(mtu: float, timestamps: bool = True, framing: float = EMULATED_FRAMING) -> float:
    """Return the fraction of a link's rate that is TCP payload with full segments: (mtu - headers) / (mtu + framing).

    MTU 1500 with timestamps: 1448/1514 = 0.9564, on a wire 1448/1538 = 0.9415. Source: IEEE 802.3, RFC 7323.
    Raises ParameterError outside the domain.

    Args:
        mtu: Bytes of an IP packet, above its headers (40, or 52 with timestamps).
        timestamps: Whether segments carry the timestamp option.
        framing: Bytes that a frame adds, 0 or above; the default is counted by tbf, WIRE_FRAMING is real
            Ethernet.
    """
    headers = HEADERS + (TIMESTAMP_OPTION if timestamps else 0)
    require(
        math.isfinite(mtu) and mtu > headers,
        "mtu",
        mtu,
        f"above {headers}",
        "the headers need that many bytes",
    )
    at_least("framing", framing, 0, "bytes that a frame adds to the packet")
    return (mtu - headers) / (mtu + framing)


def link_limited(
    rate: float, mtu: float, timestamps: bool = True, framing: float = EMULATED_FRAMING
) -> float:
    """Return the throughput of a flow that fills the link, bit/s of payload: rate * goodput_ratio(mtu).

    Source: IEEE 802.3, RFC 7323. Raises ParameterError outside the domain.

    Args:
        rate: Rate of the link with all headers, bit/s, above 0.
        mtu: See `goodput_ratio`.
        timestamps: See `goodput_ratio`.
        framing: See `goodput_ratio`.
    """
    positive("rate", rate, "a link without a rate carries nothing")
    return rate * goodput_ratio(mtu, timestamps, framing)


def slow_start_duration(window: float, rtt: float, initial: float = INITIAL_WINDOW) -> float:
    """Return the seconds of slow start until the window is `window` segments: rtt * log2(window / initial).

    Source: RFC 5681, section 3.1: the window doubles each round trip, since Linux counts segments and not
    ACKs. Raises ParameterError outside the domain.

    Args:
        window: Segments, above 0; at most `initial` takes no time.
        rtt: Seconds, above 0.
        initial: Segments of the first window, above 0.
    """
    positive("window", window, "a window is at least part of a segment")
    positive("rtt", rtt, "a round trip takes time, in seconds")
    positive("initial", initial, "slow start doubles it, so it cannot be 0")
    return rtt * max(0.0, math.log2(window / initial))
