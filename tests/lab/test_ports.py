"""The ports of iperf3's clients: each flow has one of its own, whichever flows share a client."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tcptutor.lab import traffic
from tests.conftest import Build


@pytest.mark.parametrize(
    "asked",
    [
        {"streams": "64", "algorithms": "reno, bbr"},
        {"streams": "9", "directions": "forward, reverse", "algorithms": "reno, cubic, bbr"},
        {"streams": "5", "starts": "0s, 1s", "udp_streams": "3"},
        {"streams": "4", "pairs": 4, "bytes": "1 MB"},
    ],
)
def test_no_two_flows_write_from_one_port(build: Build, asked: dict[str, Any]) -> None:
    made = build(**asked)
    hosts = [SimpleNamespace(name=f"h{n}", address=f"10.0.0.{n}") for n in range(1, 2 * made.pairs + 1)]
    network: Any = SimpleNamespace(senders=hosts[::2], receivers=hosts[1::2])
    groups = traffic.groups(network, made, 40_000)
    for group in groups:
        group.output.close()
        group.server_output.close()
    ports = [
        (group.sender.name, group.first_port + place)
        for group in groups
        for place in range(len(group.flows) or group.udp_streams)
    ]
    assert len(set(ports)) == len(ports) == made.total_streams + made.pairs * made.flows.udp_streams
    assert sorted(number for group in groups for number, _ in group.addresses) == list(
        range(made.total_streams)
    )
    assert max(port for _, port in ports) < 40_000 + len(ports)
