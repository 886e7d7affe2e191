"""What iperf3 prints of its streams, in each interval and in the end: as in `-J` and in the lines of `--json-stream`.

The format is what iperf_api.c prints (github.com/esnet/iperf). What a version or a direction does not tell is missing.
"""

from __future__ import annotations

import msgspec

from tcptutor.run import UdpSample


class StreamRow(msgspec.Struct, frozen=True):
    """One stream in one interval, or over the whole test."""

    socket: int = 0
    start: float = 0.0
    end: float = 0.0
    seconds: float = 0.0
    bytes: float = 0.0
    bits_per_second: float | None = None
    retransmits: float = 0.0
    snd_cwnd: float = 0.0
    snd_wnd: float = 0.0
    rtt: float = 0.0
    rttvar: float = 0.0
    mean_rtt: float = 0.0
    pmtu: int = 0
    jitter_ms: float | None = None
    lost_packets: int = 0
    packets: int = 0
    out_of_order: int = 0
    omitted: bool = False
    sender: bool | None = None


class StreamInterval(msgspec.Struct, frozen=True):
    """All streams in one interval, in the order of their connection."""

    streams: list[StreamRow] = []


class StreamSummary(msgspec.Struct, frozen=True):
    """The whole test of one stream: as TCP, `sender` and `receiver`; as UDP, `udp`."""

    sender: StreamRow | None = None
    receiver: StreamRow | None = None
    udp: StreamRow | None = None


class EndOfTest(msgspec.Struct, frozen=True):
    """What is told when the test is over."""

    streams: list[StreamSummary] = []
    sender_tcp_congestion: str = ""


def udp_sample(before: UdpSample, row: StreamRow, t: float) -> UdpSample:
    """What a UDP flow's receiver has counted at `t`: what it had `before`, and the interval since."""
    return UdpSample(
        before.flow,
        t,
        before.received + round(row.bytes),
        before.datagrams + row.packets,
        before.lost + row.lost_packets,
        (row.jitter_ms or 0.0) / 1e3,
    )
