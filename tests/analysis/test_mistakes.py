"""What a prediction is told after the run: the mistakes that are known, and when one of them is named."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcptutor import theory
from tcptutor.analysis import expect, feedback_text, known_mistakes, report
from tcptutor.base import units
from tcptutor.run import Run, load
from tcptutor.spec import Experiment
from tests.examples import examples

from .synthetic import empty, experiment, run_of

RECORDED = Path(__file__).parents[2] / "assets/recorded/parallel-streams"
TOLERANCE = 0.1


def recorded(name: str) -> Run:
    return load(RECORDED / f"{name}.tcprun")


ONE_LOSSY, FOUR_LOSSY, IN_A_ROW, LINK_OF_EIGHT, WINDOW, EIGHT_WINDOWS = (
    "one-lossy-flow", "four-lossy-flows", "losses-in-bursts", "eight-flows-one-link", "one-small-window",
    "eight-small-windows",
)  # fmt: skip


@pytest.mark.parametrize(
    ("run", "predicted", "told"),
    [
        (ONE_LOSSY, 99e6, "that is the link's rate, 11 times too much; random loss binds, at"),
        (ONE_LOSSY, 17.9e6, "that is what an RTT of 25 ms would give, 2 times too much; here it is 50 ms; "),
        (ONE_LOSSY, 7.3e6, "that is Mathis with C = 1"),
        (ONE_LOSSY, 283e6, "that is the formula with p in place of its root"),
        (ONE_LOSSY, 0.895e6, "that is the formula with p = 0.1, 10 times too little; 0.1 % is 0.001; "),
        (ONE_LOSSY, 11.9e6, "that is the rate at the window's peaks"),
        (FOUR_LOSSY, 9e6, "that is what one of the 4 flows gets by loss, 4"),
        (IN_A_ROW, 2.3e6, "that is the formula with each lost segment for itself, p = 0.9 %, "),
        (LINK_OF_EIGHT, 71.6e6, "that is 8 × 8.96 Mbit/s, 50 % too much; the link carries less; the link binds, "),
        (LINK_OF_EIGHT, 9e6, "that is what one of the 8 flows gets by loss"),
        (WINDOW, 40e6, "that is the link's rate, which takes a window of a BDP"),
        (WINDOW, 26.4e6, "that is what an RTT of 20 ms would give"),
        (WINDOW, 1.65e6, "over 8, 8 times too little; a byte has 8 bits; the receiver's window binds"),
        (WINDOW, 8.18e6, "that is what it would be if every segment waited in a full queue"),
        (WINDOW, 13.2e9, "times 1000, 1 000 times too much; look at the prefix; "),
        (EIGHT_WINDOWS, 105e6, "that is 8 × 13.2 Mbit/s, 2.8 times too much; the link carries less; "),
        (EIGHT_WINDOWS, 13.2e6, "that is what one of the 8 flows gets by its window"),
    ],
)  # fmt: skip
def test_a_known_mistake_is_named_with_its_factor(run: str, predicted: float, told: str) -> None:
    assert told in feedback_text(predicted, recorded(run), TOLERANCE)


@pytest.mark.parametrize(
    ("run", "predicted", "told"),
    [
        # An eighth is one flow's share, and bytes for bits: either may be what was meant.
        (EIGHT_WINDOWS, 4.78e6, "perhaps one flow's share of the link, or the models' 38.3 Mbit/s over 8"),
        (
            FOUR_LOSSY,
            17.9e6,
            "perhaps what an RTT of 100 ms would give, or the formula with 4 times the loss",
        ),
    ],
)
def test_of_two_that_are_as_near_none_is_certain(run: str, predicted: float, told: str) -> None:
    said = feedback_text(predicted, recorded(run), TOLERANCE)
    assert told in said
    assert "that is" not in said


@pytest.mark.parametrize(
    ("factor", "told"),
    [
        (8, "times 8, "),
        (1 / 8, "over 8, "),
        (1000, "times 1000, "),
        (0.001, "over 1000, "),
    ],
)
def test_a_unit_slip_is_detected_from_the_models(factor: float, told: str) -> None:
    run = recorded(ONE_LOSSY)
    expected = expect(run.experiment).binding.throughput_bps
    assert f"that is the models' {units.rate(expected)} {told}" in feedback_text(
        factor * expected, run, TOLERANCE
    )


def test_an_unknown_mistake_is_described_by_its_distance() -> None:
    said = feedback_text(20e6, recorded(WINDOW), TOLERANCE)
    assert said.startswith("20 Mbit/s is 51 % too much; the receiver's window binds, at 13.2 Mbit/s. ")
    assert said.endswith("You are 51 % above the run, 52 % above the models.")


def test_a_right_prediction_is_compared_with_model_and_run() -> None:
    said = feedback_text(9e6, recorded(ONE_LOSSY), TOLERANCE)
    assert said.startswith("9 Mbit/s is right within ±10 %: the models say ")
    assert said.endswith("the run had 8.99 Mbit/s. You are level with the run, 3 % below the models.")


def test_link_rate_given_as_goodput_is_mentioned_though_right() -> None:
    said = feedback_text(50e6, recorded(LINK_OF_EIGHT), TOLERANCE)
    assert "right within ±10 %" in said
    assert "But 50 Mbit/s is the link's rate, headers included; 1448/1514 of it are data." in said


def test_no_mistake_is_claimed_when_the_run_has_another_limit() -> None:
    """The models expect loss to bind; these samples have none, and a receiver's window that is full."""
    made = experiment(loss="0.1 %", duration="10 s", warmup="0 s")
    run = run_of(made, 9e6, rwnd_limited=lambda t: t, snd_wnd=56_000, cwnd=80)
    assert report(run).verdict.limited_by == "receive-window"
    assert feedback_text(100e6, run, TOLERANCE) == (
        "100 Mbit/s is 11 times too much; the receiver's window binds, at 9 Mbit/s. "
        "You are at 11 times the run and the models."
    )


