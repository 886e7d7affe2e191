"""Every condition that an experiment can set, on the real guest: that it does what it says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tcptutor.analysis import report
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.base.errors import KernelLacks
from tcptutor.run import Run
from tcptutor.theory import goodput_ratio
from tests.backends.play import play, total_bps
from tests.conftest import Build

pytestmark = pytest.mark.guest

BASE = {
    "rate": "10 Mbit/s",
    "delay": "20 ms",
    "algorithm": "reno",
    "duration": "3 s",
    "warmup": "1 s",
}
FULL = 10e6 * goodput_ratio(1500)


def _between(run: Run, start: float, end: float, flow: int = 0) -> float:
    """Payload acknowledged between two times, bit/s."""
    rows = [row for row in run.samples if row.flow == flow and start <= row.t <= end]
    return 8 * (rows[-1].bytes_acked - rows[0].bytes_acked) / (rows[-1].t - rows[0].t)


def _mean_rttvar(run: Run) -> float:
    """Over the second half, when what the handshake left in it is gone."""
    rows = run.samples.column("rttvar")
    return sum(rows[len(rows) // 2 :]) / (len(rows) - len(rows) // 2)


def _drops(run: Run) -> int:
    return int(run.fidelity.checks["random drops"])


async def test_burst_losses_have_the_requested_rate(guest: GuestBackend, build: Build) -> None:
    """UDP at a steady rate, so that TCP's answer does not change what is lost: 1 % in bursts of 4."""
    run = await play(
        guest,
        build(
            delay="10 ms", loss="2 %", loss_burst="4", streams="0", udp_streams="1", udp_rate="8 Mbit/s",
            duration="6 s", warmup="0", seed=3,
        ),
    )  # fmt: skip
    udp = run.udp[0]
    # Some 4,200 datagrams in 21 bursts: the standard error of the share is a quarter of it.
    assert udp.datagrams > 4000
    assert udp.lost / udp.datagrams == pytest.approx(0.02, abs=0.012)
    assert run.fidelity.status == "valid", run.fidelity.reasons


async def test_a_firewall_rule_drops_at_the_receiver(guest: GuestBackend, build: Build) -> None:
    run = await play(guest, build(**BASE | {"loss": "1 %", "loss_by": "firewall", "duration": "6 s"}))
    assert run.flows[0].losses > 5
    assert _drops(run) == 0
    assert total_bps(run) < 0.9 * FULL


@pytest.mark.parametrize("shape", ["uniform", "normal", "pareto", "paretonormal"])
async def test_jitter_spreads_the_rtt_by_its_distribution(
    guest: GuestBackend, build: Build, shape: str
) -> None:
    paced = BASE | {"duration": "2 s", "pacing": "1 Mbit/s"}
    run = await play(guest, build(**paced | {"jitter": "3 ms", "jitter_shape": shape}))
    assert _mean_rttvar(run) > 0.001
    if shape == "uniform":
        assert _mean_rttvar(await play(guest, build(**paced))) < 0.0005
    # The delay's mean stays where it is; the RTT that the kernel smooths leans to late segments a little.
    assert run.flows[0].mean_rtt_s == pytest.approx(0.020, abs=0.004)


async def test_duplicates_and_reordering_are_seen_by_the_sender(guest: GuestBackend, build: Build) -> None:
    run = await play(guest, build(**BASE, duplicate="5 %", reorder="5 %"))
    assert run.samples[-1].dsack_dups > 20
    assert run.samples[-1].reord_seen > 0
    assert run.flows[0].retransmits > 5


@pytest.mark.parametrize("qdisc", ["codel", "fq_codel", "fq", "cake", "red"])
async def test_queue_disciplines_keep_the_link_full(guest: GuestBackend, build: Build, qdisc: str) -> None:
    run = await play(guest, build(**BASE, qdisc=qdisc, queue="300 kB"))
    assert total_bps(run) > 0.8 * FULL
    assert run.fidelity.status == "valid", run.fidelity.reasons
    assert len(run.queue) > 300
    # No switch paces a host's sockets: then segments would seem to leave later than they do.
    assert run.samples[-1].min_rtt > 0.99 * run.experiment.path.delay
    if qdisc in ("codel", "fq_codel"):
        plain = await play(guest, build(**BASE, queue="300 kB"))
        assert run.flows[0].mean_rtt_s < plain.flows[0].mean_rtt_s


