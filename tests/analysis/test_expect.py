"""What the models expect, against what a real kernel did and what the formulas say."""

from __future__ import annotations

import math
import pickle

import msgspec
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tcptutor import theory
from tcptutor.analysis import Expectation, Prediction, ThroughputModel, expect, window_trajectories
from tcptutor.analysis.expected.stretches import stretch_cases, stretch_of
from tcptutor.base import units
from tcptutor.base.errors import ParameterError
from tcptutor.spec import build
from tests.examples import examples

from .synthetic import experiment

LINK = 100e6 * 1448 / 1514

# Reno on a real kernel, 108 to 270 losses each (validation, laws-reno): measured over Mathis with 1.2247.
MEASURED = [("10 ms", "0.1 %", 0.961), ("30 ms", "0.1 %", 0.990), ("80 ms", "0.1 %", 1.055),
            ("10 ms", "1 %", 0.959), ("30 ms", "1 %", 1.002), ("80 ms", "1 %", 0.921)]  # fmt: skip


def models(expectation: Expectation) -> dict[str, float]:
    return {one.model: one.throughput_bps for one in expectation.predictions}


@pytest.mark.parametrize(("delay", "loss", "ratio"), MEASURED)
def test_reno_agrees_with_the_kernel(delay: str, loss: str, ratio: float) -> None:
    expectation = expect(experiment(delay=delay, loss=loss, duration="60 s"))
    rtt, p = units.parse(delay, "time"), units.parse(loss, "ratio")
    measured = ratio * theory.mathis(1448, rtt, p)
    assert expectation.binding.model == "reno"
    assert measured == pytest.approx(expectation.binding.throughput_bps, rel=expectation.binding.tolerance)


@pytest.mark.parametrize(
    ("streams", "measured"), [(1, 8.80e6), (2, 17.5e6), (4, 38.0e6), (8, 75.9e6), (16, 95.1e6)]
)
def test_parallel_streams_agree_with_the_kernel(streams: int, measured: float) -> None:
    expectation = expect(experiment(loss="0.1 %", streams=str(streams), duration="60 s"))
    binding = expectation.binding
    assert binding.model == ("link" if streams == 16 else "reno")
    assert measured == pytest.approx(binding.throughput_bps, rel=binding.tolerance)


def test_cubic_under_random_loss_agrees_with_the_kernel() -> None:
    binding = expect(experiment(algorithm="cubic", delay="100 ms", loss="0.01 %", duration="60 s")).binding
    assert binding.model == "cubic"
    assert 2.01 * theory.mathis(1448, 0.1, 1e-4) == pytest.approx(
        binding.throughput_bps, rel=binding.tolerance
    )


def test_many_streams_are_so_many_times_one() -> None:
    one, eight = (expect(experiment(loss="0.1 %", streams=streams)) for streams in ("1", "8"))
    assert eight.binding.throughput_bps == pytest.approx(8 * one.binding.throughput_bps)
    assert eight.binding.label == "8 × Reno"
    assert eight.binding.formula == "8 × 1448 B × 40.2 (mean of a round trip) / 50 ms"
    assert eight.cwnd_segments == pytest.approx(theory.reno_random_window(1e-3), rel=0.01)


def test_pairs_count_as_flows() -> None:
    four = expect(experiment(pairs=4, loss="0.1 %", streams="2"))
    assert four.binding.label == "8 × Reno"


def test_the_link_caps_what_the_loss_models_give() -> None:
    expectation = expect(experiment(loss="0.1 %", streams="16"))
    assert all(value <= LINK * (1 + 1e-9) for value in models(expectation).values())
    assert {one.limited_by for one in expectation.predictions} == {"bottleneck"}


def test_every_constant_of_mathis_is_shown() -> None:
    shown = models(expect(experiment(loss="0.1 %")))
    assert shown["mathis"] / shown["mathis-manual"] == pytest.approx(1.31)
    assert shown["mathis-periodic"] / shown["mathis-manual"] == pytest.approx(theory.MATHIS_PERIODIC)
    assert shown["padhye"] < shown["mathis-periodic"]
    assert shown["link"] == pytest.approx(LINK)


def test_the_receivers_window_binds() -> None:
    expectation = expect(experiment(window="64 KiB", streams="2"))
    assert expectation.binding.model == "window"
    assert expectation.binding.limited_by == "receive-window"
    assert expectation.binding.throughput_bps == pytest.approx(2 * 8 * 65536 / 0.0501)
    assert expectation.binding.formula == "2 × 65.5 kB / 50 ms"


