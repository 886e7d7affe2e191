"""State at one instant, and throughput over time, against the samples themselves."""

from __future__ import annotations

import time
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from tcptutor.analysis import Insight, Instants, Throughput, insight, round_trips
from tcptutor.run import AckSample, AckTable, Run, Sample, UdpSample, UdpTable, load
from tcptutor.run.samples import SSTHRESH_INFINITE

from . import audit
from .raw import Raw
from .synthetic import at_different_times, empty, experiment, losing, run_of, with_queue

HELD = ("cwnd, ", "between the losses ", "cwnd is what the loss ")
"""What is said of a second without a loss of its own begins so."""

RUNS = sorted(
    [
        *(Path(__file__).parent / "runs").glob("*.tcprun"),
        *(Path(__file__).parent / "limits").glob("*.tcprun"),
    ]
)


@cache
def loaded(path: Path) -> Run:
    return load(path)


@cache
def known(path: Path) -> Insight:
    return insight(loaded(path))


def rows(run: Run, flow: int) -> list[Sample]:
    return [row for row in run.samples if row.flow == flow]


# The instant


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_the_state_is_that_of_the_latest_sample(path: Path) -> None:
    run = loaded(path)
    instants = Instants(run)
    for share in (0.1, 0.37, 0.5, 0.81):
        t = share * run.sampled_until
        for flow in instants.at(t, 0.3).flows:
            before = [row for row in rows(run, flow.flow) if row.t <= t][-1]
            assert flow.t == before.t
            assert flow.cwnd_segments == (before.cwnd or None)
            assert flow.rtt_s == (before.rtt or None)
            unset = not 0 < before.ssthresh < SSTHRESH_INFINITE
            assert flow.ssthresh_segments == (None if unset else before.ssthresh)


def test_the_throughput_is_what_arrived_around_it() -> None:
    run = run_of(experiment(), 8e6)
    (flow,) = Instants(run).at(5.0, 1.0).flows
    assert flow.throughput_bps == pytest.approx(8e6, rel=1e-3)
    assert Instants(run).at(5.0, 1.0).throughput_bps == flow.throughput_bps
    (alone,) = Instants(run).at(5.0, 0.0).flows
    assert alone.throughput_bps == pytest.approx(8e6, rel=1e-2), "between two samples at least"


def test_the_queue_is_told_with_its_size_and_what_it_dropped() -> None:
    run = with_queue(
        run_of(experiment(queue="250 kB"), 50e6), drops=lambda t: int(t > 4.9) * 3, waiting=90_000
    )
    seen = Instants(run).at(5.0, 0.5)
    (queue,) = seen.queues
    assert (queue.waiting, queue.size, queue.dropped) == (90_000, 250_000, 3)
    assert seen.link_used == pytest.approx(0.52, abs=0.01)
    assert Instants(run).at(7.0, 0.5).queues[0].dropped == 0


def test_the_queue_s_size_is_that_of_the_time() -> None:
    run = with_queue(run_of(experiment(queue="250 kB", changes="4s queue=100kB"), 50e6))
    assert [Instants(run).at(t, 0.1).queues[0].size for t in (3.0, 5.0)] == [250_000, 100_000]


def test_nothing_is_known_before_the_first_sample_and_after_the_last() -> None:
    run = run_of(experiment(duration="20 s"), 8e6, until=5.0)
    run.samples = type(run.samples)(row for row in run.samples if row.t >= 1.0)
    instants = Instants(run)
    for t in (0.5, 5.5, 19.0):
        seen = instants.at(t, 0.4)
        assert seen.flows == ()
        assert seen.throughput_bps is None
        assert seen.queues == ()
        assert seen.link_used is None
    assert len(instants.at(5.05, 0.4).flows) == 1


def test_a_hole_in_the_samples_is_one_in_what_is_told() -> None:
    run = run_of(experiment(), 8e6)
    run.samples = type(run.samples)(row for row in run.samples if not 3.0 < row.t < 6.0)
    instants = Instants(run)
    assert instants.at(4.5, 0.1).flows == ()
    assert len(instants.at(6.0, 0.1).flows) == 1


