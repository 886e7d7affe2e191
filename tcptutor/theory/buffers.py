"""The buffer at a bottleneck: how long it makes a segment wait, how large it should be, and Reno's sawtooth over it."""

from __future__ import annotations

import math

from tcptutor.theory.domain import at_least, path, positive, require
from tcptutor.theory.limits import bdp


def queueing_delay(buffer: float, rate: float) -> float:
    """Seconds that a segment waits behind a full buffer: 8 * buffer / rate. It is added to the round trip.

    buffer: bytes, 0 or above. rate: of the link behind it, bit/s, above 0; both with headers or both
    without. Source: the definition, bytes over rate; RFC 7567 is what to do about it. Raises ParameterError
    outside the domain.
    """
    at_least("buffer", buffer, 0, "bytes that wait at the bottleneck")
    positive("rate", rate, "a link without a rate never empties its buffer")
    return 8 * buffer / rate


def buffer_rule(rate: float, rtt: float, flows: float = 1) -> float:
    """Buffer that keeps a bottleneck busy, bytes: the bandwidth-delay product over sqrt(flows).

    rate: bit/s, above 0. rtt: seconds, 0 or above. flows: desynchronised long flows that share it, 1 or
    above; 1 gives the rule of one BDP, and flows that lose together need it too however many they are.
    Source: Villamizar and Song, CCR 24(5), 1994 (one BDP); Appenzeller, Keslassy, McKeown: Sizing Router
    Buffers, SIGCOMM 2004, section 3 (the root). Raises ParameterError outside the domain.
    """
    product = bdp(rate, rtt)
    at_least("flows", flows, 1, "flows that share the buffer")
    return product / math.sqrt(flows)


def sawtooth_utilisation(buffer_ratio: float) -> float:
    """Share of a bottleneck that one Reno flow uses, a ratio: 3/4 * (1+x)^2 / (1 + x + x^2), 1 from x = 1 on.

    buffer_ratio: x, the bottleneck's buffer over the bandwidth-delay product, 0 or above. Without a buffer
    3/4; with one BDP the link never runs dry. The round trip grows with the queue, which the formula
    includes. Source: the sawtooth from (1+x)/2 to (1+x) BDP; the rule of one BDP is Villamizar and Song, CCR
    24(5), 1994. Raises ParameterError outside the domain.
    """
    x = buffer_ratio
    require(x >= 0, "buffer_ratio", x, "0 or above", "buffer over bandwidth-delay product")
    if x >= 1:
        return 1.0
    return 0.75 * (1 + x) ** 2 / (1 + x + x**2)


def sawtooth_mean(buffer_ratio: float) -> float:
    """Mean over time of one Reno flow's window over its peak, a ratio: 3/4 without a buffer, 7/9 from x = 1 on.

    The window grows by one a round trip, which takes rtt up to one BDP and is as long as the window is large above
    it: it is longer near the peak. buffer_ratio: x, as `sawtooth_utilisation`, which has the same sawtooth.
    Source: the area under it over its length. Raises ParameterError outside the domain.
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
    """Window at which one flow overflows the bottleneck, segments: (BDP + buffer) / mss, so (1 + x) * BDP.

    rate: bit/s of payload, above 0. rtt: seconds without queue, above 0. mss: payload bytes, above 0.
    buffer: bytes of payload, 0 or above. Source: the sawtooth of `sawtooth_utilisation`. Raises
    ParameterError outside the domain.
    """
    path(mss, rtt)
    at_least("buffer", buffer, 0, "bytes that wait at the bottleneck")
    return (bdp(rate, rtt) + buffer) / mss


def sawtooth_period(rate: float, rtt: float, mss: float, buffer: float = 0) -> float:
    """Seconds between two losses of one Reno flow that has the bottleneck for itself.

    From half its peak to the peak at one segment a round trip, where the round trip grows with the queue:
    rtt * D * (1 + x + x^2) / 2 for x up to 1, rtt * D * 3/8 * (1 + x)^2 from there on, with D = BDP / mss
    segments and x = buffer / BDP. Arguments and errors as `sawtooth_peak`. Source: what the flow sends in it,
    3/8 * peak^2 segments (Mathis 1997, section 2), over what the link could is `sawtooth_utilisation`.
    """
    peak = sawtooth_peak(rate, rtt, mss, buffer)
    product = bdp(rate, rtt)
    x = buffer / product
    rounds = (1 + x + x * x) / 2 if x < 1 else 0.375 * (1 + x) * peak * mss / product
    return rtt * product / mss * rounds
