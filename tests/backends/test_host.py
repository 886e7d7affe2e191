"""The lab on this machine's own kernel, with what it has; as whoever runs the tests."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from tcptutor.backends.events import Recording
from tcptutor.backends.host import HostBackend
from tcptutor.base.errors import KernelLacks, LabError
from tcptutor.spec import Hosts
from tcptutor.theory import goodput_ratio
from tcptutor.wire.protocol import Phase, Samples
from tests import leftovers, patience
from tests.backends.play import carries, doubt, leaving_nothing, play, too_busy
from tests.conftest import Build

pytestmark = [pytest.mark.host, pytest.mark.alone]


@pytest.fixture(params=["as it is", "user namespace"])
async def host(mark: str, request: pytest.FixtureRequest) -> AsyncIterator[HostBackend]:
    if request.param == "user namespace":
        if os.geteuid() != 0:
            pytest.skip("an ordinary user takes the user namespace anyway")
        request.getfixturevalue("ordinary_user")
    async with leaving_nothing(HostBackend(), mark) as backend:
        yield backend


async def test_a_shaped_link_carries_its_goodput_and_is_sampled_twenty_times_a_second(
    host: HostBackend, build: Build
) -> None:
    run = await play(
        host, build(rate="40 Mbit/s", algorithm="reno", streams="2", duration="3 s", warmup="1 s")
    )
    assert run.complete
    assert carries(run, 40e6 * goodput_ratio(1500), rel=0.05)
    for flow in range(2):
        times = [sample.t for sample in run.samples if sample.flow == flow]
        missing = float(run.fidelity.checks["missing samples"])
        assert too_busy(run) or len(times) == pytest.approx(100 * times[-1] * (1 - missing), abs=2)
        assert too_busy(run) or len(times) >= 100 * 4 * 0.9
        assert too_busy(run) or times[-1] == pytest.approx(4.0, abs=0.1)
    for flow in run.flows:
        assert flow.receiver_bps == pytest.approx(flow.throughput_bps, rel=0.05)
    assert run.fidelity.checks["offloads"] == "off"


async def test_the_receive_window_is_the_one_asked_for(host: HostBackend, build: Build) -> None:
    run = await play(host, build(rate="none", algorithm="reno", window="64 KiB", duration="1 s", warmup="0"))
    assert run.fidelity.checks["advertised window"] == pytest.approx(65536, rel=0.025)
    assert {sample.snd_wnd <= 65536 * 1.025 for sample in run.samples} == {True}


async def test_larger_packets_are_larger_segments(host: HostBackend, build: Build) -> None:
    run = await play(host, build(rate="50 Mbit/s", algorithm="reno", mtu="9000", duration="1 s", warmup="0"))
    assert run.samples[-1].mss == 9000 - 52


def _agent(mark: str) -> int:
    """The process of the agent itself, not of what has started it."""
    (found,) = (
        int(line.split()[0])
        for line in leftovers.marked(mark)
        if line.split()[1] == sys.executable and "tcptutor.agent.agent" in line
    )
    return found


def _until_it_sends(mark: str) -> None:
    deadline = patience.Deadline(10)
    while not any("iperf3 -c" in line for line in leftovers.marked(mark)):
        assert deadline.left


async def test_datagrams_that_are_seen_late_are_measured(host: HostBackend, build: Build, mark: str) -> None:
    """As on a busy machine: iperf3's time is over before ours, which began when the agent saw its flows."""
    experiment = build(
        rate="20 Mbit/s", streams="0", udp_streams="1", udp_rate="8 Mbit/s", duration="2 s", warmup="0"
    )
    recording = Recording(experiment, await host.open())
    agent = _agent(mark)
    async with aclosing(host.run(experiment)) as events:
        async for event in events:
            recording.take(event)
            if isinstance(event, Phase) and event.name == "traffic":
                _until_it_sends(mark)
                os.kill(agent, signal.SIGSTOP)
                await asyncio.sleep(0.3)
                os.kill(agent, signal.SIGCONT)
    assert recording.run.complete
    # Later by what it stood still, and by what a busy machine lets each of the two programs wait.
    busy = patience.busy()
    assert 2 - 0.5 * busy < recording.run.experiment_s < 2 + 0.1 * busy
    (flow,) = recording.run.udp
    assert flow.received_bps == pytest.approx(8e6, rel=0.05 * busy)


