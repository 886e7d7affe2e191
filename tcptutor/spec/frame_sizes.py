"""Sizes of headers, frames and writes, and the sizes of buckets and queues that follow from them."""

from __future__ import annotations

ETHERNET_HEADER = 14
"""Bytes that tbf and netem count per frame in addition to the IP packet."""

HEADERS, TIMESTAMP_OPTION = 40, 12
"""Bytes of the IPv4 and TCP headers, and of the timestamp option: an MTU of 1500 leaves segments of 1448."""

UDP_HEADERS = 28
"""Bytes of the IPv4 and UDP headers."""

ALL_HEADERS = 94
"""Bytes of an Ethernet frame that contain all headers of TCP over IPv4 with the maximum of options."""

WIRE_FRAMING = 38
"""Bytes of real Ethernet in addition to the IP packet: header, FCS, preamble and gap."""

LENGTH = 32_768
"""Bytes per write of the application to a TCP connection by default.

A write holds its socket while segments are built and sent, and ACKs that arrive meanwhile wait. On the slow processor
of an emulated guest 128 KiB (the default of iperf3) take longer than the 2 ms that end an ACK train of HyStart.
"""

REQUEST = 200
"""Bytes with which a client asks for data."""


def bdp(rate: float | None, delay: float) -> float | None:
    """Return the bandwidth-delay product, bytes; None without a rate or a delay."""
    return rate * delay / 8 if rate and delay else None


def trace_burst(rate: float, frame: int) -> int:
    """Return the bucket of a bottleneck that follows a trace, bytes: small, because the kernel refills it at each step.

    The arguments are those of `default_burst`.
    """
    return max(round(rate / 8 / 1000), 2 * frame)


def default_burst(rate: float, frame: int) -> int:
    """Return the default bucket of a bottleneck, bytes, for a `rate` in bit/s and a full `frame` in bytes.

    A millisecond of the rate, so that a late timer costs no throughput, and at least ten frames. A bucket is
    full at the start, and its content comes on top of the rate: ten frames only if they are at most 20 ms of
    it, and never less than one frame.
    """
    return max(round(rate / 8 / 1000), min(10 * frame, round(rate / 8 * 0.02)), frame)
