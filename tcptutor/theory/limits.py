"""Limits outside of congestion control: the window, the link, the time to reach them, and the bottleneck's buffer."""

from __future__ import annotations

import math

from tcptutor.spec.frame_sizes import ETHERNET_HEADER, HEADERS, TIMESTAMP_OPTION
from tcptutor.theory.domain import at_least, path, positive, require

EMULATED_FRAMING = ETHERNET_HEADER
"""Bytes that tbf and netem count in addition to the IP packet: the Ethernet header, without FCS and preamble."""

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


def queueing_delay(buffer: float, rate: float) -> float:
    """Return the queueing delay of a full buffer, seconds: 8 * buffer / rate; it adds to the round trip.

    Source: the definition, bytes over rate; RFC 7567 discusses remedies. Raises ParameterError outside the
    domain.

    Args:
        buffer: Bytes, 0 or above.
        rate: Rate of the link, bit/s, above 0; both with headers or both without.
    """
    at_least("buffer", buffer, 0, "bytes that wait at the bottleneck")
    positive("rate", rate, "a link without a rate never empties its buffer")
    return 8 * buffer / rate


def buffer_rule(rate: float, rtt: float, flows: float = 1) -> float:
    """Return the buffer that keeps a bottleneck busy, bytes: the bandwidth-delay product over sqrt(flows).

    Source: Villamizar and Song, CCR 24(5), 1994 (a full BDP); Appenzeller, Keslassy, McKeown: Sizing Router
    Buffers, SIGCOMM 2004, section 3 (the root). Raises ParameterError outside the domain.

    Args:
        rate: Rate of the link, bit/s, above 0.
        rtt: Seconds, 0 or above.
        flows: Long desynchronized flows, 1 or above. Use 1 for any number of flows that lose at the same
            time.
    """
    product = bdp(rate, rtt)
    at_least("flows", flows, 1, "flows that share the buffer")
    return product / math.sqrt(flows)


def sawtooth_utilisation(buffer_ratio: float) -> float:
    """Return the utilization of a bottleneck by a Reno flow: 3/4 * (1+x)^2 / (1 + x + x^2), 1 from x = 1 on.

    3/4 without a buffer; at 1 BDP the link never idles. The formula includes the growth of the round trip
    with the queue. Source: the sawtooth from (1+x)/2 to (1+x) BDP; the rule of 1 BDP is Villamizar and Song,
    CCR 24(5), 1994. Raises ParameterError outside the domain.

    Args:
        buffer_ratio: x, the bottleneck's buffer over the bandwidth-delay product, 0 or above.
    """
    x = buffer_ratio
    require(x >= 0, "buffer_ratio", x, "0 or above", "buffer over bandwidth-delay product")
    if x >= 1:
        return 1.0
    return 0.75 * (1 + x) ** 2 / (1 + x + x**2)


def sawtooth_mean(buffer_ratio: float) -> float:
    """Return the mean over time of a Reno flow's window over its peak: 3/4 without a buffer, 7/9 from x = 1 on.

    The window grows by a segment per round trip, which lasts rtt up to 1 BDP and grows with the window above
    that, so the window stays longer near the peak. Source: the area under the sawtooth over its length.
    Raises ParameterError outside the domain.

    Args:
        buffer_ratio: x, see `sawtooth_utilisation`, which has the same sawtooth.
    """
    x = buffer_ratio
    require(x >= 0, "buffer_ratio", x, "0 or above", "buffer over bandwidth-delay product")
    if x >= 1:
        return 7 / 9
    peak = 1 + x
    without, queued = 1 - peak / 2, (peak**2 - 1) / 2
    area = without * (1 + peak / 2) / 2 + (peak**3 - 1) / 3
    return area / (without + queued) / peak


def sawtooth_peak(rate: float, rtt: float, mss: float, buffer: float = 0) -> float:
    """Return the window at which a flow overflows the bottleneck, segments: (BDP + buffer) / mss.

    Source: the sawtooth of `sawtooth_utilisation`. Raises ParameterError outside the domain.

    Args:
        rate: Payload rate of the link, bit/s, above 0.
        rtt: Base RTT, seconds, above 0.
        mss: Payload bytes of a segment, above 0.
        buffer: Bytes of payload, 0 or above.
    """
    path(mss, rtt)
    at_least("buffer", buffer, 0, "bytes that wait at the bottleneck")
    return (bdp(rate, rtt) + buffer) / mss


def sawtooth_period(rate: float, rtt: float, mss: float, buffer: float = 0) -> float:
    """Return the seconds between two losses of a Reno flow alone on the bottleneck.

    From half its peak to the peak by a segment per round trip, where the round trip grows with the queue: rtt
    * D * (1 + x + x^2) / 2 for x up to 1, rtt * D * 3/8 * (1 + x)^2 above, with D = BDP / mss segments and x
    = buffer / BDP. Arguments and errors as in `sawtooth_peak`. Source: the segments sent per period, 3/8 *
    peak^2 (Mathis 1997, section 2), over the link's capacity equal `sawtooth_utilisation`.
    """
    peak = sawtooth_peak(rate, rtt, mss, buffer)
    product = bdp(rate, rtt)
    x = buffer / product
    rounds = (1 + x + x * x) / 2 if x < 1 else 0.375 * (1 + x) * peak * mss / product
    return rtt * product / mss * rounds
