"""Layouts of headers and frames, by name: fields with their sizes, from the documents that define them."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.figures.lines import ACK, DATA, LIMIT, RTT, STRONG


class LayoutField(NamedTuple):
    """Field of a layout."""

    name: str
    bits: int
    short: str = ""
    """Shorter name for narrow boxes."""
    style: str = STRONG
    """Style of its value: the hue of its quantity."""


class HeaderLayout(NamedTuple):
    """Fields in the order in which they travel."""

    title: str
    """Noun phrase that begins a description."""
    fields: tuple[LayoutField, ...]
    in_bytes: bool = False
    """True for parts of a frame side by side; False for fields on a ruler of 32 bits."""


LAYOUTS = {
    # RFC 9293, section 3.1
    "tcp": HeaderLayout(
        "A TCP header",
        (
            LayoutField("source port", 16),
            LayoutField("destination port", 16, "dest. port"),
            LayoutField("sequence number", 32, style=DATA),
            LayoutField("ACK number", 32, style=ACK),
            LayoutField("length", 4, "len"),
            LayoutField("reserved", 4, "res"),
            LayoutField("flags", 8),
            LayoutField("window", 16, style=LIMIT),
            LayoutField("checksum", 16),
            LayoutField("urgent pointer", 16),
        ),
    ),
    # In the order in which Linux writes them: net/ipv4/tcp_output.c, tcp_options_write
    "syn-options": HeaderLayout(
        "The options of a SYN",
        (
            LayoutField("mss", 32),
            LayoutField("sackOK", 16),
            LayoutField("TS", 16),
            LayoutField("timestamp", 32, style=RTT),
            LayoutField("echoed timestamp", 32, style=RTT),
            LayoutField("nop", 8),
            LayoutField("wscale", 24, style=LIMIT),
        ),
    ),
    # RFC 791, section 3.1; RFC 2474 and RFC 3168 for the second byte
    "ipv4": HeaderLayout(
        "An IPv4 header",
        (
            LayoutField("version", 4, "ver"),
            LayoutField("length", 4, "len"),
            LayoutField("DSCP", 6),
            LayoutField("ECN", 2, "E"),
            LayoutField("total length", 16),
            LayoutField("identification", 16),
            LayoutField("flags", 3, "fl"),
            LayoutField("fragment offset", 13, "offset"),
            LayoutField("TTL", 8),
            LayoutField("protocol", 8, "proto"),
            LayoutField("checksum", 16),
            LayoutField("source address", 32),
            LayoutField("destination address", 32),
        ),
    ),
    # RFC 768
    "udp": HeaderLayout(
        "A UDP header",
        (
            LayoutField("source port", 16),
            LayoutField("destination port", 16, "dest. port"),
            LayoutField("length", 16),
            LayoutField("checksum", 16),
        ),
    ),
    "frame": HeaderLayout(
        "A full Ethernet frame of a TCP flow",
        (
            LayoutField("Ethernet", 14 * 8),
            LayoutField("IP", 20 * 8),
            LayoutField("TCP", 32 * 8),
            LayoutField("data", 1448 * 8, style=DATA),
        ),
        in_bytes=True,
    ),
}