def test_a_flow_that_has_one_sample_has_no_throughput() -> None:
    run = run_of(experiment(), 8e6)
    run.samples = type(run.samples)(list(run.samples)[:1])
    (flow,) = Instants(run).at(0.0, 0.5).flows
    assert flow.throughput_bps is None


def test_what_a_kernel_does_not_tell_is_not_known() -> None:
    run = run_of(experiment(), 8e6, cwnd=0, rtt=0.0, min_rtt=0.0, ssthresh=0)
    (flow,) = Instants(run).at(5.0, 0.5).flows
    assert (flow.cwnd_segments, flow.ssthresh_segments, flow.rtt_s, flow.min_rtt_s) == (None,) * 4


def test_an_empty_run_tells_nothing_and_fails_at_nothing() -> None:
    instants = Instants(empty(experiment()))
    assert instants.flows == ()
    assert instants.at(1.0, 0.5).flows == ()
    assert insight(instants.run).limits == {}


def test_datagrams_are_told_as_they_arrive() -> None:
    run = empty(experiment())
    run.udp_samples = UdpTable(UdpSample(0, t / 10, 125_000 * t, 100 * t, t, None) for t in range(50))
    (seen,) = Instants(run).at(2.0, 1.0).udp
    assert seen.received_bps == pytest.approx(10e6)
    assert seen.lost == 10


def test_single_acks_tell_of_the_time_between_two_samples() -> None:
    run = run_of(experiment(), 8e6)
    run.acks = AckTable([AckSample(0, 5.02, 77, 33, 0.061), AckSample(0, 5.03, 78, 33, 0.062)])
    assert [flow.cwnd_segments for flow in Instants(run).at(5.025, 0.1).flows] == [77]
    assert [flow.cwnd_segments for flow in Instants(run).at(5.06, 0.1).flows] == [42], "a sample is later"


def test_a_run_that_grows_is_told_of_as_it_stood() -> None:
    run = run_of(experiment(), 8e6, until=5.0)
    instants = Instants(run)
    # As a thread may find it: one column is longer than the others.
    run.samples.column("flow").append(0)
    late = Instants(run)
    assert late.at(4.9, 0.1).flows == instants.at(4.9, 0.1).flows


# What limited it


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_every_instant_says_what_the_verdict_says_of_its_second(path: Path) -> None:
    from tcptutor.analysis import explain

    told = known(path)
    for flow in explain(loaded(path)).flows:
        for second in flow.seconds:
            found = told.limit(flow.flow, (second.start + second.end) / 2)
            assert found is not None
            assert (found.limited_by, found.start, found.end) == (second.limited_by, second.start, second.end)


def test_most_seconds_can_say_why() -> None:
    """Some take their cause from those around them; what is said then is that."""
    limits = [limit for path in RUNS for mine in known(path).limits.values() for limit in mine]
    assert sum(bool(limit.why) for limit in limits) / len(limits) > 0.9
    assert not any(limit.why for limit in limits if limit.limited_by == "unexplained")


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_what_is_said_of_a_second_is_true(path: Path) -> None:
    run = loaded(path)
    for flow, limits in known(path).limits.items():
        # The first one has the time in it in which there was no connection yet.
        for limit in limits[1:30]:
            # A wait for a timeout may have begun before the second, which a look at its samples alone does not see.
            if not limit.why or limit.why.startswith((*HELD, "waiting for timeouts")):
                continue
            raw = Raw(run, [flow], limit.start, limit.end)
            assert not audit.clause(raw, limit.why), (limit, audit.clause(raw, limit.why))


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_second_that_is_held_by_a_loss_has_none_itself_and_stands_after_it(path: Path) -> None:
    run = loaded(path)
    for flow, limits in known(path).limits.items():
        cuts = Instants(run).cuts(flow)
        for limit in limits:
            if not limit.why.startswith(HELD):
                continue
            assert not [t for t in cuts if limit.start < t <= limit.end]
            told = float(
                limit.why.rpartition("the losses at " if "losses" in limit.why else "loss at ")[2].split()[0]
            )
            before = max(t for t in cuts if t <= limit.start)
            assert told == pytest.approx(before, abs=0.0051)
            if limit.why.startswith("cwnd, "):
                mine = [row.cwnd for row in rows(run, flow) if limit.start <= row.t <= limit.end]
                at = next(number for number, row in enumerate(rows(run, flow)) if row.t == before)
                assert sum(mine) / len(mine) < rows(run, flow)[at - 1].cwnd


