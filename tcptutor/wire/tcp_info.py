"""Layout of struct tcp_info, the kernel's TCP state of a connection (linux/tcp.h)."""

from __future__ import annotations

import struct
from typing import TypeAlias

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
