"""Sizes of packet headers, bytes."""

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
