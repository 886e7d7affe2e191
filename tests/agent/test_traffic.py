"""Groups of flows: each has a port of its own, and all connect before the path loses anything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tcptutor.agent import connecting, shaping, traffic
from tcptutor.agent.flow_group import Group
from tcptutor.agent.flow_process import FlowProcess
from tcptutor.agent.network import Interface
from tcptutor.spec import Experiment
from tcptutor.wire import plan
from tcptutor.wire.plan import Chain
from tests.conftest import Build


def groups(made: Experiment) -> list[Group]:
    """Those of an experiment, in no network."""
    hosts = [SimpleNamespace(name=f"h{n}", address=f"10.0.0.{n}") for n in range(1, 2 * made.pairs + 1)]
    network: Any = SimpleNamespace(senders=hosts[::2], receivers=hosts[1::2])
    process = FlowProcess()
    found = traffic.groups(network, made, 40_000, process)
    process.stop()
    for group in found:
        group.stop()
    return found


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
    found = groups(made)
    ports = [
        (group.sender.name, group.first_port + place)
        for group in found
        for place in range(len(group.flows) or group.udp_streams)
    ]
    assert len(set(ports)) == len(ports) == made.total_streams + made.pairs * made.flows.udp_streams
    assert sorted(number for group in found for number, _ in group.addresses) == list(
        range(made.total_streams)
    )
    assert max(port for _, port in ports) < 40_000 + len(ports)


def test_tcp_and_udp_have_all_their_flows_at_one_time(build: Build) -> None:
    """A TCP flow that sends before all UDP flows are there fills the queue that drops their handshakes."""
    few = build(streams="8", udp_streams="63", delay="20 ms")
    assert connecting.waits(few, groups(few)) == pytest.approx([(6 + 63 - 1) * 0.02, 0.0])
    many = build(streams="9", udp_streams="3", delay="20 ms", directions="forward, reverse")
    assert connecting.waits(many, groups(many)) == pytest.approx([8 * 0.02, 8 * 0.02, 0.0])
    alone = build(streams="9", delay="20 ms", directions="forward, reverse")
    assert connecting.waits(alone, groups(alone)) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, False),
        ({"loss": "10 %"}, False),
        ({"loss": "75 %"}, True),
        ({"loss": "40 %", "reverse_loss": "40 %"}, True),
        ({"udp_streams": "1"}, False),
        ({"udp_streams": "1", "loss": "1 %"}, True),
        ({"udp_streams": "1", "reverse_loss": "1 %"}, True),
        ({"udp_streams": "1", "loss": "1 %", "loss_by": "firewall"}, True),
    ],
)
def test_who_connects_on_a_path_that_loses_nothing(
    build: Build, asked: dict[str, str], expected: bool
) -> None:
    assert connecting.is_loss_free(build(**asked)) is expected


def test_the_losses_come_back_and_nothing_else_changes(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    path = build(rate="10 Mbit/s", delay="20 ms", loss="10 %", loss_burst="3", duplicate="1 %").path
    lossy, other = Interface("s1-eth2", None), Interface("s2-eth2", None)
    wanted = {lossy: plan.chain(path, 1500, 7), other: plan.chain(plan.access_link(path, 0), 1500, 7, True)}
    held: list[tuple[Interface, Chain]] = []
    said: list[str] = []

    class Hosts:
        def suspend_loss(self) -> None:
            said.append("suspend")

        def resume_loss(self) -> None:
            said.append("resume")

    def change(interface: Interface, chain: Chain) -> None:
        held.append((interface, chain))

    monkeypatch.setattr(shaping, "change", change)
    hosts: Any = Hosts()
    with connecting.without_loss(hosts, wanted):
        ((where, without),) = held
        assert where == lossy
        assert said == ["suspend"]
        asked = wanted[lossy][0].settings
        assert without[0].settings == asked | {"loss": 0.0, "burst": 1.0, "loss_correlation": 0.0}
        assert without[1:] == wanted[lossy][1:]
    assert held[1:] == [(lossy, wanted[lossy])]
    assert said == ["suspend", "resume"]
