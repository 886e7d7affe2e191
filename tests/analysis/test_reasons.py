"""Why a measurement is not what a model said: for each reason a run that provokes it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tcptutor.analysis import ModelComparison, ThroughputModel, report, total_throughput
from tcptutor.analysis.case import case_of
from tcptutor.analysis.compared.reasons import RULES
from tcptutor.run import Run, SampleTable, UdpResult, load

from .synthetic import Value, at_different_times, experiment, losing, run_of, samples, with_queue

RUNS = Path(__file__).parent / "runs"
LINK = 100e6 * 1448 / 1514


def compared(run: Run, model: str) -> ModelComparison:
    return next(one for one in report(run).comparisons if one.prediction.model == model)


def lossy(bps: float, every: float = 1.3, **parameters: str) -> Run:
    """One flow at 0.1 % loss for 60 s."""
    made = experiment(**{"loss": "0.1 %", "duration": "60 s", **parameters})
    return run_of(made, bps, **losing(every))


def test_the_difference_is_relative() -> None:
    binding = report(lossy(9e6)).comparisons[0]
    assert binding.difference == pytest.approx(9e6 / binding.prediction.throughput_bps - 1, rel=1e-3)
    assert -0.1 < binding.difference < 0


def test_a_small_difference_needs_no_reason() -> None:
    assert report(lossy(9.6e6)).comparisons[0].reason == ""


def test_super_packets() -> None:
    run = lossy(30e6, offloads="on")
    assert "offloads" not in compared(run, "mathis").reason  # a segment a loss
    made = experiment(loss="0.1 %", duration="60 s", offloads="on")
    run = run_of(made, 50e6, **(losing(1.3) | {"retransmits": lambda t: 31 * int(t / 1.3)}))
    assert compared(run, "mathis").reason.startswith("offloads: one loss takes a packet of 31 segments")
    assert "offloads" not in compared(run, "link").reason


def test_the_constant() -> None:
    run = lossy(9.5e6)
    assert compared(run, "mathis-manual").reason == "C is left out: Reno as in Linux has 1.27 here, 27 % more"
    assert compared(run, "mathis-periodic").reason == "", "4 % are no reason"
    heavy = load(RUNS / "heavy-loss.tcprun")
    small = "is for large windows: Reno as in Linux has 1.06 here"
    assert compared(heavy, "mathis").reason == f"C = 1.31 {small}, 19 % less"
    # What the link carries has no constant in it.
    slow = load(RUNS.parent / "limits" / "slow-link.tcprun")
    assert not any(one.reason for one in report(slow).comparisons if one.prediction.uncapped_bps)
    # A measurement that the constant does not explain is not explained by it.
    assert "C is" not in compared(lossy(5e6), "mathis-manual").reason


def test_cubic_under_random_loss() -> None:
    run = load(RUNS / "cubic-loss.tcprun")
    assert compared(run, "cubic-periodic").reason.startswith("RFC 9438 spaces losses evenly")
    assert compared(run, "cubic-periodic").difference > 0.1
    small = lossy(24e6, algorithm="cubic", loss="0.3 %", delay="10 ms")
    assert compared(small, "cubic-periodic").reason.startswith("RFC 9438 has a smooth window")


def test_an_algorithm_that_is_not_the_models() -> None:
    assert "htcp has a model of its own" in compared(load(RUNS / "htcp-loss.tcprun"), "mathis").reason
    assert "does not take a loss for congestion" in compared(load(RUNS / "bbr-loss.tcprun"), "padhye").reason
    assert "vegas has a model of its own" in compared(lossy(4e6, algorithm="vegas"), "mathis").reason
    made = lossy(4e6)
    hosts = msgspec.structs.replace(made.experiment.hosts, algorithm="prague")
    made.experiment = msgspec.structs.replace(made.experiment, hosts=hosts)
    assert "no model of prague" in compared(made, "mathis").reason
    assert "bic has a model of its own" in compared(lossy(4e6, algorithm="bic"), "mathis").reason


def test_timeouts() -> None:
    run = load(RUNS / "timeouts.tcprun")
    assert compared(run, "mathis").reason.startswith("waiting for timeouts took 72 % of the time")
    assert compared(run, "padhye").reason.startswith("timeouts took 72 % of the time, Padhye has 98 %")
    # Where none was waited for, none is blamed.
    assert "timeouts" not in compared(load(RUNS / "heavy-loss.tcprun"), "mathis").reason


def test_a_queue_makes_the_round_trip_longer() -> None:
    run = run_of(experiment(loss="0.1 %", duration="60 s"), 6e6, rtt=0.08, **losing(1))
    assert compared(run, "mathis").reason == "the RTT was 80 ms, not the path's 50 ms: queues formed"
    # A longer round trip is no reason for more.
    assert "RTT" not in compared(run_of(experiment(loss="1 %"), 6e6, rtt=0.08, **losing(1)), "mathis").reason


def test_more_was_lost_than_was_set() -> None:
    run = run_of(experiment(loss="0.1 %", duration="60 s"), 5e6, **losing(0.5))
    assert (
        compared(run, "mathis").reason
        == "0.46 % of the segments met a loss event, more than the path's 0.1 %"
    )


def test_a_window_that_the_kernel_made_larger() -> None:
    run = run_of(experiment(window="20 kB"), 8 * 32768 / 0.0501, snd_wnd=32768)
    assert compared(run, "window").reason == "the receiver advertised 32.8 kB, not 20 kB"


def test_a_window_holds_whole_segments() -> None:
    """Of the sixteen that fit into 24 KiB fifteen go each round trip."""
    bps = 8 * 15 * 1448 / 0.0501
    filled = {"snd_wnd": 24576, "rwnd_limited": lambda t: 0.9 * t}
    run = run_of(experiment(window="24 KiB"), bps, unacked=15, **filled)
    assert compared(run, "window").reason == (
        "16 whole segments fit into 24.6 kB, and 15 were under way on average"
    )
    full = run_of(experiment(window="24 KiB"), bps, unacked=18, **filled)
    assert "whole segments" not in compared(full, "window").reason
    half = run_of(experiment(window="64 KiB"), 4 * 65536 / 0.0501, snd_wnd=65536)
    assert "whole segments" not in compared(half, "window").reason
    # Nor where it is not the window that stops the flow.
    other = run_of(experiment(window="24 KiB"), bps, snd_wnd=24576, unacked=15, busy=lambda t: 0.5 * t)
    assert "whole segments" not in compared(other, "window").reason


def test_a_reason_leaves_at_most_a_third_of_the_difference() -> None:
    """What the receiver rounded off is 1.6 %, and 4 % are missing."""
    run = run_of(experiment(window="50 kB"), 0.96 * 8 * 50000 / 0.05, snd_wnd=49152)
    assert "advertised" not in compared(run, "window").reason
    run = run_of(experiment(window="50 kB"), 0.9 * 8 * 50000 / 0.05, snd_wnd=45500)
    assert compared(run, "window").reason == "the receiver advertised 45.5 kB, not 50 kB"


def test_too_few_losses() -> None:
    run = run_of(experiment(loss="0.01 %"), 40e6, **losing(2))
    assert compared(run, "mathis").reason == "too few losses (5): run for 40 s"
    long = run_of(experiment(loss="0.01 %", duration="3600 s"), 40e6, **losing(2))
    assert "run for" not in compared(long, "mathis").reason
    assert "too few" not in compared(run, "link").reason


def test_slow_start_is_in_the_mean() -> None:
    made = experiment(rate="1 Gbit/s", delay="100 ms", warmup="0 s", duration="5 s")
    window: Value = lambda t: 400.0 if t < 1 else 9000.0  # noqa: E731
    run = run_of(made, lambda t: max(0.0, t - 0.8) * 956e6, cwnd=window)
    reason = compared(run, "link").reason
    assert reason == "the start takes 970 ms, the warm-up 0 s: up to 17 % of the mean is missing"
    # With a warm-up that is longer it is not that.
    later = run_of(experiment(rate="1 Gbit/s", delay="100 ms", warmup="4 s", duration="5 s"), 800e6)
    assert "warm-up" not in compared(later, "link").reason


def test_lost_acknowledgements() -> None:
    made = experiment(loss="20 %", reverse_loss="30 %", duration="60 s")
    waiting = {"ca_state": lambda t: 4 if t % 2 < 0.8 else 0, "total_rto": lambda t: int(t / 2) + 1}
    # Nothing is acknowledged in the first 0.8 s of every two.
    pauses = lambda t: 0.4e6 * 2 * (t // 2 + max(0.0, t % 2 - 0.8) / 1.2)  # noqa: E731
    run = run_of(made, pauses, **(losing(0.4) | waiting))
    assert "every ACK of a window is lost once in" in compared(run, "mathis").reason
    assert "ACK" not in compared(run_of(made, 0.4e6, **losing(0.4)), "mathis").reason
    # Cumulative: while a window has many of them none is missed.
    many = run_of(experiment(loss="0.1 %", reverse_loss="30 %", duration="60 s"), 7e6, **losing(1.3))
    assert "ACK" not in compared(many, "mathis").reason


def test_udp_that_gets_less() -> None:
    made = experiment(udp_streams="1", udp_rate="80 Mbit/s")
    run = run_of(made, 36e6, rtt=0.08, **losing(2))
    run.udp = [UdpResult(pair=0, sent_bps=80e6, received_bps=60e6, lost=1, datagrams=9, jitter_s=0)]
    assert compared(run, "link").reason == "the UDP flows got 60 Mbit/s, not 80 Mbit/s"


def test_headers() -> None:
    # With full frames the 1.6 % need no reason.
    small = run_of(experiment(mtu="576"), 100e6 * 524 / 614, rtt=0.08)
    small.environment = msgspec.structs.replace(small.environment, backend="imported")
    assert compared(small, "link").reason.startswith("a real wire spends 38 bytes on a frame, not 14")
    paced = run_of(experiment(pacing="10 Mbit/s"), 10e6 * 1448 / 1514)
    assert compared(paced, "pacing").reason == "headers: 95.6 % of a frame is payload"


def test_a_short_buffer() -> None:
    run = load(RUNS / "short-queue.tcprun")
    assert compared(run, "link").reason == (
        "a queue of 0.25 BDP runs dry after each loss, and Reno leaves 11 % of the link"
    )
    assert compared(run, "sawtooth").reason == ""


def test_a_discipline_that_keeps_its_queue_short_is_not_a_short_queue() -> None:
    """CoDel with room for many BDPs, and marks: nothing is lost, and it is not its size that empties it."""
    made = experiment(rate="20 Mbit/s", delay="100 ms", qdisc="codel", ecn="on", queue="5 BDP")
    used = case_of(made).sawtooth_utilization(case_of(made).buffer_ratio or 0.0)
    marked: dict[str, Value] = {
        "delivered_ce": lambda t: int(t / 2), "ssthresh": lambda t: 80 + int(t / 2) % 2, "rtt": 0.1, "min_rtt": 0.1,
    }  # fmt: skip
    run = with_queue(run_of(made, used * 20e6 * 1448 / 1514, **marked))
    reason = compared(run, "link").reason
    assert reason.startswith("CoDel allows a queue of ")
    assert "it runs dry after each mark, and Reno leaves" in reason
    result = report(run)
    assert (result.loss_events, result.mark_cuts, result.retransmits) == (0, 5, 0)


def test_another_limit() -> None:
    assert compared(load(RUNS / "pacing.tcprun"), "link").reason == "not the limit: that was pacing"


def test_flows_that_were_not_there_all_the_time() -> None:
    made = experiment(streams="2", duration="10 s", window="64 KiB")
    run = run_of(made, 10e6)
    run.samples = SampleTable(sorted(
        [*samples(0, 10e6, 12.0, {}), *samples(1, 10e6, 5.0, {})], key=lambda row: row.t
    ))  # fmt: skip
    assert compared(run, "window").reason == "flow 2 was there for 3 of 10 s"
    assert "1 of 2 flows were measured" in compared(run_of(made, 10e6), "window").reason


def test_every_reason_is_one_short_sentence() -> None:
    for file in RUNS.iterdir():
        for one in report(load(file)).comparisons:
            assert len(one.reason) <= 110
            assert not one.reason.endswith(".")
    assert all(rule.__doc__ for rule in RULES)


# Together


def test_flows_that_cover_the_same_time_add_up() -> None:
    assert report(run_of(experiment(streams="2"), 10e6, 20e6)).throughput_bps == pytest.approx(30e6, rel=1e-3)


def test_flows_at_different_times_are_all_their_bytes_over_all_the_time() -> None:
    # One after the other: never more than one flow's rate.
    assert total_throughput(at_different_times(10e6, 5, 5)) == pytest.approx(10e6, rel=0.01)
    # The second one for half of the time.
    assert total_throughput(at_different_times(10e6, 10, 5)) == pytest.approx(15e6, rel=0.01)
    assert total_throughput(at_different_times(10e6, 10, 0)) == pytest.approx(20e6, rel=0.01)


def test_a_flow_that_has_sent_all_is_over() -> None:
    made = experiment(bytes="5 MB", streams="2", warmup="0 s")
    run = run_of(made, lambda t: min(40e6, t * 10e6), lambda t: min(40e6, t * 20e6))
    # Four seconds for 10 MB, whatever comes after.
    assert total_throughput(run) == pytest.approx(20e6, rel=0.02)


def test_a_tick_is_never_beside_another_limit() -> None:
    """A model that came true, or counts the cause itself, is not called another limit's victim."""
    idle = run_of(experiment(window="24 KiB"), 8 * 15 * 1448 / 0.0501, snd_wnd=24576, busy=lambda t: 0.5 * t)
    assert compared(idle, "window").within
    assert "not the limit" not in compared(idle, "window").reason
    meeting = run_of(experiment(loss="0.1 %", pacing="10 Mbit/s", duration="60 s"), 5e6, **losing(1.3))
    assert report(meeting).comparisons[0].prediction.model == "meeting"
    assert "not the limit" not in report(meeting).comparisons[0].reason


