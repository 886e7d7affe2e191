"""Traffic that varies: a rate trace, short flows, requests, pauses, and hosts that change during a run."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tcptutor.analysis import report
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.spec.short_flows import arrivals
from tests.backends.play import play
from tests.conftest import Build

pytestmark = pytest.mark.guest


async def test_the_bottleneck_follows_a_trace_of_its_rate(guest: GuestBackend, build: Build) -> None:
    trace = "0 s 8 Mbit/s; 1.5 s 2 Mbit/s; 3 s 6 Mbit/s"
    run = await play(guest, build(rate_trace=trace, delay="20 ms", duration="4 s", warmup="0.5 s"))
    assert run.fidelity.status == "valid"
    queue = list(run.queue)
    for start, end, rate in ((0.7, 1.4, 8e6), (1.6, 2.9, 2e6), (3.2, 4.2, 6e6)):
        inside = [sample for sample in queue if start <= sample.t <= end]
        sent = 8 * (inside[-1].sent - inside[0].sent) / (inside[-1].t - inside[0].t)
        assert sent == pytest.approx(rate, rel=0.05)
    assert run.fidelity.number("share of the trace that the full bottleneck sent") == pytest.approx(
        1, abs=0.03
    )


async def test_short_flows_arrive_as_planned_and_their_times_are_kept(
    guest: GuestBackend, build: Build
) -> None:
    asked = {"short_arrivals": "8", "short_size": "20 kB", "short_sizes": "exponential"}
    run = await play(guest, build(rate="10 Mbit/s", delay="20 ms", duration="3 s", warmup="0", **asked))
    planned = arrivals(run.experiment)
    found = list(run.transfers)
    assert [each.bytes for each in found] == [each.bytes for each in planned]
    assert [each.t for each in found] == pytest.approx([each.at for each in planned], abs=0.05)
    times = [each.seconds for each in found if each.seconds is not None]
    assert len(times) > 0.7 * len(found)
    # A connection takes a round trip before its first byte leaves.
    assert min(times) > 0.02
    assert run.flows[0].throughput_bps < 9.5e6
    completion = report(run).latency.completion
    assert completion is not None
    assert (completion.samples, completion.unfinished) == (len(found), len(found) - len(times))


async def test_a_client_asks_waits_and_thinks(guest: GuestBackend, build: Build) -> None:
    asked = {"streams": "2", "requests": "none, 50 kB", "think_time": "200 ms"}
    run = await play(guest, build(rate="20 Mbit/s", delay="20 ms", duration="2 s", warmup="0", **asked))
    found = list(run.transfers)
    assert {(each.source, each.bytes, each.is_request) for each in found} == {(1, 50_000, True)}
    for before, after in pairwise(found):
        assert before.seconds is not None
        assert after.t == pytest.approx(before.t + before.seconds + 0.2, abs=0.02)
    last = [sample for sample in run.samples if sample.flow == 1][-1]
    done = sum(each.seconds is not None for each in found)
    # The last answer may have ended after the last sample.
    assert last.bytes_received >= 50_000 * (done - 1)


async def test_an_application_writes_and_pauses(guest: GuestBackend, build: Build) -> None:
    asked = {"on_times": "500 ms", "off_time": "1 s", "queue": "20 kB"}
    run = await play(guest, build(rate="10 Mbit/s", delay="20 ms", duration="3 s", warmup="0", **asked))
    idle = [sample.t for sample in run.samples if sample.unacked == 0 and sample.t > 0.1]
    assert any(0.7 < t < 1.5 for t in idle)
    assert not any(1.6 < t < 2.0 for t in idle)
    assert any(2.3 < t < 3.0 for t in idle)


async def test_algorithm_and_mtu_change_during_a_run(guest: GuestBackend, build: Build) -> None:
    changes = "1.5 s algorithm=bbr; 3 s mtu=900"
    run = await play(
        guest, build(rate="10 Mbit/s", delay="20 ms", duration="4 s", warmup="0", changes=changes)
    )
    assert run.fidelity.status == "valid"
    assert {sample.mss for sample in run.samples if 0.1 < sample.t < 3} == {1448}
    assert {sample.mss for sample in run.samples if sample.t > 3.2} == {848}
    # CUBIC fills the queue of 97 kB, BBR leaves most of it empty.
    before = max(sample.bytes for sample in run.queue if 0.5 < sample.t < 1.5)
    after = min(sample.bytes for sample in run.queue if 2 < sample.t < 3)
    assert before > 3 * after


async def test_streams_join_and_leave_during_a_run(guest: GuestBackend, build: Build) -> None:
    """New flows connect on time; closed ones end cleanly, and the flow that stays gets the link back."""
    asked = {"queue": "60 kB", "warmup": "0.2 s", "changes": "1.5 s streams=3; 3 s streams=1"}
    experiment = build(rate="10 Mbit/s", delay="20 ms", duration="4.3 s", **asked)
    run = await play(guest, experiment)
    assert run.fidelity.status == "valid"
    assert [(flow.flow, flow.pair) for flow in run.flows] == [(0, 0), (1, 0), (2, 0)]
    rows = {flow: [row for row in run.samples if row.flow == flow] for flow in range(3)}
    for flow in (1, 2):
        assert rows[flow][0].t == pytest.approx(1.5, abs=0.05)
        # Data already written still leaves, and every byte is acknowledged: a reset would discard it.
        assert 3 <= rows[flow][-1].t < 3.5
        assert rows[flow][-1].bytes_acked <= rows[flow][-1].bytes_received + 1
    assert rows[0][-1].t == pytest.approx(4.5, abs=0.02)
    late = [row for row in rows[0] if row.t > 3.7]
    rate = 8 * (late[-1].bytes_acked - late[0].bytes_acked) / (late[-1].t - late[0].t)
    assert rate == pytest.approx(10e6 * 1448 / 1514, rel=0.05)

    found = report(run)
    assert found.shared_s == (1.5, 3.0)
    assert sum(flow.share for flow in found.flows) == pytest.approx(1)
    assert found.flows[0].share > 0.6
    assert "number of flows changes" in found.note
    again = await play(guest, experiment)
    assert (list(again.samples), list(again.queue)) == (list(run.samples), list(run.queue))


async def test_streams_of_one_pair_change_and_the_other_pair_keeps_its_own(
    guest: GuestBackend, build: Build
) -> None:
    changes = "1 s pair 2 streams=3; 2 s pair 2 streams=1"
    asked = {"warmup": "0", "duration": "3 s", "changes": changes}
    run = await play(guest, build(pairs=2, rate="10 Mbit/s", delay="20 ms", **asked))
    assert [flow.pair for flow in run.flows] == [0, 1, 1, 1]
    last = {flow: max(row.t for row in run.samples if row.flow == flow) for flow in range(4)}
    assert last[2] < 2.8
    assert last[3] < 2.8
    assert min(last[0], last[1]) > 2.95
