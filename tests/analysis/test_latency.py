"""Percentiles of delays in runs made of known samples, and in recorded ones."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor.analysis import Latency, SegmentRtt, document, report
from tcptutor.analysis.observed.delays import TransferDuration, completion_figures
from tcptutor.run import FlowResult, Run, load

from .synthetic import HZ, empty, experiment, run_of, with_queue
from .test_report import RUNS

FULL = 95.6e6
"""Payload that fills the link of the synthetic runs, bit/s."""


def latency(run: Run) -> Latency:
    return report(run).latency


def sawtooth(t: float) -> float:
    """Bytes in the queue: 0 to 99 kB in steps of a sample's time, again and again."""
    return 1000 * (round(t * HZ) % 100)


def test_queueing_delay_is_the_backlog_over_the_rate() -> None:
    run = with_queue(run_of(experiment(duration="50 s", warmup="5 s", queue="99kB"), FULL), waiting=sawtooth)
    found = latency(run)
    assert found.queueing is not None
    # 8 kbit at 100 Mbit/s take 0.08 ms; ten whole teeth of 100 samples after the warm-up.
    assert found.queueing.p50_s == pytest.approx(49 * 0.08e-3, abs=0.08e-3)
    assert found.queueing.p95_s == pytest.approx(94 * 0.08e-3, abs=0.08e-3)
    assert found.queueing.p99_s == pytest.approx(98 * 0.08e-3, abs=0.08e-3)
    assert found.queueing.max_s == pytest.approx(99 * 0.08e-3)
    assert found.queueing.samples == 50 * HZ + 1
    assert found.queue_limit is not None
    assert found.queue_limit.delay_s == pytest.approx(99e3 * 8 / 100e6)


def test_the_warm_up_does_not_count() -> None:
    made = experiment(duration="30 s", warmup="5 s")
    run = with_queue(
        run_of(made, FULL, rtt=lambda t: 0.5 if t < 4.9 else 0.06), waiting=lambda t: 5e6 if t < 4.9 else 1e5
    )
    found = latency(run)
    assert found.queueing is not None
    assert found.rtt is not None
    assert found.queueing.max_s == pytest.approx(8e-3)
    assert found.rtt.max_s == pytest.approx(0.06)


@pytest.mark.parametrize(("until", "median"), [(19, 0.0), (21, 8e-3)])
def test_samples_further_apart_count_for_more_time(until: float, median: float) -> None:
    made = experiment(duration="40 s", warmup="0 s")
    run = with_queue(run_of(made, FULL), waiting=lambda t: 1e5 if t < until else 0)
    # While the queue is empty, only every tenth sample: the time of an empty queue stays the same.
    run.queue = type(run.queue)(row for at, row in enumerate(run.queue) if row.bytes or at % 10 == 0)
    found = latency(run).queueing
    assert found is not None
    assert found.p50_s == pytest.approx(median)


def test_a_short_run_has_no_99th_percentile() -> None:
    found = latency(with_queue(run_of(experiment(duration="10 s"), FULL), waiting=sawtooth))
    assert found.queueing is not None
    assert found.queueing.samples < 299
    assert found.queueing.p95_s is not None
    assert found.queueing.p99_s is None


def test_after_a_change_of_the_rate_the_same_backlog_takes_longer() -> None:
    made = experiment(duration="40 s", warmup="0 s", changes="20s rate=10Mbit/s")
    found = latency(with_queue(run_of(made, FULL), waiting=1e5))
    assert found.queueing is not None
    assert found.queueing.p95_s == pytest.approx(80e-3)
    assert found.queue_limit is None


def test_load_is_only_claimed_on_a_full_link() -> None:
    made = experiment(duration="30 s")
    loaded = latency(run_of(made, FULL, rtt=0.1, min_rtt=0.05))
    assert loaded.is_loaded
    assert loaded.trips_loaded == pytest.approx(600)
    assert loaded.trips_idle == pytest.approx(1200)
    idle = latency(run_of(made, 30e6, rtt=0.1, min_rtt=0.05))
    assert not idle.is_loaded
    assert idle.trips_loaded is None


