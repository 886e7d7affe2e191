"""Lines of the kernel's trace as its tracepoints print them."""

from __future__ import annotations

import fcntl
import os
import time

import pytest

from tcptutor.agent.tracing import Tracing
from tcptutor.run import AckSample, Retransmission

PROBE = (
    "  <idle>-0  [000] ..s3. {t}: tcp_probe: family=AF_INET src=10.0.0.1:40000 dest=10.0.0.2:5201 mark=0"
    " data_len=0 snd_nxt={nxt:#x} snd_una={una:#x} snd_cwnd=10 ssthresh=2147483647 snd_wnd=65160 srtt=50026"
    " rcv_wnd=64256 sock_cookie=1 skbaddr=0 skaddr=0\n"
)
RESENT = (
    "  <idle>-0  [000] ..s3. {t}: retransmit_77: (tcp.tcp_retransmit_skb) state=1 saddr=16777226 sport=40000"
    " seq={seq} end={end}\n"
)


@pytest.fixture
def tracing() -> Tracing:
    """One that reads what the test puts in, in place of the kernel's pipe."""
    made = Tracing.__new__(Tracing)
    made._flows = {("10.0.0.1", 40000): 3}
    made._flow_bytes, made._rest = {}, b""
    return made


def taken(tracing: Tracing, text: str) -> tuple[list[AckSample], list[Retransmission]]:
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.write(write, text.encode())
    tracing._pipe = read
    try:
        return tracing.take(10.0)
    finally:
        os.close(read)
        os.close(write)


def test_bytes_go_on_where_sequence_numbers_begin_again(tracing: Tracing) -> None:
    first = (1 << 32) - 1000
    text = "".join(
        PROBE.format(
            t=f"{10 + step}.5", una=(first + 900 * step) % (1 << 32), nxt=(first + 2000 * step) % (1 << 32)
        )
        for step in range(3)
    )
    acks, _ = taken(tracing, text)
    assert [(row.flow, row.t, row.acked, row.sent, row.window) for row in acks] == [
        (3, 0.5, 0, 0, 65160),
        (3, 1.5, 900, 2000, 65160),
        (3, 2.5, 1800, 4000, 65160),
    ]


def test_what_is_sent_again_has_its_place_among_the_flows_bytes(tracing: Tracing) -> None:
    acks, retransmissions = taken(
        tracing,
        PROBE.format(t="11.0", una=5000, nxt=5000)
        + RESENT.format(t="12.25", seq=6448, end=9344)
        + RESENT.format(t="12.5", seq=5000, end=6448).replace("16777226", "33554442"),  # 10.0.0.2, no flow
    )
    assert len(acks) == 1
    assert retransmissions == [Retransmission(3, 2.25, 1448, 4344)]


def test_a_first_segment_that_is_sent_again_before_any_ack_begins_the_flow(tracing: Tracing) -> None:
    _, retransmissions = taken(tracing, RESENT.format(t="12.0", seq=777, end=814))
    assert retransmissions == [Retransmission(3, 2.0, 0, 37)]


def test_half_a_line_is_read_with_its_other_half(tracing: Tracing) -> None:
    line = PROBE.format(t="11.0", una=1, nxt=1)
    assert taken(tracing, line[:100]) == ([], [])
    assert len(taken(tracing, line[100:])[0]) == 1


def test_flows_that_trace_faster_than_it_reads_do_not_keep_it(tracing: Tracing) -> None:
    """The pipe has always more: what was traced after the call is left to the next."""
    later = PROBE.format(t=f"{time.monotonic() + 1e6:.6f}", una=1, nxt=1)
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.set_blocking(read, False)
    tracing._pipe = read
    try:
        os.write(write, later.encode() * 2000)
        acks, _ = tracing.take(10.0)
        assert 0 < len(acks) < 1000
        more, _ = tracing.take(10.0)
        assert len(acks) <= len(more) < 1000
    finally:
        os.close(read)
        os.close(write)
