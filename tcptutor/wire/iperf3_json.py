"""iperf3's JSON results of its streams, as printed by `-J` and in the lines of `--json-stream`.

iperf_api.c prints the format (github.com/esnet/iperf). Fields that a version or a direction omits are None.
"""

from __future__ import annotations

import msgspec

from tcptutor.run import UdpSample


class StreamRow(msgspec.Struct, frozen=True):
    """A stream in an interval or over the full test; None for fields without a number in the file."""

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
    """All streams in an interval, in the order in which they connected."""

    streams: list[StreamRow] = []


class StreamSummary(msgspec.Struct, frozen=True):
    """Results of a stream over the full test: `sender` and `receiver` for TCP, `udp` for UDP."""

    sender: StreamRow | None = None
    receiver: StreamRow | None = None
    udp: StreamRow | None = None


class EndOfTest(msgspec.Struct, frozen=True):
    """Summary that iperf3 prints after the test."""

    streams: list[StreamSummary] = []
    sender_tcp_congestion: str | None = None


def udp_sample(before: UdpSample, row: StreamRow, t: float) -> UdpSample:
    """Return a UDP receiver's counters at `t`: the counters in `before` plus the interval in `row`."""
    return UdpSample(
        before.flow,
        t,
        before.received + round(row.bytes or 0.0),
        before.datagrams + (row.packets or 0),
        # iperf3 counts late datagrams back, at most as many as it counted lost before.
        max(0, before.lost + (row.lost_packets or 0)),
        None if row.jitter_ms is None else row.jitter_ms / 1e3,
    )
