"""iperf3's own account of UDP, live and at the end, becomes each flow's samples and figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tcptutor.agent import udp
from tcptutor.agent.network import Host, Interface, Network
from tcptutor.agent.udp import UdpGroup, UdpReports
from tests.conftest import Build


@pytest.fixture
def group(build: Build, monkeypatch: pytest.MonkeyPatch) -> Iterator[UdpGroup]:
    """Two flows to port 5201, from ports 40000 and 40001; a socket of the second has dropped 3 datagrams."""
    monkeypatch.setattr(udp, "udp_sockets", lambda _pid: iter([(5201, 40000, 0), (5201, 40001, 3)]))
    ends = [Host(name, "10.0.0.1", 1, Interface(f"{name}-eth0", 1)) for name in ("h1", "h2")]
    made = UdpGroup(Network(), build(), 0, 0, ends[0], ends[1], 0.0, 40000, udp_streams=2)
    yield made
    made.stop()


def interval(end: float, *lost: int) -> dict[str, Any]:
    """A fifth of a second in which each flow sent 20 datagrams of 1000 bytes, and `lost` some of them."""
    rows = [
        {"end": end, "bytes": 1000 * (20 - each), "jitter_ms": 0.5 + end, "lost_packets": each, "packets": 20}
        for each in lost
    ]
    return {"streams": rows, "sum": {}}


END = {"streams": [{"udp": {"out_of_order": 0}}, {"udp": {"out_of_order": 7}}]}


def says(group: UdpGroup, *events: tuple[str, object]) -> None:
    for event, data in events:
        group.server_output.write(json.dumps({"event": event, "data": data}).encode() + b"\n")
    group.server_output.flush()


def client_says(group: UdpGroup, seconds: int, bits: float) -> None:
    row = {"seconds": 1.0, "bytes": bits / 8}
    intervals = [{"streams": [row | {"start": float(at)}] * 2} for at in range(seconds)]
    group.output.write(json.dumps({"intervals": intervals}).encode())


def test_a_stream_is_told_as_it_comes(group: UdpGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udp, "streams_json", lambda: True)
    reports = UdpReports(group, first=2)
    reports.poll(0.1)
    assert reports.take(0.2) == []
    says(group, ("start", {"version": "iperf 3.18"}), ("interval", interval(0.2, 0, 1)))
    reports.poll(0.25)
    assert [(row.flow, row.t, row.datagrams, row.lost) for row in reports.take(0.4)] == [
        (2, 0.25, 20, 0),
        (3, 0.25, 20, 1),
    ]
    # Half a line is a line later.
    text = json.dumps({"event": "interval", "data": interval(0.4, 2, 0)}).encode()
    group.server_output.write(text[:40])
    group.server_output.flush()
    assert reports.take(0.6) == []
    group.server_output.write(text[40:] + b"\nwarning: no JSON\n")
    says(group, ("end", END))
    (first, second) = reports.take(0.8)
    assert (first.t, first.datagrams, first.lost, first.received) == (pytest.approx(0.45), 40, 2, 38_000)
    assert (second.lost, second.jitter) == (1, pytest.approx(0.9e-3))
    client_says(group, 1, 2e6)
    (one, other) = reports.results(0.0, 0.5)
    assert (one.flow, one.lost, one.datagrams, one.out_of_order, one.overruns) == (2, 2, 40, 0, 0)
    assert (other.flow, other.lost, other.out_of_order) == (3, 1, 7)
    assert other.sent_bps == 2e6
    assert other.received_bps == pytest.approx(8 * 39_000 / 0.4)
    assert other.jitter_s == pytest.approx(0.8e-3)


def test_the_warm_up_is_left_out(group: UdpGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udp, "streams_json", lambda: True)
    reports = UdpReports(group, first=0)
    for step in range(1, 11):
        says(group, ("interval", interval(step / 5, 10 if step <= 5 else 1, 0)))
        reports.poll(step / 5)
        reports.take(step / 5)
    (one, other) = reports.results(1.0, 2.0)
    assert (one.lost, one.datagrams, other.lost) == (5, 100, 0)
    assert one.received_bps == pytest.approx(8 * 95_000)
    # The client was cut off: the datagrams' numbers tell what it sent.
    assert one.sent_bps == pytest.approx(8 * 100_000)
    # Nobody said it.
    assert one.out_of_order is None


def test_an_older_iperf3_tells_it_at_the_end(group: UdpGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udp, "streams_json", lambda: False)
    reports = UdpReports(group, first=0)
    whole = {"intervals": [interval(0.2, 1, 1), interval(0.4, 0, 2), interval(9.0, 20, 20)], "end": END}
    group.server_output.write(json.dumps(whole, indent=4).encode())
    group.server_output.flush()
    assert reports.take(0.4) == []
    assert [row.t for row in reports.finish(0.4)] == [0.2, 0.2, 0.4, 0.4]
    (one, other) = reports.results(0.0, 0.4)
    assert (one.lost, other.lost, other.out_of_order) == (1, 3, 7)


def test_a_server_that_says_nothing_has_measured_nothing(
    group: UdpGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(udp, "streams_json", lambda: False)
    reports = UdpReports(group, first=0)
    assert reports.finish(1.0) == []
    assert list(reports.results(0.0, 1.0)) == []
