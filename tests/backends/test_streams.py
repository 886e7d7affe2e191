"""What the flows of an experiment send, on this machine's kernel and in the guest."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.selection import Backend
from tcptutor.base.errors import LabError
from tests.backends.play import doubt, host_or_guest, leaving_nothing, play
from tests.conftest import Build

_SYN = 1
"""What the kernel counts as acknowledged before the first byte."""


@pytest.fixture(
    params=[
        pytest.param("host", marks=[pytest.mark.host, pytest.mark.alone]),
        pytest.param("guest", marks=pytest.mark.guest),
    ]
)
async def lab(request: pytest.FixtureRequest, mark: str) -> AsyncIterator[Backend]:
    async with leaving_nothing(host_or_guest(request, "virtual"), mark) as one:
        yield one


@pytest.mark.parametrize("amount", [1_000, 131_071, 1_000_000])
async def test_a_fixed_amount_is_sent_to_the_byte(lab: Backend, build: Build, amount: int) -> None:
    run = await play(
        lab, build(rate="20 Mbit/s", streams="2", bytes=f"{amount} B", duration="5 s", warmup="0")
    )
    assert run.complete
    for number in range(2):
        last = [sample for sample in run.samples if sample.flow == number][-1]
        assert last.bytes_acked == amount + _SYN
        assert last.bytes_received == amount
        assert last.unacked == last.notsent == 0
    assert all(flow.completion_s is not None for flow in run.flows)


async def test_flows_of_other_lengths_buffers_and_segments(lab: Backend, build: Build) -> None:
    asked = {"length": "1000 B", "buffer": "64 KiB", "mss": "1000", "streams": "2"}
    run = await play(lab, build(rate="10 Mbit/s", duration="2 s", warmup="0", **asked))
    assert {sample.mss for sample in run.samples if sample.t > 0.1} == {1000 - 12}
    # A receiver's buffer of 128 KiB, as the kernel counts it, holds about half of that in payload.
    assert 0 < max(sample.snd_wnd for sample in run.samples) < 80_000
    assert sum(flow.throughput_bps for flow in run.flows) == pytest.approx(1e7 * 988 / 1054, rel=0.06)


async def test_messages_leave_once_every_interval(lab: Backend, build: Build) -> None:
    asked = {
        "streams": "2",
        "messages": "none, 3000 B",
        "interval": "500 ms",
        "nodelay": "on",
        "window": "64 KiB",
    }
    run = await play(lab, build(rate="10 Mbit/s", duration="3 s", warmup="0", **asked))
    times = {sample.bytes_acked: sample.t for sample in reversed(list(run.samples)) if sample.flow == 1}
    assert [times[3000 * number + _SYN] for number in range(1, 7)] == pytest.approx(
        [0.5 * number for number in range(6)], abs=0.2
    )
    assert run.flows[0].throughput_bps > 8e6


@pytest.mark.guest
async def test_a_connection_begins_with_the_window_of_its_route(guest: GuestBackend, build: Build) -> None:
    for asked, segments in (({"initial_window": "2"}, 2), ({}, 10)):
        run = await play(guest, build(delay="100 ms", bytes="100 kB", duration="3 s", warmup="0", **asked))
        assert run.samples[0].cwnd == segments
        assert max(sample.unacked for sample in run.samples if sample.t < 0.09) == segments


async def test_both_directions_and_a_later_start(lab: Backend, build: Build) -> None:
    asked = {"streams": "2", "directions": "forward, reverse", "starts": "0 s, 1 s"}
    run = await play(lab, build(rate="10 Mbit/s", duration="3 s", warmup="0", **asked))
    first = {flow: min(sample.t for sample in run.samples if sample.flow == flow) for flow in (0, 1)}
    assert first[0] < 0.1
    assert 1 <= first[1] < 1.3
    assert all(flow.throughput_bps > 1e6 for flow in run.flows)


@pytest.mark.parametrize(("down", "length"), [(0.5, 20), (6.0, 12)])
async def test_a_connection_that_the_kernel_gives_up(
    lab: Backend, build: Build, down: float, length: int
) -> None:
    asked = {"tcp_retries2": "2", "queue": "10 kB", "changes": f"{down} s link=down"}
    experiment = build(rate="10 Mbit/s", duration=f"{length} s", warmup="0", **asked)
    if down < length / 4:
        with pytest.raises(LabError, match=r"^flow 1 of h1 ended \(Connection timed out\): "):
            await play(lab, experiment)
    else:
        doubt(await play(lab, experiment), "flow 1 of h1 ended (Connection timed out)")


async def test_a_receiver_that_cannot_be_reached(lab: Backend, build: Build) -> None:
    """The link is down before the flow's first packet: its kernel tries again, and nobody waits for ever."""
    experiment = build(
        rate="10 Mbit/s", duration="6 s", warmup="0", streams="2", starts="0 s, 1 s",
        changes="0.9 s link=down", tcp_syn_retries="1",
    )  # fmt: skip
    run = await play(lab, experiment)
    assert {sample.bytes_acked for sample in run.samples if sample.flow == 1} <= {0}
    doubt(run, "flow 2 of h1 does not connect (Connection timed out)")


@pytest.mark.guest
@pytest.mark.parametrize("qdisc", ["red", "codel"])
async def test_dctcp_answers_marks_and_loses_nothing(guest: GuestBackend, build: Build, qdisc: str) -> None:
    """Its listener has to speak DCTCP when the SYN comes; another flow of the same hosts speaks what it likes."""
    asked = {"streams": "2", "algorithms": "dctcp, cubic", "starts": "0 s, 2 s", "qdisc": qdisc, "ecn": "on"}
    run = await play(guest, build(rate="20 Mbit/s", delay="20 ms", queue="2 BDP", duration="3 s", **asked))
    # Behind its slow start, and before the other flow's.
    alone = [sample for sample in run.samples if sample.flow == 0 and 1 < sample.t < 2]
    assert alone[-1].delivered_ce > alone[0].delivered_ce + 10
    assert alone[-1].retransmits == alone[0].retransmits
    # What DCTCP cuts depends on the share of marks; every other algorithm halves, or nearly.
    windows = [sample.cwnd for sample in alone]
    assert min(windows) > 0.6 * max(windows)
