"""While flows connect nothing is lost, where they would not connect otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from tcptutor.agent import shaping, traffic
from tcptutor.agent.network import Interface
from tcptutor.wire import plan
from tcptutor.wire.plan import Chain
from tests.conftest import Build


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
    assert traffic.connects_without_loss(build(**asked)) is expected


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
    with traffic.without_loss(hosts, wanted):
        ((where, without),) = held
        assert where == lossy
        assert said == ["suspend"]
        asked = wanted[lossy][0].settings
        assert without[0].settings == asked | {"loss": 0.0, "burst": 1.0, "loss_correlation": 0.0}
        assert without[1:] == wanted[lossy][1:]
    assert held[1:] == [(lossy, wanted[lossy])]
    assert said == ["suspend", "resume"]