def test_a_model_is_its_plain_name_in_files() -> None:
    binding = expect(experiment(window="64 KiB")).binding
    written = msgspec.json.encode(binding)
    assert msgspec.json.decode(written)["model"] == "window"
    assert msgspec.json.decode(written, type=Prediction) == binding
    assert pickle.loads(pickle.dumps(binding)).model is ThroughputModel.WINDOW


def test_pacing_binds() -> None:
    expectation = expect(experiment(pairs=4, delay="20 ms", pacing="20 Mbit/s"))
    assert (expectation.binding.model, expectation.binding.throughput_bps) == ("pacing", 80e6)


def test_bbr_is_expected_to_fill_the_link_in_spite_of_loss() -> None:
    expectation = expect(experiment(algorithm="bbr", loss="0.1 %"))
    assert expectation.binding.model == "link"
    assert models(expectation)["mathis"] < LINK / 5


def test_cubic_has_its_own_model_and_renos_beside_it() -> None:
    expectation = expect(experiment(algorithm="cubic", delay="100 ms", loss="0.01 %", duration="300 s"))
    assert expectation.binding.model == "cubic"
    assert expectation.binding.throughput_bps > models(expectation)["mathis"]
    assert models(expectation)["cubic-periodic"] == pytest.approx(
        theory.window_limited(theory.cubic_window(1e-4, 0.1001) * 1448, 0.1001)
    )


def test_cubic_takes_the_mean_over_its_losses() -> None:
    often = expect(experiment(algorithm="cubic", delay="20 ms", loss="1 %"))
    window = theory.cubic_random_window(0.01, 0.0201)
    # Of it half a segment waits at the receiver, and 1 % is lost.
    arriving = (window - 0.25) * 0.99
    assert often.binding.throughput_bps == pytest.approx(
        theory.window_limited(arriving * 1448, 0.0201), rel=0.02
    )
    assert often.binding.formula == "1448 B × 10.8 (mean of a round trip) / 20 ms"
    # In small windows whole segments cost it more than chance gives.
    assert often.binding.throughput_bps < models(often)["cubic-periodic"]


def test_htcp_beats_reno_when_losses_are_rare() -> None:
    rare = expect(experiment(algorithm="htcp", delay="100 ms", loss="0.01 %", rate="1 Gbit/s"))
    often = expect(experiment(algorithm="htcp", delay="20 ms", loss="1 %"))
    assert rare.binding.throughput_bps > 2 * models(rare)["mathis"]
    # Where they are not, its steps of whole segments and ACKs are slower than Reno's.
    assert 0.75 < often.binding.throughput_bps / models(often)["reno"] < 0.9
    # It grows by ACKs, of which flights that arrive at once have fewer.
    window = theory.htcp_random_window(0.01, 0.0201)
    assert 0.9 < often.binding.throughput_bps / theory.window_limited(window * 1448, 0.0201) < 0.97


def test_bic_has_a_law_of_its_own() -> None:
    expectation = expect(experiment(algorithm="bic", loss="1 %", duration="60 s"))
    assert expectation.binding.model == "related"
    assert 2 < expectation.binding.throughput_bps / models(expectation)["reno"] < 3.2


def test_an_algorithm_without_a_model_is_compared_with_reno_and_says_so() -> None:
    """Another program's file may name one that the lab does not have."""
    made = experiment(loss="1 %", duration="60 s")
    made = msgspec.structs.replace(made, hosts=msgspec.structs.replace(made.hosts, algorithm="prague"))
    expectation = expect(made)
    assert expectation.binding.model == "reno"
    assert expectation.binding.tolerance == 1
    assert expectation.note.startswith("no model of prague")


def test_a_short_buffer_takes_from_one_reno_flow() -> None:
    expectation = expect(experiment(queue="0.25 BDP"))
    assert expectation.binding.model == "sawtooth"
    assert expectation.binding.throughput_bps == pytest.approx(
        LINK * theory.sawtooth_utilisation(0.25), rel=1e-4
    )
    assert expect(experiment(queue="1 BDP")).binding.model == "link"
    # More flows take turns in losing, and so leave less unused.
    assert (
        expect(experiment(queue="0.25 BDP", streams="4")).binding.throughput_bps
        > 1.05 * models(expectation)["sawtooth"]
    )


def test_measured_mss_and_timeout_are_used() -> None:
    made = experiment(loss="1 %", mtu="9000")
    assert models(expect(made))["mathis"] == pytest.approx(theory.mathis(8948, 0.0501, 0.01, 1.31))
    assert models(expect(made, mss=1000))["mathis"] == pytest.approx(theory.mathis(1000, 0.0501, 0.01, 1.31))
    assert models(expect(made, rto=1.0))["padhye"] < models(expect(made, rto=0.3))["padhye"]


