"""What iperf3 prints of its streams, in each interval and in the end: as in `-J` and in the lines of `--json-stream`.

The format is what iperf_api.c prints (github.com/esnet/iperf). What a version or a direction does not tell is missing.
"""

from __future__ import annotations

import msgspec

from tcptutor.run import UdpSample


class StreamRow(msgspec.Struct, frozen=True):
    """One stream in one interval, or over the whole test; None for what the file leaves out or calls no number."""

    socket: int = 0
    start: float = 0.0
    end: float = 0.0
    seconds: float = 0.0
    bytes: float | None = None
    bits_per_second: float | None = None
    retransmits: float | None = None
    snd_cwnd: float | None = None
    snd_wnd: float | None = None
    rtt: float | None = None
    rttvar: float | None = None
    mean_rtt: float | None = None
    pmtu: int | None = None
    jitter_ms: float | None = None
    lost_packets: int | None = None
    packets: int | None = None
    out_of_order: int | None = None
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
    sender_tcp_congestion: str | None = None


def udp_sample(before: UdpSample, row: StreamRow, t: float) -> UdpSample:
    """What a UDP flow's receiver has counted at `t`: what it had `before`, and the interval since."""
    return UdpSample(
        before.flow,
        t,
        before.received + round(row.bytes or 0.0),
        before.datagrams + (row.packets or 0),
        # Datagrams that came late are counted back: at most those that were lost before.
        max(0, before.lost + (row.lost_packets or 0)),
        None if row.jitter_ms is None else row.jitter_ms / 1e3,
    )