@pytest.mark.parametrize("qdisc", ["codel", "fq_codel", "red"])
async def test_with_ecn_a_full_queue_marks_and_does_not_drop(
    guest: GuestBackend, build: Build, qdisc: str
) -> None:
    run = await play(guest, build(**BASE, qdisc=qdisc, ecn="on", queue="300 kB"))
    assert run.samples[-1].delivered_ce > 0
    assert run.flows[0].retransmits == 0
    assert run.flows[0].mark_cuts > 0


@pytest.mark.parametrize("qdisc", ["codel", "fq_codel"])
async def test_a_threshold_marks_early_and_keeps_the_queue_short(
    guest: GuestBackend, build: Build, qdisc: str
) -> None:
    asked = {**BASE, "algorithm": "dctcp", "qdisc": qdisc, "ecn": "on", "queue": "300 kB"}
    late, early = [await play(guest, build(**(asked | more))) for more in ({}, {"ce_threshold": "2 ms"})]
    assert early.fidelity.status == "valid"
    assert early.flows[0].mean_rtt_s < late.flows[0].mean_rtt_s - 0.002
    assert early.samples[-1].delivered_ce > late.samples[-1].delivered_ce


async def test_the_reverse_path_has_its_own_rate_and_delay(guest: GuestBackend, build: Build) -> None:
    slow = await play(guest, build(**BASE, reverse_rate="100 kbit/s", reverse_delay="30 ms"))
    assert slow.fidelity.checks["ping h1"] == pytest.approx(0.050, abs=0.012)
    # An acknowledgement of two segments takes 66 bytes: 100 kbit/s carry those of 4.4 Mbit/s.
    assert total_bps(slow) < 0.6 * FULL


async def test_losses_of_the_reverse_path(guest: GuestBackend, build: Build) -> None:
    lossy = await play(guest, build(**BASE, reverse_loss="5 %"))
    assert total_bps(lossy) > 0.9 * FULL


async def test_pairs_have_rtts_of_their_own(guest: GuestBackend, build: Build) -> None:
    experiment = build(pairs=2, **BASE, pair_delays="0 ms, 60 ms")
    run = await play(guest, experiment)
    assert run.fidelity.checks["ping h1"] == pytest.approx(0.020, abs=0.001)
    assert run.fidelity.checks["ping h3"] == pytest.approx(0.080, abs=0.001)
    assert run.flows[0].throughput_bps > run.flows[1].throughput_bps


async def test_the_path_changes_while_the_traffic_runs(guest: GuestBackend, build: Build) -> None:
    changes = "2 s rate=2 Mbit/s; 4 s rate=10 Mbit/s; 6 s link=down; 6.5 s link=up"
    run = await play(guest, build(**BASE | {"duration": "8 s", "changes": changes}))
    ratio = goodput_ratio(1500)
    assert _between(run, 1, 2) == pytest.approx(10e6 * ratio, rel=0.1)
    # What waits in the queue leaves at the new rate first.
    assert _between(run, 3, 4) == pytest.approx(2e6 * ratio, rel=0.1)
    assert _between(run, 5, 6) > 5e6 * ratio
    assert _between(run, 6.1, 6.5) < 1e5
    assert run.samples[-1].bytes_acked > [row for row in run.samples if row.t < 6.6][-1].bytes_acked


async def test_flows_have_algorithms_and_starts_of_their_own(guest: GuestBackend, build: Build) -> None:
    run = await play(
        guest, build(**BASE, streams="3", algorithms="reno, cubic, bbr", starts="0 s, 0 s, 1.5 s")
    )
    assert [flow.algorithm for flow in run.flows] == ["reno", "cubic", "bbr"]
    first = {flow: min(row.t for row in run.samples if row.flow == flow) for flow in range(3)}
    assert first[0] == first[1] == pytest.approx(0, abs=0.02)
    assert first[2] == pytest.approx(1.5, abs=0.5)
    # BBR paces at a multiple of what it measures, Reno without pacing reports none that binds.
    assert {flow.throughput_bps > 0 for flow in run.flows} == {True}


