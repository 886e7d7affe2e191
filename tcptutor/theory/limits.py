"""Limits that are not congestion control: the window, the link, and the time to reach them."""

from __future__ import annotations

import math

from tcptutor.spec import ETHERNET_HEADER, HEADERS, TIMESTAMP_OPTION
from tcptutor.theory.domain import at_least, positive, require

EMULATED_FRAMING = ETHERNET_HEADER
"""Bytes that tbf and netem count beside the IP packet: the Ethernet header, no FCS, no preamble."""

WIRE_FRAMING = 38
"""Bytes that a real Ethernet spends beside the IP packet: header, FCS, preamble and gap."""

INITIAL_WINDOW = 10
"""Segments that a new connection may send at once (RFC 6928)."""


def window_limited(window: float, rtt: float) -> float:
    """Throughput of a flow that may have `window` bytes in flight, bit/s: 8 * window / rtt.

    window: bytes of payload, above 0. rtt: seconds, above 0. Source: RFC 7323, section 1.1, one
    window a round trip. Raises ParameterError outside the domain.
    """
    positive("window", window, "with no byte in flight nothing is sent")
    positive("rtt", rtt, "a round trip takes time, in seconds")
    return 8 * window / rtt


def write_limited(length: float, mss: float, write: float, segment: float) -> float:
    """Return the throughput of an application whose processor is busy with small writes, bit/s.

    Each write of `length` bytes takes the processor `write` seconds, each segment of `mss` bytes `segment` seconds
    for both of its ends: 8 / (write / length + segment / mss). length, mss: bytes, above 0. write: seconds, above 0.
    segment: seconds, 0 or above. Source: the utilization law, a processor that is busy all of the time. Raises
    ParameterError outside the domain.
    """
    positive("length", length, "a write of nothing sends nothing")
    positive("mss", mss, "payload bytes of a full segment")
    positive("write", write, "a write takes time, in seconds")
    at_least("segment", segment, 0, "seconds of the processor")
    return 8 / (write / length + segment / mss)


def bdp(rate: float, rtt: float) -> float:
    """Bandwidth-delay product, bytes: rate * rtt / 8, what must be in flight to fill the path.

    rate: bit/s, above 0. rtt: seconds, 0 or above. Source: RFC 7323, section 1.1.
    Raises ParameterError outside the domain.
    """
    positive("rate", rate, "a link without a rate has no bandwidth-delay product")
    at_least("rtt", rtt, 0, "a round trip takes time, in seconds")
    return rate * rtt / 8


def goodput_ratio(mtu: float, timestamps: bool = True, framing: float = EMULATED_FRAMING) -> float:
    """Share of a link's rate that is TCP payload when all segments are full, a ratio below 1.

    (mtu - headers) / (mtu + framing). mtu: bytes of an IP packet, above its headers (40, 52 with timestamps).
    framing: bytes a frame adds to it, 0 or above; the default is what tbf counts, WIRE_FRAMING is a real
    wire. MTU 1500 with timestamps: 1448/1514 = 0.9564, on a wire 1448/1538 = 0.9415. Source: IEEE 802.3, RFC
    7323. Raises ParameterError outside the domain.
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
    """Throughput of a flow that fills the link, bit/s of payload: rate * goodput_ratio(mtu).

    rate: bit/s that the link carries with all headers, above 0. mtu, timestamps, framing: as `goodput_ratio`.
    Source: IEEE 802.3, RFC 7323. Raises ParameterError outside the domain.
    """
    positive("rate", rate, "a link without a rate carries nothing")
    return rate * goodput_ratio(mtu, timestamps, framing)


def slow_start_duration(window: float, rtt: float, initial: float = INITIAL_WINDOW) -> float:
    """Seconds of slow start until the congestion window is `window` segments: rtt * log2(window / initial).

    window, initial: segments, above 0; a window within the initial one takes no time. rtt: seconds, above 0.
    Source: RFC 5681, section 3.1: the window doubles each round trip, since Linux counts segments and not ACKs.
    Raises ParameterError outside the domain.
    """
    positive("window", window, "a window is at least part of a segment")
    positive("rtt", rtt, "a round trip takes time, in seconds")
    positive("initial", initial, "slow start doubles it, so it cannot be 0")
    return rtt * max(0.0, math.log2(window / initial))