def test_too_few_losses_name_the_duration_needed() -> None:
    made = experiment(loss="0.01 %")
    expectation = expect(made)
    assert expectation.loss_events < 20
    assert expectation.note.startswith("too few losses (2 expected): run for ")
    needed = expectation.note.split("run for ")[1]
    longer = expect(experiment(loss="0.01 %", duration=needed))
    assert longer.loss_events >= 20
    assert longer.note == ""


def test_more_losses_are_more_certain() -> None:
    short, long = (expect(experiment(loss="0.1 %", duration=d)).binding.tolerance for d in ("20 s", "200 s"))
    assert 0.05 < long < short
    losses = expect(experiment(loss="0.1 %", duration="20 s")).loss_events
    # Twice the standard error of Reno's throughput.
    assert short == pytest.approx(math.hypot(0.051, 2 * 0.57 / math.sqrt(losses)), rel=1e-3)


def test_neighboring_regimes_are_named() -> None:
    expectation = expect(experiment(loss="0.1 %", streams="8", duration="60 s"))
    assert expectation.binding.model == "reno"
    assert expectation.note == "link (95.6 Mbit/s) is near: expect a little less than either alone"
    assert "near" not in expect(experiment(loss="0.1 %", streams="4", duration="60 s")).note


def test_timeouts_are_in_the_model_that_binds() -> None:
    expectation = expect(experiment(loss="5 %", duration="120 s"))
    assert "timeouts" not in expectation.note
    padhye, mathis = (models(expectation)[name] for name in ("padhye", "mathis"))
    assert padhye < expectation.binding.throughput_bps < mathis


def test_jitter_is_mentioned() -> None:
    assert expect(experiment(jitter="5 ms")).note.startswith("jitter of 5 ms")


def test_no_delay_has_a_stated_floor() -> None:
    expectation = expect(experiment(delay="0", loss="1 %", rate="none"))
    assert expectation.binding.formula == "1448 B × 11.9 (mean of a round trip) / 100 µs"


def test_an_unlimited_path_has_an_upper_bound() -> None:
    expectation = expect(experiment(rate="none", delay="100 ms"))
    assert expectation.binding.model == "buffer"
    assert "upper bound" in expectation.note


def test_mean_window_of_a_full_link() -> None:
    reno, cubic = (
        expect(experiment(algorithm=name, queue="1 BDP")).cwnd_segments for name in ("reno", "cubic")
    )
    # Peak two BDP of 413 frames each; Reno's mean over time is 7/9 of the peak, as round trips grow with the queue.
    assert reno == pytest.approx(7 / 9 * 2 * 625_000 / 1514, rel=0.01)
    assert cubic is not None
    assert reno is not None
    assert cubic > reno


rates = st.one_of(st.just("none"), st.floats(1e4, 1e11).map(lambda value: f"{value} bit/s"))
times = st.floats(0, 2).map(lambda value: f"{value} s")
shares = st.one_of(st.just("0"), st.floats(1e-7, 75).map(lambda value: f"{value} %"))
sizes = st.one_of(st.just("none"), st.integers(4608, 1 << 24).map(lambda value: f"{value} B"))
names = st.sampled_from(["reno", "cubic", "htcp", "bbr", "highspeed", "vegas"])


def lists(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, max_size=3).map(",".join)


