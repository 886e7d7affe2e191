"""A run's settings are taken back step by step, whichever step fails."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tcptutor.agent import experiment as runner
from tcptutor.agent import host_settings, shaping
from tcptutor.agent.network import Host, Interface
from tcptutor.base.errors import LabError
from tests.conftest import Build


class _Network:
    """Two hosts and two switches that are only names."""

    pairs = 1
    bottleneck, reverse_bottleneck = Interface("s1-eth2", None), Interface("s2-eth1", None)
    second_bottleneck = None

    def __init__(self) -> None:
        self.hosts = [
            Host(f"h{number}", f"10.0.0.{number}", os.getpid(), Interface(f"h{number}-eth0", None))
            for number in (1, 2)
        ]
        self.interfaces = [self.bottleneck, self.reverse_bottleneck]
        self.senders, self.receivers = self.hosts[:1], self.hosts[1:]

    def access(self, _: int) -> Interface:
        return Interface("s2-eth2", None)


class _Kernel:
    """Sysctls by host and name, and the interfaces that have disciplines; `refused` cannot be changed any more."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], str] = {}
        self.shaped: set[str] = set()
        self.refused: set[str] = set()

    def sysctl(self, host: Host, name: str, value: str | None = None) -> str:
        if value is not None:
            if name in self.refused:
                raise LabError(f"{name} is refused")
            self.values[host.name, name] = value
        return self.values.setdefault((host.name, name), "before")

    def apply(self, interface: Interface, _: Any) -> None:
        self.shaped.add(interface.name)

    def clear(self, interface: Interface) -> None:
        if interface.name in self.refused:
            raise LabError(f"{interface.name} is gone")
        self.shaped.discard(interface.name)


@pytest.fixture(name="kernel")
def _kernel(monkeypatch: pytest.MonkeyPatch) -> _Kernel:
    kernel = _Kernel()
    monkeypatch.setattr(host_settings, "sysctl", kernel.sysctl)
    monkeypatch.setattr(host_settings, "set_mtu", lambda *_: None)
    monkeypatch.setattr(host_settings, "offloads", lambda *_, **__: {})
    monkeypatch.setattr(shaping, "apply", kernel.apply)
    monkeypatch.setattr(shaping, "clear", kernel.clear)
    return kernel


@pytest.mark.parametrize(
    "refused", [(), ("s1-eth2",), ("net.ipv4.tcp_ecn",), ("s2-eth1", "net.ipv4.tcp_wmem")]
)
def test_every_other_setting_is_taken_back(kernel: _Kernel, build: Build, refused: tuple[str, ...]) -> None:
    experiment = build(rate="10 Mbit/s", delay="10 ms", reverse_delay="5 ms", tcp_sack="0")
    network: Any = _Network()
    failures = 0
    try:
        with runner.set_up(network, experiment):
            assert kernel.shaped == {"s1-eth2", "s2-eth1"}
            assert kernel.values["h2", "net.ipv4.tcp_sack"] == "0"
            kernel.refused = set(refused)
    except LabError:
        failures = 1
    assert failures == (1 if refused else 0)
    assert kernel.shaped == {"s1-eth2", "s2-eth1"} & set(refused)
    left = {name for (_, name), value in kernel.values.items() if value != "before"}
    assert left == {name for name in refused if name.startswith("net.")}


def test_what_was_set_before_a_setting_that_is_refused_is_taken_back(kernel: _Kernel, build: Build) -> None:
    kernel.refused = {"net.ipv4.tcp_sack"}
    network: Any = _Network()
    with pytest.raises(LabError, match="tcp_sack"), runner.set_up(network, build(tcp_sack="0")):
        pass
    assert set(kernel.values.values()) == {"before"}