async def test_pacing_by_the_application_bounds_the_flow(host: HostBackend, build: Build) -> None:
    run = await play(
        host, build(rate="50 Mbit/s", algorithm="reno", pacing="8 Mbit/s", duration="3 s", warmup="1 s")
    )
    assert carries(run, 8e6, rel=0.08)


async def test_missing_kernel_features_are_named(host: HostBackend, build: Build) -> None:
    here = await host.open()
    with pytest.raises(KernelLacks, match="nosuch"):
        await play(host, msgspec.structs.replace(build(), hosts=Hosts(algorithm="nosuch")))
    if "netem" not in here.qdiscs:
        with pytest.raises(KernelLacks, match="netem"):
            await play(host, build(delay="10 ms", algorithm="reno"))
    # The agent is as good as before.
    run = await play(host, build(rate="20 Mbit/s", algorithm="reno", duration="1 s", warmup="0"))
    assert run.complete


async def test_leaving_a_run_early_leaves_nothing_and_the_next_one_works(
    host: HostBackend, build: Build, mark: str
) -> None:
    experiment = build(rate="20 Mbit/s", algorithm="reno", duration="30 s", warmup="0")
    async with aclosing(host.run(experiment)) as events:
        async for event in events:
            if isinstance(event, Samples) and event.t > 0.5:
                break
    assert await asyncio.to_thread(leftovers.wait_until_none, mark) == []
    run = await play(host, build(rate="20 Mbit/s", algorithm="reno", duration="1 s", warmup="0"))
    assert run.complete


@pytest.mark.parametrize(
    ("victim", "udp"), [("tcptutor.agent.agent", "0"), ("tcptutor.agent.agent", "1"), ("iperf3 -c", "1")]
)
async def test_a_killed_part_ends_the_run_with_one_line(
    host: HostBackend, build: Build, mark: str, victim: str, udp: str
) -> None:
    streams = "1" if udp == "0" else "0"
    experiment = build(rate="20 Mbit/s", streams=streams, udp_streams=udp, duration="30 s", warmup="0")
    kept = 0
    with pytest.raises(LabError) as caught:
        async with aclosing(host.run(experiment)) as events:
            async for event in events:
                if isinstance(event, Samples):
                    kept += len(event.rows if udp == "0" else event.queue)
                    if event.t > 0.5:
                        leftovers.kill(mark, victim)
    assert kept > 5
    assert "run" in str(caught.value)
    assert "\n" not in str(caught.value)
    await host.close()
    assert await asyncio.to_thread(leftovers.wait_until_none, mark) == []


async def test_missing_samples_are_reported(host: HostBackend, build: Build, mark: str) -> None:
    """The agent stands still for half a second, as on a machine that has no time for it; the traffic goes on."""
    recording = Recording(
        build(rate="20 Mbit/s", algorithm="reno", duration="2 s", warmup="0"), await host.open()
    )
    agents = [_agent(mark)]
    async with aclosing(host.run(recording.run.experiment)) as events:
        async for event in events:
            recording.take(event)
            if isinstance(event, Samples) and agents and event.t > 0.5:
                agent = agents.pop()
                os.kill(agent, signal.SIGSTOP)
                try:
                    await asyncio.sleep(0.5)
                finally:
                    os.kill(agent, signal.SIGCONT)
    assert recording.run.fidelity.status == "suspect"
    doubt(recording.run, "no samples for ")
    gap = float(recording.run.fidelity.checks["longest sampling gap"])
    assert gap > 0.4
    assert gap < 1 or patience.busy() >= 2


async def test_two_labs_at_once_do_not_disturb_each_other(host: HostBackend, build: Build) -> None:
    other = HostBackend()
    try:
        experiment = build(rate="10 Mbit/s", algorithm="reno", duration="2 s", warmup="1 s")
        runs = await asyncio.gather(play(host, experiment), play(other, experiment))
    finally:
        await other.close()
    for run in runs:
        assert carries(run, 10e6 * goodput_ratio(1500), rel=0.06)


async def test_the_machines_own_network_is_left_alone(host: HostBackend, build: Build) -> None:
    def own() -> tuple[set[str], str, str]:
        ipv4 = Path("/proc/sys/net/ipv4")
        return (
            {entry.name for entry in Path("/sys/class/net").iterdir()},
            (ipv4 / "tcp_rmem").read_text(),
            (ipv4 / "tcp_congestion_control").read_text(),
        )

    before = own()
    during = set()
    async with aclosing(
        host.run(build(rate="20 Mbit/s", algorithm="reno", duration="1 s", warmup="0"))
    ) as events:
        async for _ in events:
            during.add(str(own()))
    assert during == {str(before)}
