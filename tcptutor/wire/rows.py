"""Encoding of a flow's TCP state at one instant, as bytes and as a sample.

The agent passes on the kernel's bytes: on an emulated processor, decoding and printing numbers costs more than asking
for them. The host decodes them into samples.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from operator import itemgetter

from tcptutor.run import Sample
from tcptutor.wire import tcp_info
from tcptutor.wire.tcp_info import AT, TcpInfo

_HEAD = struct.Struct("=IdQ")
"""Flow number, time in s since the traffic began, and bytes_received of the receiving end."""
_ROW = _HEAD.size + tcp_info.LAYOUT.size
_BYTES_ACKED_AT = _HEAD.size + tcp_info.BYTES_ACKED
_UNACKED = struct.Struct("=I")
_UNACKED_AT = _HEAD.size + struct.calcsize("=8B 4I")
_ESTABLISHED = 1
_US = 1e-6
_NO_RTT = 0xFFFFFFFF
"""min_rtt before the first measurement."""


def row(flow: int, t: float, received: int, info: bytes) -> bytes:
    """Encode a row. `info` is struct tcp_info of the sending end, tcp_info.LAYOUT.size bytes."""
    return _HEAD.pack(flow, t, received) + info


def bytes_acked(row: bytes) -> tuple[int, int]:
    """Return the flow number and its bytes_acked."""
    flow: int = _HEAD.unpack_from(row)[0]
    count: int = tcp_info.COUNTER.unpack_from(row, _BYTES_ACKED_AT)[0]
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
        yield sample(flow, t, tcp_info.LAYOUT.unpack_from(rows, place + _HEAD.size), received)


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