def test_copies_take_their_part_of_the_link() -> None:
    run = with_queue(run_of(experiment(duplicate="20 %"), LINK / 1.2, rtt=0.07), waiting=200_000)
    link = compared(run, "link")
    assert (link.judgement, link.ratio) == ("explains", pytest.approx(1, rel=1e-3))
    assert "/ 1.2 copies" in link.prediction.formula


def test_reordering_is_the_reason_where_the_path_makes_it() -> None:
    """Not the arithmetic of whole segments, which may fit by chance."""
    late = losing(1) | {"reord_seen": lambda t: 30 * t, "dsack_dups": lambda t: 0.8 * t}
    run = run_of(experiment(jitter="20 ms", window="64 KiB"), 5.1e6, snd_wnd=65536, unacked=22, **late)
    assert compared(run, "window").reason == "jitter of 20 ms reorders segments, which this model leaves out"


def test_a_sender_without_sack_repairs_one_segment_a_round_trip() -> None:
    repairs: dict[str, Value] = {
        "ca_state": lambda t: 3 * (t > 0.5),
        "retransmits": lambda t: 20 * max(0, t - 0.5),
    }
    run = run_of(experiment(tcp_sack="0"), 8e6, **repairs)
    assert compared(run, "link").reason.startswith("without SACK a round trip repairs one lost segment")


def test_a_forecast_that_failed_is_not_repeated() -> None:
    made = experiment(loss="0.1 %", streams="10", duration="60 s")
    foretold = "less than either alone"
    assert foretold in report(run_of(made, *[LINK * 0.09] * 10, **losing(1.3))).note
    assert foretold not in report(run_of(made, *[LINK * 0.0999] * 10, rtt=0.07, **losing(1.3))).note


def test_a_limit_that_was_expected_is_named_by_its_cause_and_not_by_its_model() -> None:
    full = run_of(
        experiment(algorithm="illinois", loss="0.1 %", duration="60 s"), LINK, rtt=0.07, **losing(3)
    )
    assert report(full).note == "random loss was expected to be the limit, but that was the bottleneck"


def test_a_loss_that_begins_in_the_warm_up_leaves_no_model_without_an_answer() -> None:
    run = run_of(experiment(algorithm="cubic", changes="1 s loss=1 %", warmup="2 s"), 30e6, **losing(1))
    models = {each.prediction.model for each in report(run).comparisons}
    assert ThroughputModel.CUBIC_PERIODIC in models
