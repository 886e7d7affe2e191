"""TCP state of a connection (struct tcp_info, linux/tcp.h) as the kernel's bytes, in rows of them, and as samples.

The agent passes on the kernel's bytes: on an emulated processor, decoding and printing numbers costs more than asking
for them. The host decodes them into samples.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from operator import itemgetter
from typing import TypeAlias

from tcptutor.run import Sample

LAYOUT = struct.Struct("=8B 24I 4Q 6I 4Q 2I 2Q 4I 2I 2H I")
"""Fields up to total_rto_time; an older kernel sends fewer, and the rest reads as zero."""
COUNTER = struct.Struct("=Q")
BYTES_ACKED, BYTES_RECEIVED = struct.calcsize("=8B 24I 2Q"), struct.calcsize("=8B 24I 3Q")

FIELDS: tuple[str, ...] = tuple(
    """
    state ca_state retransmits_now probes backoff options wscale app_limited
    rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent last_data_recv
    last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering rcv_rtt rcv_space
    total_retrans pacing_rate max_pacing_rate bytes_acked bytes_received
    segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out
    delivery_rate busy_time rwnd_limited sndbuf_limited
    delivered delivered_ce bytes_sent bytes_retrans dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash
    total_rto total_rto_recoveries total_rto_time
    """.split()
)
"""Fields in order, as linux/tcp.h names them (without tcpi_); `app_limited` is a byte of two bit fields."""

AT: dict[str, int] = {name: index for index, name in enumerate(FIELDS)}

TcpInfo: TypeAlias = tuple[int, ...]

_HEAD = struct.Struct("=IdQ")
"""Flow number, time in s since the traffic began, and bytes_received of the receiving end."""
_ROW = _HEAD.size + LAYOUT.size
_BYTES_ACKED_AT = _HEAD.size + BYTES_ACKED
_UNACKED = struct.Struct("=I")
_UNACKED_AT = _HEAD.size + struct.calcsize("=8B 4I")
_ESTABLISHED = 1
_US = 1e-6
_NO_RTT = 0xFFFFFFFF
"""min_rtt before the first measurement."""


def row(flow: int, t: float, received: int, info: bytes) -> bytes:
    """Encode a row. `info` is struct tcp_info of the sending end, LAYOUT.size bytes."""
    return _HEAD.pack(flow, t, received) + info


def bytes_acked(row: bytes) -> tuple[int, int]:
    """Return the flow number and its bytes_acked."""
    flow: int = _HEAD.unpack_from(row)[0]
    count: int = COUNTER.unpack_from(row, _BYTES_ACKED_AT)[0]
    return flow, count


def has_unacked(row: bytes) -> bool:
    """Return whether the connection is open and has an unacknowledged segment in flight."""
    return row[_HEAD.size] == _ESTABLISHED and _UNACKED.unpack_from(row, _UNACKED_AT)[0] > 0


def samples(rows: bytes) -> Iterator[Sample]:
    """Decode consecutive rows. Raises ValueError for an incomplete row."""
    if len(rows) % _ROW:
        raise ValueError(f"{len(rows)} bytes are not whole rows of {_ROW}")
    for place in range(0, len(rows), _ROW):
        flow, t, received = _HEAD.unpack_from(rows, place)
        yield sample(flow, t, LAYOUT.unpack_from(rows, place + _HEAD.size), received)


_NAMES = """
snd_cwnd snd_ssthresh snd_mss rtt rttvar min_rtt bytes_acked data_segs_out total_retrans delivery_rate pacing_rate
snd_wnd ca_state app_limited busy_time rwnd_limited sndbuf_limited reord_seen dsack_dups rto bytes_retrans delivered
delivered_ce total_rto unacked lost notsent_bytes
""".split()
_pick = itemgetter(*(AT[name] for name in _NAMES))


def sample(flow: int, t: float, info: TcpInfo, received: int) -> Sample:
    """Convert tcp_info to our names and base units. `t` is the time since the traffic began, s."""
    # One itemgetter and positional arguments: at a hundred calls per second and flow, access by name costs as much as
    # asking the kernel.
    (
        cwnd, ssthresh, mss, rtt, rttvar, min_rtt, acked, segs_out, retransmits, delivery_rate, pacing_rate,
        snd_wnd, ca_state, app_limited, busy, rwnd_limited, sndbuf_limited, reord_seen, dsack_dups, rto, bytes_retrans,
        delivered, delivered_ce, total_rto, unacked, lost, notsent,
    ) = _pick(info)  # fmt: skip
    return Sample(
        flow, t, cwnd, ssthresh, mss, rtt * _US, rttvar * _US, 0.0 if min_rtt == _NO_RTT else min_rtt * _US, acked,
        segs_out, retransmits, delivery_rate * 8.0, min(pacing_rate * 8.0, 1e15), snd_wnd, ca_state,
        bool(app_limited & 1), busy * _US, rwnd_limited * _US, sndbuf_limited * _US, reord_seen, dsack_dups, rto * _US,
        bytes_retrans, delivered, delivered_ce, total_rto, unacked, lost, notsent, received,
    )  # fmt: skip