def test_a_run_that_measured_nothing_answers_nothing() -> None:
    assert feedback_text(9e6, empty(experiment(loss="0.1 %"), complete=True), TOLERANCE) == ""


PATHS = st.fixed_dictionaries(
    {
        "rate": st.sampled_from(["none", "2 Mbit/s", "40 Mbit/s", "1 Gbit/s"]),
        "delay": st.sampled_from(["1 ms", "20 ms", "100 ms"]),
        "loss": st.sampled_from(["0 %", "0.01 %", "0.1 %", "3 %"]),
        "queue": st.sampled_from(["30 kB", "500 kB"]),
        "window": st.sampled_from(["none", "16 KiB", "1 MiB"]),
        "pacing": st.sampled_from(["none", "5 Mbit/s"]),
        "streams": st.sampled_from(["1", "4", "8"]),
        "algorithm": st.sampled_from(["reno", "cubic", "htcp", "highspeed", "bbr", "vegas"]),
        "udp_streams": st.sampled_from(["0", "1"]),
    }
)


@given(PATHS)
@settings(max_examples=examples(150))
def test_every_candidate_is_a_rate_that_is_not_the_expected_one(settings: dict[str, str]) -> None:
    made = experiment(**settings)
    expected = expect(made).binding.throughput_bps
    found = known_mistakes(made)
    assert len({one.kind for one in found}) >= 3
    for one in found:
        assert 0 < one.value < math.inf
        assert abs(math.log(one.value / expected)) > 0.01
        assert one.description
        assert "that is" not in one.description


def test_there_are_many_kinds_of_mistakes() -> None:
    made: list[Experiment] = [
        experiment(loss="0.1 %", streams="4"),
        experiment(loss="0.1 %", window="2 BDP"),
        experiment(window="64 KiB", loss="0.001 %", streams="4"),
        experiment(rate="5 Mbit/s", loss="0.1 %", streams="8", window="64 KiB", udp_streams="1"),
        experiment(rate="20 Mbit/s", queue="20 kB"),
        experiment(rate="20 Mbit/s"),
        experiment(pacing="3 Mbit/s", streams="2"),
        experiment(loss="0.9 %", loss_burst="3"),
    ]
    kinds = {one.kind for each in made for one in known_mistakes(each)}
    assert kinds >= {
        "link's rate", "link's goodput", "frames for goodput", "UDP forgotten", "short queue", "queue forgotten",
        "share of the link", "one flow's", "link forgotten", "receive-window where another binds",
        "random-loss where another binds", "one way for the round trip", "twice the round trip",
        "percent for a fraction", "fraction for percent", "loss times flows", "queue counted", "C = 1",
        "root forgotten", "no loss in it", "peak for mean", "least for mean", "bytes for bits", "bits for bytes",
        "prefix", "decimal point", "segments for events",
    }  # fmt: skip


def test_c_of_one_is_the_manuals_formula() -> None:
    manual = next(one for one in known_mistakes(experiment(loss="0.1 %", streams="4")) if one.kind == "C = 1")
    assert manual.value == pytest.approx(4 * theory.mathis(1448, 0.0501, 0.001, 1.0))