async def test_data_goes_both_ways_at_once(guest: GuestBackend, build: Build) -> None:
    run = await play(
        guest, build(**BASE, streams="2", directions="forward, reverse", reverse_rate="5 Mbit/s")
    )
    assert run.flows[1].throughput_bps == pytest.approx(FULL / 2, rel=0.15)
    # Its data fills the queue that the first flow's acknowledgements wait in, 97 kB at 5 Mbit/s.
    assert run.flows[0].mean_rtt_s > 0.08
    assert 0.4 * FULL < run.flows[0].throughput_bps < 0.9 * FULL


@pytest.mark.parametrize("window", [8, 24, 122])
async def test_the_receive_window_has_the_requested_size(
    guest: GuestBackend, build: Build, window: int
) -> None:
    """Not one in steps of the window's scale."""
    run = await play(guest, build(**BASE | {"rate": "none", "window": f"{window} KiB"}))
    assert (run.fidelity.status, run.fidelity.reasons) == ("valid", ())
    assert run.fidelity.checks["advertised window"] == pytest.approx(1024 * window, abs=1448)


async def test_amounts_over_ways_of_different_length_are_all_measured(
    guest: GuestBackend, build: Build
) -> None:
    """The first flow is over before the second one is connected."""
    amounts = {"warmup": "0", "bytes": "20 kB", "duration": "10 s", "pair_delays": "0 ms, 400 ms"}
    run = await play(guest, build(pairs=2, **BASE | amounts))
    near, far = (flow.completion_s or 0.0 for flow in run.flows)
    assert 0.02 < near < 0.42 < far < 2.5
    assert (run.fidelity.status, run.fidelity.reasons) == ("valid", ())


async def test_a_fixed_amount_has_a_completion_time(guest: GuestBackend, build: Build) -> None:
    run = await play(guest, build(**BASE | {"warmup": "0", "bytes": "500 kB", "duration": "10 s"}))
    done = run.flows[0].completion_s
    assert done is not None
    # 346 segments: 0.42 s at the link's rate, and slow start before it is full.
    assert 0.42 < done < 1.0
    assert run.experiment_s < 2
    assert run.complete


async def test_udp_runs_next_to_tcp(guest: GuestBackend, build: Build) -> None:
    beside = await play(guest, build(**BASE, udp_streams="2", udp_rate="1 Mbit/s"))
    assert [(each.flow, each.pair) for each in beside.udp] == [(0, 0), (1, 0)]
    assert [each.sent_bps for each in beside.udp] == pytest.approx([1e6, 1e6], rel=0.02)
    assert total_bps(beside) == pytest.approx(FULL - 2.1e6, rel=0.1)


async def test_udp_alone_is_counted_flow_by_flow_and_over_time(guest: GuestBackend, build: Build) -> None:
    """More than the link carries, over a path that loses and reorders: each loss is counted where it happens."""
    asked = {"streams": "0", "udp_streams": "2", "udp_rate": "6 Mbit/s", "loss": "2 %", "jitter": "3 ms"}
    run = await play(guest, build(**BASE | asked, seed=4))
    assert run.flows == []
    assert run.fidelity.status == "valid", run.fidelity.reasons
    told = report(run)
    (only,) = told.comparisons
    assert only.within, (only, told.verdict)
    assert "in the queue" in told.verdict.sentence
    assert told.verdict.limited_by == "bottleneck"
    for each in run.udp:
        mine = [row for row in run.udp_samples if row.flow == each.flow]
        assert len(mine) == pytest.approx(4 / 0.2, abs=2)
        assert [row.t for row in mine] == sorted(row.t for row in mine)
        assert each.sent_bps == pytest.approx(6e6, rel=0.02)
        assert mine[-1].datagrams == pytest.approx(4 * 6e6 / 8 / 1448, rel=0.05)
        assert each.out_of_order is not None
        assert each.out_of_order > 10
        assert each.jitter_s is not None
        assert 1e-5 < each.jitter_s < 0.02
        assert each.overruns == 0
    # All that was lost was dropped at one of the two places.
    lost = sum(row.lost for row in run.udp_samples if row.t > 3.9)
    dropped = int(run.fidelity.checks["tbf drops"]) + int(run.fidelity.checks["random drops"])
    assert lost == pytest.approx(dropped, rel=0.05)


