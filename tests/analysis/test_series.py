"""Throughput over time, while samples arrive."""

from __future__ import annotations

import time

import pytest

from tcptutor.analysis import Throughput

from .synthetic import experiment, run_of


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