def test_flows_with_different_paths_have_no_common_smallest_rtt() -> None:
    made = experiment(pairs=2, pair_delays="20ms,80ms", duration="30 s")
    run = run_of(made, 30e6, 30e6)
    run.samples = type(run.samples)(
        msgspec.structs.replace(row, min_rtt=(0.02, 0.08)[row.flow]) for row in run.samples
    )
    assert latency(run).smallest_rtt_s is None
    assert latency(run_of(made, 30e6, 30e6)).smallest_rtt_s == pytest.approx(0.0501)


def test_captured_segments_replace_the_smoothed_rtt() -> None:
    run = run_of(experiment(duration="30 s", warmup="5 s"), FULL)
    # Before the warm-up's end they do not count.
    rtts = [SegmentRtt(0, 0.1 * at, 0.5 if at < 50 else 0.001 * (at - 49)) for at in range(350)]
    found = report(run, rtts=rtts).latency.rtt
    assert found is not None
    assert (found.source, found.samples) == ("segments", 300)
    assert found.p50_s == pytest.approx(0.15)
    assert found.p95_s == pytest.approx(0.285)
    assert found.p99_s == pytest.approx(0.297)


def test_completion_times_with_transfers_that_did_not_end() -> None:
    found = completion_figures(
        [*(TransferDuration(0.1 * at, True) for at in range(1, 10)), TransferDuration(5.0, False)]
    )
    assert found is not None
    assert (found.samples, found.unfinished, found.max_s) == (10, 1, None)
    assert found.p50_s == pytest.approx(0.5)
    assert found.p95_s is None
    # One that had only just begun says nothing of the tail, and the others none the worse.
    early = completion_figures(
        [*(TransferDuration(0.1 * at, True) for at in range(1, 10)), TransferDuration(0.01, False)]
    )
    assert early is not None
    assert early.p50_s == pytest.approx(0.5)
    assert (early.unfinished, early.max_s) == (1, None)
    assert completion_figures([]) is None


def test_completion_times_of_flows() -> None:
    run = run_of(experiment(streams="8", bytes="1MB", duration="10 s"), *[5e6] * 8)
    run.flows = [
        FlowResult(
            flow=at, pair=0, throughput_bps=5e6, retransmits=0, losses=0, segments=100, mean_rtt_s=0.05,
            mean_cwnd_segments=10.0, mss=1448, completion_s=0.5 + at if at < 7 else None,
        )
        for at in range(8)
    ]  # fmt: skip
    found = latency(run).completion
    assert found is not None
    assert (found.samples, found.unfinished) == (8, 1)
    assert found.p50_s == pytest.approx(3.5)
    assert latency(run_of(experiment(), FULL)).completion is None


def test_nothing_measured_has_no_latency() -> None:
    assert latency(empty(experiment())).is_empty


@pytest.mark.parametrize("name", ["full-link", "bbr-loss", "jitter", "small-window"])
def test_recorded_runs_order_their_percentiles(name: str) -> None:
    run = load(RUNS / f"{name}.tcprun")
    found = latency(run)
    assert found.rtt is not None
    assert found.smallest_rtt_s is not None
    known = [
        each for each in (found.smallest_rtt_s, found.rtt.p50_s, found.rtt.p95_s, found.rtt.p99_s) if each
    ]
    assert known == sorted(known)
    assert len(known) == (4 if found.rtt.samples >= 299 else 3)


def test_json_has_the_percentiles_under_names_with_units() -> None:
    found = document(load(RUNS / "full-link.tcprun"), None)["latency"]
    assert isinstance(found, dict)
    assert found["loaded"] is True
    assert found["rtt"]["source"] == "samples"
    assert 0.05 < found["rtt"]["p50_s"] < found["rtt"]["p95_s"] <= found["rtt"]["p99_s"] < 0.11
    assert found["queueing"] is None
    assert found["completion"] is None
    assert found["expected"]["queueing_s"] == pytest.approx(62500 * 8 / 10e6)
