"""What the kernel cannot hold, or did not carry out: refused before anything starts, or told of the run."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor.agent import shaping
from tcptutor.agent.fidelity import FidelityChecks
from tcptutor.agent.netlink import QdiscState
from tcptutor.agent.qdiscs.attributes import U32_MAX, u32
from tcptutor.base.errors import ParameterError
from tcptutor.run import QueueSample
from tcptutor.run.plausible import PlausibilityChecks
from tcptutor.spec import default_burst
from tcptutor.wire import plan
from tests.conftest import Build

FRAME = 1514


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"burst": "1 GiB"}, r"^burst: .* all traffic of the run, .* use at most 275 MB$"),
        (
            {"rate": "10 kbit/s", "burst": "400 kB", "duration": "3600 s"},
            r"^burst: .* use at most 337.5 kB$",
        ),
        (
            {"loss": "0.00000001 %"},
            r"^loss: 1e-08 % is too rare for the kernel: use 0, or at least 1e-07 %",
        ),
        ({"reverse_loss": "1e-8 %"}, "^reverse_loss: "),
        ({"changes": "1s loss=1e-8%"}, "^changes: .* too rare for the kernel"),
        ({"loss": "0.0000005 %", "loss_burst": "100"}, "^loss_burst: .* too rare for the kernel"),
        (
            {"tcp_wmem": "4096 16384 4294967296"},
            r"^tcp_wmem: '4294967296' is out of bounds: .* at most 2147483647$",
        ),
        ({"algorithm": "cubci"}, r"^algorithm: no congestion control 'cubci': did you mean cubic\?$"),
        ({"algorithms": "reno, zzz"}, "^algorithms: no congestion control 'zzz': there are reno, cubic, "),
        ({"udp_streams": "1", "length": "64 KiB"}, "^length: a datagram holds at most 65507 bytes$"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused_before_anything_starts(
    build: Build, parameters: dict[str, str], says: str
) -> None:
    with pytest.raises(ParameterError, match=says):
        build(**{"rate": "100 Mbit/s", "delay": "20 ms"} | parameters)


@pytest.mark.parametrize(
    ("setting", "asked"),
    [
        ("loss", {"loss": 1e-9}),
        ("loss", {"loss": 0.001234567}),
        ("loss", {"loss": 1e-6, "loss_burst": 500.0}),
        ("duplicate", {"duplicate": 3e-9}),
        ("reorder", {"reorder": 1e-9, "delay": 0.01}),
    ],
)
def test_a_setting_is_compared_by_the_step_in_which_the_kernel_holds_it(
    build: Build, setting: str, asked: dict[str, float]
) -> None:
    """The kernel holds what was sent to it, in whole steps; anything else is told."""
    way = msgspec.structs.replace(build(rate="10 Mbit/s").path, **asked)
    netem, tbf = plan.chain(way, 1500, 1)
    # The kernel does not tell the distribution of a delay.
    told = {name: value for name, value in netem.settings.items() if name != "shape"}
    if way.loss_burst > 1:
        odds = round(way.loss / (1 - way.loss) / way.loss_burst * U32_MAX) / round(U32_MAX / way.loss_burst)
        held = {"loss": odds / (1 + odds), "burst": U32_MAX / round(U32_MAX / way.loss_burst)}
    else:
        held = {setting: u32(told[setting]) / U32_MAX}

    def differences(**held: float) -> list[str]:
        found = QdiscState("netem", told | held), QdiscState("tbf", tbf.settings)
        return shaping.differences((netem, tbf), found)

    assert held[setting] != told[setting]
    assert differences(**held) == []
    (wrong,) = differences(**held | {setting: 2 * told[setting] + 1e-8})
    assert wrong.startswith(f"netem {setting}: asked for ")


@pytest.mark.parametrize(
    ("rate", "bucket"),
    [
        (10e3, FRAME), (200e3, FRAME), (1e6, 2500), (5e6, 12_500), (10e6, 10 * FRAME), (40e6, 10 * FRAME),
        (1e9, 125_000),
    ],
)  # fmt: skip
def test_a_bucket_is_small_beside_what_a_slow_link_carries(rate: float, bucket: int) -> None:
    assert default_burst(rate, FRAME) == bucket


@pytest.mark.parametrize(("carried", "told"), [(10e6, 0), (10.2e6, 0), (10.5e6, 1), (30.4e6, 1)])
def test_a_bottleneck_that_carries_more_than_its_rate_is_told(
    build: Build, carried: float, told: int
) -> None:
    """Of the measured time: what goes through a full bucket before it does not count."""
    checks = PlausibilityChecks(build(rate="10 Mbit/s", duration="4 s", warmup="1 s"))
    queue = [QueueSample(t / 10, 0, 0, 0, round(4e6 * (t >= 10) + carried * t / 80)) for t in range(10, 51)]
    checks.check_excess(queue, [], [])
    assert ["were carried, more than the 10" in reason for reason in checks.invalid] == [True] * told


def test_segments_dropped_by_a_host_are_reported(build: Build) -> None:
    checks = FidelityChecks(build(rate="10 Mbit/s"))
    checks.check_kernel({"h1": {}, "h2": {"TcpExt TCPBacklogDrop": 1, "Udp RcvbufErrors": 12}})
    assert checks.verdict().status == "suspect"
    assert checks.suspect == [
        "h2: the kernel dropped 1 segment that had arrived: the processor was too slow",
        "h2: the kernel dropped 12 datagrams that had arrived: the program was too slow to read",
    ]
    checks.check_kernel({"h1": {"TcpExt TCPMemoryPressures": 1}})
    found = checks.verdict()
    assert found.status == "invalid"
    assert found.reasons[0].startswith("h1: the kernel ran out of memory for TCP (net.ipv4.tcp_mem), and ")
    assert found.checks["h1 TCPMemoryPressures"] == 1


@pytest.mark.parametrize("count", [0, 1, 105])
def test_retransmissions_that_the_kernel_withheld_are_told(build: Build, count: int) -> None:
    checks = FidelityChecks(build(rate="10 Mbit/s"))
    checks.check_kernel({"h1": {"TcpExt TCPSpuriousRtxHostQueues": count}})
    assert checks.checks["h1 TCPSpuriousRtxHostQueues"] == count
    assert [f"withheld {count} retransmission" in reason for reason in checks.suspect] == [True] * (count > 0)


def test_a_run_that_ends_early_is_doubted_and_one_that_measured_nothing_is_invalid(build: Build) -> None:
    experiment = build(rate="10 Mbit/s", duration="10 s", warmup="2 s")
    early, stopped, nothing = (
        FidelityChecks(experiment),
        FidelityChecks(experiment),
        FidelityChecks(experiment),
    )
    early.check_duration(0.0)
    assert early.verdict().status == "valid"
    early.check_duration(1.5)
    assert early.verdict().reasons == ("the traffic ended 1.5 s early: the machine is too busy",)
    stopped.record_stop(5.0)
    assert stopped.verdict().reasons == ("cut short after 3.0 of 10 s of the measured time",)
    nothing.record_stop(1.0)
    assert nothing.verdict().status == "invalid"