def test_nothing_is_said_of_a_time_that_was_not_judged() -> None:
    told = insight(run_of(experiment(), 8e6, until=5.0))
    assert told.limit(0, 7.0) is None
    assert told.limit(3, 1.0) is None
    assert told.phase(0, 7.0) is None


def test_a_second_between_two_losses_says_between_which() -> None:
    run = run_of(experiment(loss="0.1 %"), 8e6, **losing(2.5))
    told = insight(run)
    quiet = [limit for limit in told.limits[0] if "cut the window" not in limit.why]
    assert quiet
    for limit in quiet:
        if limit.limited_by != "random-loss":
            continue
        assert "loss" in limit.why
        assert not told.losses_between(0, limit.start + 1e-6, limit.end)


# Losses


def test_a_loss_has_its_window_before_and_after_and_what_shows_its_kind() -> None:
    run = with_queue(run_of(experiment(loss="0.1 %"), 8e6, **losing(2.5)))
    losses = insight(run).losses[0]
    assert [round(loss.t, 2) for loss in losses] == [2.5, 5.0, 7.5, 10.0]
    for loss in losses:
        assert (loss.cwnd_before, loss.cwnd_after) == (49, 30)
        assert loss.kind == "random-loss"
        assert loss.why == "the path loses segments at random, and the bottleneck's queue dropped none"


def test_an_overflow_says_how_many_the_queue_dropped() -> None:
    run = with_queue(
        run_of(experiment(), 8e6, **losing(2.5)),
        drops=lambda t: 4 * sum(t >= at for at in (2.45, 4.95, 7.45)),
    )
    first, *_ = insight(run).losses[0]
    assert first.kind == "bottleneck"
    assert first.why.startswith("the bottleneck's queue dropped 4 packets in the ")


def test_a_loss_that_nothing_tells_of_is_said_to_be_unknown() -> None:
    run = with_queue(run_of(experiment(), 8e6, **losing(2.5)))
    assert {loss.why for loss in insight(run).losses[0]} == {"nothing is known of what it came from"}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_each_loss_stands_where_the_samples_have_it(path: Path) -> None:
    run, told = loaded(path), known(path)
    instants = Instants(run)
    for flow, losses in told.losses.items():
        mine = rows(run, flow)
        assert [loss.t for loss in losses] == instants.cuts(flow)
        for loss in losses:
            before = [row for row in mine if row.t < loss.t][-1]
            at = next(row for row in mine if row.t == loss.t)
            assert loss.cwnd_before == before.cwnd
            assert loss.cwnd_after <= at.cwnd
            assert (
                at.retransmits > before.retransmits
                or at.delivered_ce > before.delivered_ce
                or at.ca_state >= 2
            )


# Round trips


def test_round_trips_are_counted_from_the_loss_and_take_the_rtt() -> None:
    run = run_of(experiment(), 8e6, rtt=0.1)
    trips = round_trips(Instants(run).traces[0], 5.0, 4.61, 5.89)
    assert [trip.number for trip in trips] == list(range(-4, 9))
    assert all(trip.end - trip.start == pytest.approx(0.1) for trip in trips)
    assert all(trip.samples in (1, 2, 3) for trip in trips), "20 samples a second"
    assert sum(trip.acked_segments or 0 for trip in trips) == pytest.approx(8e6 / 8 / 1448 * 1.3, rel=0.1)


def test_a_round_trip_without_a_sample_is_not_told_of() -> None:
    run = run_of(experiment(delay="10 ms"), 8e6, rtt=0.01, min_rtt=0.01)
    trips = round_trips(Instants(run).traces[0], 5.0, 4.9, 5.1)
    empty_ones = [trip for trip in trips if not trip.samples]
    assert len(empty_ones) > len(trips) / 2
    assert all(trip.acked_segments is None and trip.retransmits is None for trip in empty_ones)


def test_without_an_rtt_there_is_no_round_trip() -> None:
    run = run_of(experiment(), 8e6, rtt=0.0, min_rtt=0.0)
    assert round_trips(Instants(run).traces[0], 5.0, 4.0, 6.0) == ()