async def test_sysctls_buffers_and_segment_sizes(guest: GuestBackend, build: Build) -> None:
    wide = BASE | {"rate": "20 Mbit/s", "delay": "100 ms", "duration": "2 s"}
    held = await play(guest, build(**wide, tcp_sack="0", tcp_timestamps="0", send_buffer="64 KiB"))
    assert held.samples[-1].mss == 1460  # without timestamps' twelve bytes
    # 64 KiB in 100 ms, of which a part is the kernel's bookkeeping.
    assert total_bps(held) == pytest.approx(0.92 * 5.24e6, rel=0.1)
    asked = await play(guest, build(**wide, mss="536", length="1 kB", buffer="16 KiB"))
    assert asked.samples[-1].mss == 536 - 12
    assert total_bps(asked) < 2.5e6
    large = await play(guest, build(**wide, buffer="2 MiB"))
    assert total_bps(large) > 12e6


async def test_a_bucket_of_the_bottleneck_lets_that_much_go_at_once(
    guest: GuestBackend, build: Build
) -> None:
    """A bucket that holds the whole queue never lets one build up for long."""
    run = await play(guest, build(**BASE | {"burst": "200 kB", "duration": "1 s", "warmup": "0"}))
    assert any("its bucket lets too much go at once" in reason for reason in run.fidelity.reasons)
    start = [row for row in run.samples if row.t <= 0.25]
    assert start[-1].bytes_acked > 10e6 / 8 * 0.25


async def test_every_ack_is_traced_on_request(guest: GuestBackend, build: Build) -> None:
    run = await play(guest, build(**BASE, loss="0.5 %", acks="on", streams="2"))
    assert set(run.acks.column("flow")) == {0, 1}
    assert run.fidelity.checks["lost trace events"] == 0
    # At least one for each two segments that arrived, and the windows that the samples saw among them.
    assert len(run.acks) > sum(flow.segments for flow in run.flows) / 2
    traced = set(run.acks.column("cwnd"))
    sampled = [row.cwnd for row in run.samples if row.t > 1]
    assert sum(cwnd in traced for cwnd in sampled) > 0.95 * len(sampled)
    # Finer than the samples: times between two ACKs go down to the spacing of two segments.
    times = [row.t for row in run.acks if row.flow == 0]
    assert min(now - before for before, now in pairwise(times)) < 0.005


async def test_fine_samples_of_flow_receiver_and_queue(guest: GuestBackend, build: Build) -> None:
    run = await play(guest, build(**BASE, streams="4"))
    assert len(run.queue) == pytest.approx(400, abs=4)
    assert len(run.samples) == pytest.approx(1600, abs=16)
    last = run.samples[-1]
    # The kernel counts the SYN as an acknowledged byte.
    assert 0 < last.bytes_acked <= last.bytes_received + 1
    assert last.delivered > 0
    assert last.bytes_retrans >= 1448 * (last.retransmits - 1) * 0.5
    full = [row for row in run.queue if row.packets > 2]
    assert full
    assert max(row.bytes for row in run.queue) <= run.experiment.path.queue
    sent = run.queue[-1].sent - run.queue[0].sent
    assert 8 * sent / run.queue[-1].t == pytest.approx(10e6, rel=0.1)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            {"send_buffer": "64 MiB", "streams": "2"},
            "for TCP .net.ipv4.tcp_mem.* take 134217728: take a smaller send_buffer or fewer",
        ),
        ({"send_buffer": "16 MiB", "streams": "8"}, "take 134217728"),
    ],
)
async def test_buffers_that_the_kernel_has_no_memory_for(
    guest: GuestBackend, build: Build, asked: dict[str, str], says: str
) -> None:
    with pytest.raises(KernelLacks, match=says):
        await play(guest, build(**BASE | asked))
