"""What the lab says of a network that is not what its experiment asks for: a real one, in namespaces of its own.

And of a bottleneck so slow that its frames can be counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tcptutor.agent import experiment as runner
from tcptutor.agent import probes
from tcptutor.agent.fidelity import FidelityChecks
from tcptutor.agent.netlink import QdiscState
from tcptutor.agent.network import Interface
from tcptutor.backends import host, programs
from tcptutor.run import FlowResult, QueueSample
from tcptutor.run.plausible import PlausibilityChecks
from tests import patience
from tests.conftest import Build


@pytest.mark.host
def test_network_faults_are_reported(mark: str) -> None:
    done = subprocess.run(
        [*host.privilege(), sys.executable, "-m", "tests.agent.wrong_network"],
        capture_output=True,
        text=True,
        check=False,
        timeout=patience.seconds(60),
        env={**os.environ, "PATH": programs.PATH},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    longer = found.pop("longer path")
    assert longer["invalid"] == []
    assert longer["suspect"][0].endswith(" ms, not 20 ms: a part of the delay is missing")
    assert found == {
        "nothing": {"invalid": [], "suspect": []},
        "another rate": {
            "invalid": ["s1-eth2: tbf rate: asked for 1250000, the kernel holds 1000000"],
            "suspect": [],
        },
        "no discipline": {
            "invalid": ["s1-eth2: queue disciplines: asked for tbf, the kernel holds nothing"],
            "suspect": [],
        },
        "offloads": {
            "invalid": [],
            "suspect": [
                "offloads are on (h1-eth0 tso, h1-eth0 gso, h1-eth0 gro): one loss may take 45 segments at once"
            ],
        },
        "no path": {"invalid": ["no answer from h2: the path does not work"], "suspect": []},
    }


@pytest.mark.parametrize(("rate", "told"), [(20e3, ""), (14e3, " Mbit/s, not 0.02: ")])
def test_frames_that_leave_whole_are_no_wrong_rate(build: Build, rate: float, told: str) -> None:
    """At 20 kbit/s a frame takes 0.6 s: 13 have left after 8.1 s, and the next is half way."""
    frame = 1514
    queue = [
        QueueSample(t / 100, 9 * frame, 9, 0, frame * int(rate * t / 100 / 8 / frame)) for t in range(811)
    ]
    checks = PlausibilityChecks(build(rate="20 kbit/s"))
    checks.check_rate(queue)
    assert checks.checks["rate of the full bottleneck"] == pytest.approx(rate, rel=0.05)
    assert [told in reason for reason in checks.suspect] == [True] * bool(told)


def _flow(losses: int, retransmits: int) -> FlowResult:
    return FlowResult(
        flow=0, pair=0, throughput_bps=1e6, retransmits=retransmits, losses=losses, segments=900,
        mean_rtt_s=0.02, mean_cwnd_segments=20, mss=1448,
    )  # fmt: skip


def test_bbr_under_loss_is_not_asked_for_more_losses(build: Build) -> None:
    """It never leaves recovery: of 8,089 retransmissions none began a loss event."""
    checks = PlausibilityChecks(build(loss="15 %", algorithm="bbr"))
    checks.check_loss_count([_flow(losses=0, retransmits=8089)])
    assert checks.suspect == []


def test_a_full_link_is_not_asked_for_more_losses(build: Build) -> None:
    for used, doubts in ((0.95, 0), (0.8, 1)):
        checks = PlausibilityChecks(build(loss="0.1 %", rate="10 Mbit/s"))
        flow = msgspec.structs.replace(
            _flow(losses=2, retransmits=2), throughput_bps=used * 1e7 * 1448 / 1514
        )
        checks.check_loss_count([flow])
        assert len(checks.suspect) == doubts


def test_correlated_losses_that_did_not_come_are_called_so(build: Build) -> None:
    checks = PlausibilityChecks(build(loss="0.5 %", loss_correlation="60 %"))
    checks.checks["random drops"] = 0
    checks.check_loss_count([_flow(losses=2, retransmits=2)])
    assert "loss of 0.5 % was asked for, and the path lost 0 segments" in checks.suspect[0]
    assert "more loss" not in checks.suspect[0]


def test_segments_sent_again_for_being_late_are_no_super_packets(build: Build) -> None:
    late, lost = (
        PlausibilityChecks(build(loss="0.1 %", delay="10 ms", **more)) for more in ({"reorder": "1 %"}, {})
    )
    for checks in (late, lost):
        checks.check_segmentation([_flow(losses=20, retransmits=120)])
    assert (len(late.suspect), len(lost.suspect)) == (0, 1)


@pytest.mark.parametrize(("losses", "told"), [(1, "only 1 loss event: "), (2, "only 2 loss events: ")])
def test_too_few_losses_are_counted_in_words(build: Build, losses: int, told: str) -> None:
    checks = PlausibilityChecks(build(loss="0.1 %"))
    few = FlowResult(
        flow=0, pair=0, throughput_bps=1e6, retransmits=losses, losses=losses, segments=900,
        mean_rtt_s=0.02, mean_cwnd_segments=20, mss=1448,
    )  # fmt: skip
    checks.check_loss_count([few])
    assert checks.suspect[0].startswith(told)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"streams": "0", "udp_streams": "63", "udp_rate": "99 Gbit/s"}, "take a smaller udp_rate"),
        ({"streams": "1"}, "its queue is too short"),
        ({"streams": "1", "udp_streams": "2", "udp_rate": "1 Mbit/s"}, "its queue is too short"),
    ],
)
@pytest.mark.parametrize("queue", ["fq_codel", "cake"])
def test_a_flood_that_netem_cannot_hold_is_no_queue_that_is_too_short(
    build: Build, asked: dict[str, str], told: str, queue: str
) -> None:
    """The queue's drops are the path's own, and are counted by each discipline above it as well."""
    checks, bottleneck = (
        FidelityChecks(build(rate="10 Mbit/s", qdisc=queue, **asked)),
        Interface("s1-eth2", None),
    )

    def held(netem: int) -> tuple[QdiscState, ...]:
        kinds = {"netem": netem, "tbf": 160, queue: 160} if netem else {"netem": 0, "tbf": 0, queue: 0}
        return tuple(QdiscState(kind, drops=drops) for kind, drops in kinds.items())

    checks.check_drops({bottleneck: held(0)}, {bottleneck: held(160)}, bottleneck)
    assert checks.invalid == []
    checks.check_drops({bottleneck: held(0)}, {bottleneck: held(250)}, bottleneck)
    assert len(checks.invalid) == 1
    assert checks.invalid[0].startswith("netem dropped 90 packets, 0 were planned: ")
    assert checks.invalid[0].endswith(told)


@pytest.mark.parametrize(
    ("maxrate", "rtt", "told"),
    [
        ("10 kbit/s", 0.072, ""),
        ("10 kbit/s", 0.08, "the machine is too busy"),
        ("10 kbit/s", 0.015, "a part of the delay is missing"),
        ("10 Mbit/s", 0.072, "the machine is too busy"),
        ("10 Mbit/s", 0.02, ""),
    ],
)
def test_an_echo_that_fq_holds_back_is_no_busy_machine(
    build: Build, monkeypatch: pytest.MonkeyPatch, maxrate: str, rtt: float, told: str
) -> None:
    def answers(*_: object, **__: object) -> list[float]:
        return [rtt] * 6

    monkeypatch.setattr(probes, "ping", answers)
    host = SimpleNamespace(name="h1")
    network: Any = SimpleNamespace(senders=[host], receivers=[host])
    checks = FidelityChecks(build(delay="20 ms", maxrate=maxrate))
    checks.check_path(network)
    assert [reason.partition(" ms: ")[2] for reason in checks.suspect] == ([told] if told else [])


@pytest.mark.parametrize(
    ("asked", "ports"),
    [
        ({"rate": "10 Mbit/s"}, ["s1-eth2"]),
        ({"rate": "10 Mbit/s", "delay": "10 ms"}, []),
        ({}, []),
        ({"rate": "10 Mbit/s", "delay": "10 ms", "reverse_rate": "5 Mbit/s"}, []),
        ({"delay": "10 ms", "reverse_rate": "5 Mbit/s", "directions": "reverse"}, ["s2-eth1"]),
        ({"rate": "10 Mbit/s", "loss": "1 %"}, ["s1-eth2"]),
    ],
)
def test_a_kernel_that_counts_the_path_s_queue_as_its_own_is_doubted(
    build: Build, asked: dict[str, str], ports: list[str]
) -> None:
    experiment = build(**asked)
    network: Any = SimpleNamespace(
        sends_copies=False,
        bottleneck=Interface("s1-eth2", None),
        second_bottleneck=None,
        reverse_bottleneck=Interface("s2-eth1", None),
        access=lambda _: Interface("s2-eth2", None),
    )
    wanted = runner.qdisc_chains(network, experiment)
    checks = FidelityChecks(experiment)
    checks.check_sockets(network, wanted)
    assert [port for port in ("s1-eth2", "s2-eth1", "s2-eth2") if port in " ".join(checks.suspect)] == ports
    network.sends_copies = True
    trusting = FidelityChecks(experiment)
    trusting.check_sockets(network, wanted)
    assert trusting.suspect == []