changes = st.lists(
    st.tuples(
        st.floats(0, 30),
        st.sampled_from(["rate=1 Mbit/s", "rate=5 Gbit/s", "delay=0 s", "delay=1 s", "loss=0", "loss=5 %",
                         "queue=3000 B", "link=down", "link=up"]),
    ),
    max_size=4,
).map(lambda all_of: "; ".join(f"{at} s {what}" for at, what in all_of) or "none")  # fmt: skip
parameters = st.fixed_dictionaries(
    {
        "rate": rates,
        "delay": times,
        "loss": shares,
        "queue": st.integers(3000, 1 << 30).map(lambda value: f"{value} B"),
        "streams": st.integers(0, 64).map(str),
        "duration": st.floats(1, 3600).map(lambda value: f"{value} s"),
        "algorithm": names,
    },
    optional={
        "warmup": times,
        "window": sizes,
        "mtu": st.integers(576, 9000).map(str),
        "mss": st.one_of(st.just("none"), st.integers(88, 500).map(str)),
        "pacing": rates,
        "maxrate": st.floats(1e4, 3e10).map(lambda value: f"{value} bit/s"),
        "buffer": sizes,
        "send_buffer": sizes,
        "algorithms": lists(names),
        "starts": lists(times),
        "directions": lists(st.sampled_from(["forward", "reverse"])),
        "pair_delays": lists(times),
        "loss_burst": st.floats(1, 50).map(str),
        "loss_correlation": st.just("25 %"),
        "loss_by": st.just("firewall"),
        "reverse_rate": rates,
        "reverse_delay": times,
        "reverse_loss": shares,
        "jitter": st.just("1 ms"),
        "qdisc": st.sampled_from(["fifo", "codel", "fq_codel", "fq", "cake", "red"]),
        "ecn": st.just("on"),
        "changes": changes,
        "bytes": st.one_of(st.just("none"), st.integers(1000, 1 << 40).map(lambda value: f"{value} B")),
        "udp_streams": st.integers(0, 64).map(str),
        "udp_rate": st.floats(1e4, 1e11).map(lambda value: f"{value} bit/s"),
        "length": st.integers(1, 1 << 20).map(lambda value: f"{value} B"),
        "tcp_timestamps": st.just("0"),
        "tcp_window_scaling": st.just("0"),
        "tcp_rmem": st.sampled_from(["4096 4096 4096", "4096 131072 60000000", "1 2 x", "7"]),
    },
)


@given(parameters, st.integers(1, 4))
@settings(max_examples=examples(150))
def test_every_experiment_has_an_expectation(values: dict[str, str], pairs: int) -> None:
    try:
        made = build("test/any", {"parameters": values, "pairs": pairs})
    except ParameterError:  # parameters that do not go together
        reject()
    expectation = expect(made)
    first, *others = expectation.predictions
    assert first == expectation.binding
    assert [one.throughput_bps for one in others] == sorted(one.throughput_bps for one in others)
    for one in expectation.predictions:
        assert 0 < one.throughput_bps < math.inf
        assert 0 <= one.tolerance <= 1
        assert len(one.label) <= 24
        assert "\n" not in one.formula
    assert len({one.model for one in expectation.predictions}) == len(expectation.predictions)
    assert expectation.loss_events >= 0
    assert expectation.cwnd_segments is None or expectation.cwnd_segments > 0
    assert all(0 <= rate < math.inf for rate in expectation.flows)
    assert expectation.completion_s is None or expectation.completion_s > 0
    for each in window_trajectories(made):
        assert len(each) <= 500
        assert all(cwnd > 0 for _, cwnd in each)


@given(parameters, st.integers(1, 4))
def test_the_binding_model_is_the_lowest_trusted_prediction(values: dict[str, str], pairs: int) -> None:
    try:
        made = build("test/any", {"parameters": values, "pairs": pairs})
    except ParameterError:
        reject()
    for case in stretch_cases(made):
        stretch = stretch_of(case)
        assert all(stretch.binding.throughput <= one.throughput for one in stretch.believed)
    binding = expect(made).binding.throughput_bps
    one_case = stretch_cases(made)
    if len(one_case) == 1 and made.flows.bytes is None:
        assert binding <= stretch_of(one_case[0]).binding.throughput * (1 + 1e-9)


@pytest.mark.parametrize(
    ("sysctl", "size"),
    [({"tcp_moderate_rcvbuf": "0"}, 80384), ({"tcp_wmem": "4096 16384 32768"}, 65536)],
)
def test_a_buffer_that_cannot_grow_bounds_what_is_under_way(sysctl: dict[str, str], size: int) -> None:
    made = experiment(rate="5 Mbit/s", delay="200 ms", queue="125 kB", **sysctl)
    binding = expect(made).binding
    assert binding.model is ThroughputModel.KERNEL_BUFFER
    assert binding.throughput_bps == pytest.approx(8 * size / 0.2, rel=0.01)


@pytest.mark.parametrize("algorithm", ["reno", "cubic", "htcp", "highspeed"])
def test_a_queue_of_many_bdp_is_not_too_short(algorithm: str) -> None:
    found = expect(
        experiment(rate="2 Mbit/s", delay="20 ms", queue="1.5 MB", algorithm=algorithm, duration="30 s")
    )
    assert (found.binding.model, found.note) == (ThroughputModel.LINK, "")


def test_a_small_amount_on_a_slow_reverse_path_lists_each_model_once() -> None:
    found = expect(
        experiment(rate="none", delay="0 s", reverse_rate="10 kbit/s", bytes="1 kB", duration="1 s")
    )
    models = [one.model for one in found.predictions]
    assert sorted(models) == sorted(set(models))
