"""A run in numbers: measured against expected, and the JSON that others read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tcptutor.analysis import document, report
from tcptutor.backends import replay
from tcptutor.run import Fidelity, Run, UdpResult, load, save

from .synthetic import empty, experiment, losing, run_of

RUNS = Path(__file__).parent / "runs"
RECORDED = replay.recordings_folder() / "parallel-streams"

CONTRACT: dict[str, set[str]] = {
    "environment": {"backend", "clock", "kernel"},
    "aggregate": {"throughput_bps", "jain_index", "loss_rate"},
    "verdict": {"limited_by", "evidence"},
    "fidelity": {"status", "reasons"},
}
FLOW = {"throughput_bps", "retransmits", "mean_rtt_s", "mean_cwnd_segments", "losses", "mark_cuts"}
KEYS = {"experiment", "parameters", "flows", "predictions", "wall_s", "experiment_s", "file", *CONTRACT}


def eight_streams() -> Run:
    made = experiment(loss="0.1 %", streams="8", duration="60 s")
    return run_of(made, *[75.9e6 / 8] * 8, **losing(1.25))


def test_throughput_ratio_and_tolerance() -> None:
    result = report(eight_streams())
    binding = result.comparisons[0]
    assert result.throughput_bps == pytest.approx(75.9e6, rel=1e-3)
    assert binding.prediction.label == "8 × Reno"
    assert binding.ratio == pytest.approx(75.9 / 74.4, rel=0.01)
    assert binding.within
    assert result.note.startswith("link (95.6 Mbit/s) is near")


def test_losses_and_retransmissions() -> None:
    result = report(eight_streams())
    assert result.loss_events == result.retransmits == 8 * (int(62 / 1.25) - int(2 / 1.25))
    segments = 75.9e6 / 8 / 1448 * 60
    assert result.loss_rate == pytest.approx(result.loss_events / segments, rel=1e-3)


def test_fairness() -> None:
    assert report(run_of(experiment(streams="2"), 10e6, 10e6)).jain_index == pytest.approx(1)
    assert report(run_of(experiment(streams="2"), 30e6, 10e6)).jain_index == pytest.approx(0.8, rel=1e-3)
    assert report(empty(experiment())).jain_index == 1


def test_flows_and_pairs_are_counted_from_1_as_on_the_screen() -> None:
    flows = document(run_of(experiment(pairs=2, streams="2"), *[5e6] * 4), None)["flows"]
    assert isinstance(flows, list)
    assert [(flow["flow"], flow["pair"]) for flow in flows] == [(1, 1), (2, 1), (3, 2), (4, 2)]


def test_the_note_names_another_limit() -> None:
    run = run_of(
        experiment(loss="0.1 %", duration="60 s"), 3e6, snd_wnd=18000, rwnd_limited=lambda t: 0.9 * t
    )
    assert report(run).note == "random loss was expected to be the limit, but that was the receiver's window"


def test_the_note_names_queueing() -> None:
    run = run_of(experiment(loss="0.1 %", duration="60 s"), 6e6, rtt=0.08, **losing(1))
    assert report(run).note == "the RTT was 80 ms, not the path's 50 ms: queues formed"


def test_the_note_names_more_losses_than_were_set() -> None:
    run = run_of(experiment(loss="0.1 %", duration="60 s"), 5e6, **losing(0.5))
    assert report(run).note == "0.46 % of the segments met a loss event, more than the path's 0.1 %"


def test_few_losses_are_no_verdict_against_a_model() -> None:
    run = run_of(experiment(loss="0.01 %"), 60e6, **losing(5))
    assert report(run).note.startswith("too few losses")


def test_a_doubtful_run_says_so_first() -> None:
    run = eight_streams()
    run.fidelity = Fidelity(status="suspect", reasons=("the RTT was 5 ms too long",))
    assert report(run).note == "the RTT was 5 ms too long"


def test_a_cut_run_is_measured_as_far_as_it_went() -> None:
    run = run_of(experiment(loss="0.1 %"), 9e6, until=7.0, **losing(1))
    result = report(run)
    assert result.throughput_bps == pytest.approx(9e6, rel=1e-3)
    assert result.note.startswith("cut short")


def test_the_document_has_the_contracts_keys() -> None:
    whole: dict[str, Any] = document(eight_streams(), "/tmp/a.tcprun")
    assert set(whole) >= KEYS
    for key, names in CONTRACT.items():
        assert set(whole[key]) >= names
    assert len(whole["flows"]) == 8
    assert all(set(flow) >= FLOW for flow in whole["flows"])
    assert all(set(one) >= {"model", "throughput_bps", "ratio"} for one in whole["predictions"])
    assert whole["file"] == "/tmp/a.tcprun"
    assert whole["parameters"]["loss"] == 0.001
    assert whole["verdict"]["limited_by"] == "random-loss"
    assert whole["predictions"][0]["model"] == "reno"
    manual = next(one for one in whole["predictions"] if one["model"] == "mathis-manual")
    assert manual["difference"] == pytest.approx(manual["ratio"] - 1)
    assert manual["reason"].startswith("C is left out")


@pytest.mark.parametrize(
    "run", [eight_streams(), empty(experiment()), run_of(experiment(rate="none", delay="0"), 1e9)]
)  # fmt: skip
def test_the_document_is_plain_json(run: Run) -> None:
    assert json.loads(json.dumps(document(run, None), allow_nan=False))["complete"] == run.complete


def test_numbers_that_json_lacks_become_null() -> None:
    run = eight_streams()
    run.wall_s = math.inf
    assert document(run, None)["wall_s"] is None


def test_a_saved_run_gives_the_same_document(tmp_path: Any) -> None:
    run = eight_streams()
    save(run, tmp_path / "a.tcprun")
    assert document(load(tmp_path / "a.tcprun"), None) == document(run, None)


def test_each_flow_has_its_figures() -> None:
    def swinging(t: float) -> float:  # 20 and 40 Mbit/s by turns, a second each
        return 30e6 * t + (-10e6 * (t % 1) if int(t) % 2 == 0 else -10e6 * (1 - t % 1))

    result = report(run_of(experiment(streams="2", duration="10 s"), swinging, 10e6))
    first, second = result.flows
    assert (first.throughput_bps, second.throughput_bps) == pytest.approx((30e6, 10e6), rel=1e-3)
    assert (first.share, second.share) == pytest.approx((0.75, 0.25), rel=1e-3)
    assert first.cov == pytest.approx(1 / 3, rel=1e-3)
    assert second.cov == pytest.approx(0, abs=1e-3)
    assert result.cov_between == pytest.approx(0.5, rel=1e-3)
    assert result.jain_index == pytest.approx(1 / (1 + 0.5**2), rel=1e-3)


def test_a_spread_of_too_few_rates_is_not_told() -> None:
    result = report(run_of(experiment(duration="3 s"), 10e6))
    assert (result.flows[0].cov, result.cov_between) == (None, None)


def test_the_document_marks_what_binds_and_tells_of_udp() -> None:
    run = run_of(experiment(udp_streams="1", udp_rate="10 Mbit/s"), 80e6)
    run.udp = [
        UdpResult(
            pair=0, sent_bps=10e6, received_bps=9e6, lost=10, datagrams=100, jitter_s=1e-3, out_of_order=2
        )
    ]
    whole: dict[str, Any] = document(run, None)
    assert [one["binding"] for one in whole["predictions"]] == [True] + [False] * (
        len(whole["predictions"]) - 1
    )
    (udp,) = whole["udp"]
    assert (udp["received_bps"], udp["loss_rate"], udp["out_of_order"], udp["datagrams"]) == (
        9e6,
        0.1,
        2,
        100,
    )
    assert set(whole["aggregate"]) >= {"jain_index", "cov", "retransmits", "losses"}
    assert whole["flows"][0]["share"] == 1


def test_a_tick_needs_a_tolerance_that_says_something() -> None:
    wide = report(run_of(experiment(loss="10 %", loss_correlation="25 %"), 1.1e6, **losing(0.2))).comparisons[
        0
    ]
    assert wide.prediction.tolerance > 0.4
    assert abs(wide.difference) < wide.prediction.tolerance
    assert wide.judgement == "undecided"


def judgements(run: Run) -> dict[str, str]:
    return {one.prediction.model.value: one.judgement for one in report(run).comparisons}


def test_what_the_link_carries_is_no_tick_for_a_formula() -> None:
    told = judgements(load(RECORDED / "eight-flows-one-link.tcprun"))
    assert told.pop("link") == "explains"
    assert set(told.values()) == {"capped"}
    assert len(told) == 5


@pytest.mark.parametrize("seconds", ["35 s", "60 s", "300 s"])
def test_a_constant_that_is_wrong_has_no_tick_where_reno_has_one(seconds: str) -> None:
    """However wide chance makes its tolerance."""
    for measured in (8.8e6, 9e6, 9.3e6, 9.6e6):
        told = judgements(run_of(experiment(loss="0.1 %", duration=seconds), measured, **losing(1.3)))
        assert told["reno"] == told["mathis-periodic"] == "explains"
        assert told["mathis-manual"] in ("undecided", "misses")


def test_too_few_losses_speak_for_no_loss_model() -> None:
    run = run_of(experiment(loss="0.1 %", duration="25 s"), 9e6, **losing(3))
    assert judgements(run)["reno"] == "explains"
    run.fidelity = Fidelity(status="suspect", reasons=("only 9 loss events: their mean says little",))
    assert "explains" not in judgements(run).values()


def test_a_model_of_another_algorithm_has_no_tick() -> None:
    told = judgements(load(RUNS / "cubic-loss.tcprun"))
    assert told["cubic"] == "explains"
    assert {told[name] for name in ("reno", "mathis", "mathis-periodic", "padhye")} == {"other-algorithm"}
    assert judgements(load(RUNS / "burst-queue.tcprun"))["sawtooth"] == "other-algorithm"


def test_only_what_has_another_limit_is_not_the_limit() -> None:
    lossy = judgements(load(RUNS / "heavy-loss.tcprun"))
    assert (lossy["mathis"], lossy["link"]) == ("misses", "not-the-limit")
    assert judgements(load(RUNS / "short-queue.tcprun"))["link"] == "misses"


def test_nothing_measured_is_no_figure() -> None:
    assert report(empty(experiment(), complete=True)).comparisons == ()
    run = eight_streams()
    run.fidelity = Fidelity(status="invalid", reasons=("no answer from h2",))
    assert report(run).comparisons == ()
    assert report(run).note == "no answer from h2"


def test_a_loss_event_in_which_nothing_was_lost_is_called_undone() -> None:
    """Each retransmission of the first five had arrived; of the others none had."""
    state = losing(1) | {
        "dsack_dups": lambda t: min(max(0, int(t - 0.05)), 7),
        "reord_seen": lambda t: int(t),
    }
    result = report(run_of(experiment(jitter="5 ms", duration="10 s", warmup="2 s"), 20e6, **state))
    assert result.loss_events == 10
    assert result.spurious_events == 5
    assert report(run_of(experiment(loss="1 %"), 20e6, **losing(1))).spurious_events == 0
