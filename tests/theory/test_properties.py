"""What must hold over the whole domain: identities between models, monotonicity, bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor import theory

losses = st.floats(1e-9, 0.5)
rtts = st.floats(1e-5, 2)
sizes = st.floats(100, 9000)
betas = st.floats(0, 0.95)
rates = st.lists(st.floats(0, 1e11), min_size=1, max_size=64).filter(lambda values: max(values) > 1e-300)


@given(losses)
def test_reno_is_aimd_of_one_and_a_half(loss: float) -> None:
    assert theory.reno_window(loss) == pytest.approx(theory.aimd_window(loss, 1, 0.5))
    assert theory.reno_window(loss) == pytest.approx(theory.MATHIS_PERIODIC / math.sqrt(loss))


@given(losses)
def test_cubics_reno_friendly_window_is_renos(loss: float) -> None:
    friendly = theory.aimd_window(loss, theory.CUBIC_RENO_ALPHA, theory.CUBIC_BETA)
    assert friendly == pytest.approx(theory.reno_window(loss))


@given(losses, rtts)
def test_newer_algorithms_are_never_below_reno(loss: float, rtt: float) -> None:
    reno = theory.reno_window(loss) * (1 - 1e-9)
    assert theory.cubic_window(loss, rtt) >= reno
    assert theory.highspeed_window(loss) >= reno


@given(sizes, rtts, losses)
def test_mathis_is_window_over_rtt(mss: float, rtt: float, loss: float) -> None:
    window = theory.reno_window(loss) * mss
    assert theory.mathis(mss, rtt, loss) == pytest.approx(theory.window_limited(window, rtt))


@given(sizes, rtts, losses, losses)
def test_more_loss_gives_less(mss: float, rtt: float, loss: float, other: float) -> None:
    low, high = sorted((loss, other))
    assert theory.mathis(mss, rtt, high) <= theory.mathis(mss, rtt, low)
    assert theory.padhye(mss, rtt, high, rto=0.3) <= theory.padhye(mss, rtt, low, rto=0.3)
    assert theory.cubic_window(high, rtt) <= theory.cubic_window(low, rtt)
    assert theory.highspeed_window(high) <= theory.highspeed_window(low)


@given(sizes, rtts, losses, st.floats(0.01, 10), st.floats(1, 4))
def test_timeouts_only_take(mss: float, rtt: float, loss: float, rto: float, b: float) -> None:
    short = theory.padhye(mss, rtt, loss, rto, b)
    assert 0 < short <= theory.mathis(mss, rtt, loss, c=math.sqrt(1.5 / b)) * (1 + 1e-12)
    assert theory.padhye(mss, rtt, loss, 2 * rto, b) <= short
    full = theory.padhye_full(mss, rtt, loss, rto, b)
    assert 0 < theory.padhye_full(mss, rtt, loss, 2 * rto, b) <= full < math.inf


@given(sizes, st.floats(0.005, 0.5), st.floats(1e-7, 1e-4))
def test_short_and_full_padhye_agree_when_losses_are_rare(mss: float, rtt: float, loss: float) -> None:
    rto = rtt + 0.2
    full = theory.padhye_full(mss, rtt, loss, rto)
    assert theory.padhye(mss, rtt, loss, rto) == pytest.approx(full, rel=0.05)


@given(losses, rtts, st.floats(1, 1e4))
def test_the_receivers_window_bounds_padhye(loss: float, rtt: float, window: float) -> None:
    bound = theory.window_limited(window * 1448, rtt)
    assert theory.padhye(1448, rtt, loss, 0.3, max_window=window) <= bound * (1 + 1e-12)
    free = theory.padhye_full(1448, rtt, loss, 0.3)
    assert theory.padhye_full(1448, rtt, loss, 0.3, max_window=window) <= max(free, bound) * 1.05


@given(st.lists(st.tuples(sizes, rtts, losses), min_size=1, max_size=20), st.floats(1e3, 1e10))
def test_streams_add_up_to_the_link(streams: list[tuple[float, float, float]], link: float) -> None:
    total = theory.aggregate(streams)
    assert total == pytest.approx(sum(theory.mathis(*stream) for stream in streams))
    assert theory.aggregate(streams, link=link) == min(total, link)


@given(st.integers(1, 64), sizes, rtts, losses)
def test_like_streams_get_as_many_times_one(count: int, mss: float, rtt: float, loss: float) -> None:
    one = theory.mathis(mss, rtt, loss, theory.MATHIS_RANDOM)
    assert theory.aggregate([(mss, rtt, loss)] * count, c=theory.MATHIS_RANDOM) == pytest.approx(count * one)


@given(rates)
def test_jain_and_the_coefficient_of_variation_say_the_same(values: list[float]) -> None:
    jain = theory.jain_index(values)
    assert jain == pytest.approx(1 / (1 + theory.coefficient_of_variation(values) ** 2), rel=1e-6)
    assert 1 / len(values) <= jain * (1 + 1e-9)
    assert jain <= 1


@given(st.integers(1, 1000), betas)
def test_more_flows_use_more_of_a_link(flows: int, beta: float) -> None:
    assert 0 < theory.shared_utilisation(flows, beta) < theory.shared_utilisation(flows + 1, beta) < 1


@given(st.floats(0, 1), st.floats(0, 1))
def test_more_buffer_uses_more_of_a_link(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0.75 <= theory.sawtooth_utilisation(low) <= theory.sawtooth_utilisation(high) + 1e-12 <= 1 + 1e-11


@given(st.floats(0, 100), st.floats(0, 100), betas)
def test_htcp_grows_faster_the_longer_it_waits(one: float, other: float, beta: float) -> None:
    low, high = sorted((one, other))
    assert theory.htcp_alpha(low, beta) <= theory.htcp_alpha(high, beta)


@given(st.floats(1e-6, 0.1), st.floats(1e-3, 0.5))
def test_htcp_is_at_least_reno(loss: float, rtt: float) -> None:
    assert theory.htcp_window(loss, rtt) >= theory.reno_window(loss) * 0.999


@given(st.floats(100, 64000), st.floats(1e4, 1e11))
def test_goodput_is_part_of_the_rate(mtu: float, rate: float) -> None:
    assert 0 < theory.goodput_ratio(mtu) < theory.goodput_ratio(mtu, timestamps=False) < 1
    assert theory.window_limited(theory.bdp(rate, 0.05), 0.05) == pytest.approx(rate)