def test_reno_grows_by_a_segment_a_round_trip_after_a_loss() -> None:
    run = load(
        Path(__file__).parents[2] / "assets" / "recorded" / "parallel-streams" / "one-lossy-flow.tcprun"
    )
    instants = Instants(run)
    zero = instants.cuts(0)[-1]
    windows = [trip.cwnd_segments for trip in round_trips(instants.traces[0], zero, zero, zero + 0.7)]
    assert [later - now for now, later in pairwise(windows[1:12])] == [1] * 10


def test_replacing_the_samples_leaves_the_run_alone() -> None:
    run = run_of(experiment(), 8e6)
    kept = replace(run)
    Instants(run)
    assert run == kept


def test_a_loss_that_was_undone_is_left_out() -> None:
    run = run_of(experiment(loss="1 %"), 8e6, **losing(2), dsack_dups=lambda t: int(t > 4))
    plain = run_of(experiment(loss="1 %"), 8e6, **losing(2))
    found, every = ([loss.t for loss in insight(each).losses[0]] for each in (run, plain))
    assert len(found) == len(every) - 1
    assert set(found) < set(every)


def test_a_steady_flow_is_a_level_line() -> None:
    run = run_of(experiment(duration="4 s", warmup="0"), 10e6)
    throughput = Throughput()
    throughput.add(run.samples)
    points = throughput.flow_points(0)
    assert [t for t, _ in points] == pytest.approx([0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4])
    assert [rate for _, rate in points] == pytest.approx([10e6] * 8, rel=1e-3)


def test_the_aggregate_is_the_sum_of_the_flows() -> None:
    run = run_of(experiment(streams="3"), 1e6, 2e6, lambda t: 1e6 * t * t)
    throughput = Throughput()
    throughput.add(run.samples)
    assert throughput.flows == (0, 1, 2)
    for n, (t, rate) in enumerate(throughput.points):
        assert rate == pytest.approx(sum(throughput.flow_points(flow)[n][1] for flow in throughput.flows))
        assert rate == pytest.approx(3e6 + 1e6 * (2 * t - 0.5), rel=1e-3)


def test_a_late_flow_has_no_points_before_it_begins() -> None:
    throughput = Throughput()
    throughput.add(at_different_times(5e6, 10, 4).samples)
    assert [flow_points[0][0] for flow_points in map(throughput.flow_points, (0, 1))] == [0.5, 4.5]


def test_batches_give_what_all_at_once_gives() -> None:
    run = run_of(experiment(streams="2"), 5e6, 7e6)
    whole, grown = Throughput(), Throughput()
    whole.add(run.samples)
    for start in range(0, len(run.samples), 7):
        grown.add(run.samples[start : start + 7])
        assert all(t <= run.samples[min(start + 6, len(run.samples) - 1)].t + 0.01 for t, _ in grown.points)
    assert grown.points == pytest.approx(whole.points)


def test_samples_off_the_beat_keep_every_byte() -> None:
    run = run_of(experiment(warmup="0"), 8e6)
    sparse = [sample for n, sample in enumerate(run.samples) if n % 7 == 0]
    points = Throughput(step=0.5)
    points.add(sparse)
    assert [rate for _, rate in points.points] == pytest.approx([8e6] * len(points.points), rel=1e-3)


def test_little_or_nothing_gives_no_points() -> None:
    run = run_of(experiment(), 1e6)
    assert (Throughput().flows, Throughput().points) == ((), [])
    throughput = Throughput()
    throughput.add(run.samples[:1])
    assert (throughput.flows, throughput.flow_points(0)) == ((0,), [])
    # The same instant twice, or an older one, adds nothing and divides nothing by zero.
    throughput = Throughput()
    throughput.add([run.samples[20], run.samples[20], run.samples[0]])
    assert sum(rate for _, rate in throughput.points) == 0


def test_a_minute_of_eight_flows_costs_less_than_a_frame_a_second() -> None:
    run = run_of(experiment(streams="8", duration="60 s"), *[1e6] * 8)
    throughput = Throughput()
    began = time.process_time()
    throughput.add(run.samples)
    assert len(throughput.points) > 100
    # 160 samples a second; a hundredth of that second is far more than it takes.
    assert (time.process_time() - began) / run.experiment.seconds < 0.01
