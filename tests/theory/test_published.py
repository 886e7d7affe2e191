"""Every model against the tables and examples that its authors published."""

from __future__ import annotations

import math

import pytest

from tcptutor import theory

# RFC 9438, table 1 (RTT 0.1 s) and 2 (0.01 s), column C = 0.4; the RFC rounds Reno's 1.2247 to 1.2.
CUBIC_100_MS = {1e-2: 12, 1e-3: 38, 1e-4: 187, 1e-5: 1054, 1e-6: 5926, 1e-7: 33325, 1e-8: 187400}
CUBIC_10_MS = {1e-2: 12, 1e-3: 38, 1e-4: 120, 1e-5: 379, 1e-6: 1200, 1e-7: 5926, 1e-8: 33325}

# RFC 9438, table 3: loss rate at which each algorithm has this mean window, 1500-byte packets, RTT 0.1 s.
REQUIRED = [
    (8.3, 2.0e-2, 2.0e-2, 2.0e-2),
    (83.3, 2.0e-4, 3.9e-4, 2.9e-4),
    (833.3, 2.0e-6, 2.5e-5, 1.4e-5),
    (8333.3, 2.0e-8, 1.5e-6, 6.3e-7),
    (83333.3, 2.0e-10, 1.0e-7, 2.9e-8),
]

# RFC 3649, appendix B: a(w) steps up to the next whole number above these windows, where b(w) is as rounded there.
HIGHSPEED_STEPS = [
    (38, 1, 0.50), (118, 2, 0.44), (221, 3, 0.41), (347, 4, 0.38), (495, 5, 0.37), (663, 6, 0.35),
    (1058, 8, 0.33), (2076, 12, 0.29), (4177, 18, 0.26), (9346, 28, 0.21), (19965, 41, 0.17),
    (42707, 57, 0.13), (84035, 71, 0.10),
]  # fmt: skip

# RFC 3649, section 5: average window of HighSpeed TCP and of standard TCP by packet drop rate.
HIGHSPEED = {
    1e-2: 12, 1e-3: 38, 1e-4: 263, 1e-5: 1795, 1e-6: 12279, 1e-7: 83981, 1e-8: 574356, 1e-9: 3928088,
    1e-10: 26864653,
}  # fmt: skip
STANDARD = {1e-2: 12, 1e-3: 38, 1e-4: 120, 1e-5: 379, 1e-6: 1200, 1e-7: 3795, 1e-8: 12000}


@pytest.mark.parametrize(("rtt", "table"), [(0.1, CUBIC_100_MS), (0.01, CUBIC_10_MS)])
def test_cubic_has_the_windows_of_its_rfc(rtt: float, table: dict[float, int]) -> None:
    for loss, window in table.items():
        assert theory.cubic_window(loss, rtt) == pytest.approx(window, rel=0.025), loss


def test_cubic_region_has_the_rfcs_digits() -> None:
    assert theory.cubic_region_window(1e-6, 0.1) == pytest.approx(5926, abs=0.5)
    assert theory.cubic_region_window(1, 1) == pytest.approx(1.054, abs=5e-4)  # eq. 7


def test_highspeed_has_the_windows_of_its_rfc() -> None:
    for loss, window in HIGHSPEED.items():
        assert theory.highspeed_window(loss) == pytest.approx(window, rel=0.025), loss


@pytest.mark.parametrize(("window", "growth", "decrease"), HIGHSPEED_STEPS)
def test_highspeed_grows_and_shrinks_by_its_rfcs_table(window: int, growth: int, decrease: float) -> None:
    assert theory.highspeed_growth(window) == pytest.approx(growth, abs=0.5)
    assert theory.highspeed_decrease(window) == pytest.approx(decrease, abs=0.0051)


def test_highspeed_is_reno_below_38_segments_and_stays_at_a_tenth_above_83000() -> None:
    assert theory.highspeed_growth(30) == 1
    assert theory.highspeed_decrease(30) == 0.5
    assert theory.highspeed_decrease(83000) == theory.highspeed_decrease(1e6) == pytest.approx(0.1)


@pytest.mark.parametrize(("window", "reno", "highspeed", "cubic"), REQUIRED)
def test_losses_that_rfc_9438_allows_for_a_throughput(
    window: float, reno: float, highspeed: float, cubic: float
) -> None:
    # Two digits and rounded constants: 1.2 for Reno's 1.2247 is 4 % of the loss rate.
    assert theory.reno_window(reno) == pytest.approx(window, rel=0.05)
    assert theory.highspeed_window(highspeed) == pytest.approx(window, rel=0.06)
    assert theory.cubic_window(cubic, 0.1) == pytest.approx(window, rel=0.05)


def test_cubics_curve_begins_at_its_cut_and_is_flat_at_its_peak() -> None:
    k = theory.cubic_k(1000, 700)
    assert k == pytest.approx((300 / 0.4) ** (1 / 3))
    assert theory.cubic_curve(0, 1000) == pytest.approx(700)
    assert theory.cubic_curve(k, 1000) == 1000
    assert theory.cubic_curve(0, 1000, start=900) == pytest.approx(900)


def test_cubics_mean_is_its_curves() -> None:
    """RFC 9438, appendix B: peak and K of periodic losses give eq. 5, and mean over peak (3 + beta) / 4."""
    loss, rtt = 1e-5, 0.1
    mean = theory.cubic_region_window(loss, rtt)
    peak = 4 * mean / (3 + theory.CUBIC_BETA)
    k = theory.cubic_k(peak, theory.CUBIC_BETA * peak)
    steps = 10_000
    area = sum(theory.cubic_curve((step + 0.5) * k / steps, peak) for step in range(steps)) / steps
    assert area == pytest.approx(mean, rel=1e-6)
    assert area * k / rtt == pytest.approx(1 / loss, rel=1e-6)


def test_reno_has_the_windows_of_the_rfcs() -> None:
    for loss, window in STANDARD.items():
        assert theory.reno_window(loss) == pytest.approx(window, rel=0.025), loss


def test_hacker_table_1() -> None:
    stream = theory.Stream(mss=4418, rtt=0.070, loss=1e-4)
    for connections in range(1, 6):
        # The paper rounds 0.505 to 0.5 before it multiplies.
        expected = connections * 50e6 * 0.504914 / 0.5
        assert theory.aggregate([stream] * connections, c=1) == pytest.approx(expected, rel=1e-5)
    doubled = [stream._replace(loss=2e-4)] * 5
    assert theory.aggregate(doubled, c=1) == pytest.approx(176.78e6 * 0.504914 / 0.5, rel=1e-4)


def test_constants_of_mathis() -> None:
    assert pytest.approx(1.2247, abs=1e-4) == theory.MATHIS_PERIODIC
    assert pytest.approx(0.8660, abs=1e-4) == theory.MATHIS_PERIODIC_DELAYED
    assert theory.MATHIS_RANDOM == 1.31
    assert theory.MATHIS_RANDOM_DELAYED == 0.93


def test_mathis_is_the_windows_the_manual_and_the_lab_state() -> None:
    # Lab 6, figure 3, has MSS / (RTT * sqrt(L)); the lab notes 8.97 Mbit/s for this path with 1.2247.
    assert theory.mathis(1448, 0.05, 1e-3, c=1) == pytest.approx(7.326e6, rel=1e-3)
    assert theory.mathis(1448, 0.05, 1e-3) == pytest.approx(8.97e6, rel=1e-3)


def test_rfc_5348_is_padhye_with_four_round_trips_of_timeout() -> None:
    s, r, p = 1460.0, 0.1, 0.01
    bits = 8 * s / (r * math.sqrt(2 * p / 3) + 4 * r * (3 * math.sqrt(3 * p / 8)) * p * (1 + 32 * p**2))
    assert theory.padhye(s, r, p, rto=4 * r) == pytest.approx(bits)
    assert theory.tfrc(s, r, p) == pytest.approx(bits)
    # From p = 8/27 on Padhye's timeouts take all of the rest, RFC 5348's go on.
    assert theory.tfrc(s, r, 0.5) < theory.padhye(s, r, 0.5, rto=4 * r)


@pytest.mark.parametrize("b", [1, 2])
def test_padhye_becomes_mathis_when_losses_are_rare(b: int) -> None:
    ratios = [
        model(1448, 0.05, 10.0**-n, 0.25, b=b) / theory.mathis(1448, 0.05, 10.0**-n, math.sqrt(1.5 / b))
        for model in (theory.padhye, theory.padhye_full)
        for n in (5, 7, 9)
    ]
    for far, near, nearest in (ratios[:3], ratios[3:]):
        assert abs(nearest - 1) < abs(near - 1) < abs(far - 1) < 0.03
        assert nearest == pytest.approx(1, abs=1e-3)


def test_full_padhye_by_hand() -> None:
    # p = 0.02, b = 2, R = 0.1 s, T0 = 0.4 s: E[W] = 8.777, Q = 0.3994, f = 1.0208, each from its own formula.
    segments = (49 + 8.777 + 0.3994 / 0.98) / (0.1 * (8.777 + 1) + 0.3994 * 0.4 * 1.0208 / 0.98)
    assert theory.padhye_full(1000, 0.1, 0.02, rto=0.4, b=2) == pytest.approx(8000 * segments, rel=1e-3)
    # With a window of 4 the other form: Q = (1 - q^3)(1 + q^3(1 - q)) / (1 - q^4) = 0.7689 for q = 0.98.
    windowed = (49 + 4 + 0.7689 / 0.98) / (0.1 * (1 + 12.25 + 2) + 0.7689 * 0.4 * 1.0208 / 0.98)
    full = theory.padhye_full(1000, 0.1, 0.02, rto=0.4, b=2, max_window=4)
    assert full == pytest.approx(8000 * windowed, rel=1e-3)


def test_altmans_single_reno_flow_is_the_sawtooth_without_a_buffer() -> None:
    assert theory.shared_utilisation(1, 0.5) == pytest.approx(0.75)
    assert theory.shared_utilisation(4, 0.5) == pytest.approx(12 / 13)
    assert theory.sawtooth_utilisation(0) == theory.shared_utilisation(1, 0.5)


def test_one_bdp_of_buffer_fills_the_link() -> None:
    assert theory.sawtooth_utilisation(1) == 1
    assert theory.sawtooth_utilisation(0.999) == pytest.approx(1, abs=1e-6)
    assert theory.sawtooth_utilisation(3) == 1


def test_frames() -> None:
    assert theory.goodput_ratio(1500) == pytest.approx(0.9564, abs=5e-5)
    assert theory.goodput_ratio(1500, framing=theory.WIRE_FRAMING) == pytest.approx(0.9415, abs=5e-5)
    assert theory.goodput_ratio(1500, timestamps=False) == pytest.approx(1460 / 1514)
    # A published measurement on gigabit Ethernet ends at 936 to 941 Mbit/s.
    assert 1e9 * theory.goodput_ratio(1500, framing=theory.WIRE_FRAMING) == pytest.approx(938e6, rel=0.005)


def test_bdp_and_window_of_the_manuals() -> None:
    assert theory.bdp(10e9, 0.02) == 25_000_000
    assert theory.window_limited(25_000_000, 0.02) == pytest.approx(10e9)


def test_bdps_of_the_published_labs() -> None:
    assert theory.bdp(1e9, 0.01) == 1_250_000  # 1250 KB: the socket measurements, experiment 9
    # Lab 12 counts its 10 Gbit/s times 20 ms in binary megabytes.
    assert theory.bdp(10e9, 0.02) == pytest.approx(26_214_400, rel=0.05)


def test_window_limit_of_the_published_measurements() -> None:
    # Experiment 9: RTT 10 ms; the window is the socket's, of which part is bookkeeping, so the limit is an upper one.
    kilobytes = [9.77, 19.5, 39.1, 58.6, 78.1, 97.7, 195, 256]
    measured = [2.29e6, 9.13e6, 19.6e6, 18.6e6, 26.2e6, 43.4e6, 88.7e6, 95.6e6]
    for window, throughput in zip(kilobytes, measured, strict=True):
        assert throughput < theory.window_limited(window * 1024, 0.01) < 5 * throughput


def test_link_limits_of_the_published_measurements() -> None:
    # Experiment 3: tbf at 0.1 to 10 Mbit/s gives 95.3 to 97 % as payload.
    for rate, throughput in ((0.1e6, 0.0964e6), (0.5e6, 0.478e6), (1e6, 0.954e6), (10e6, 9.53e6)):
        assert throughput == pytest.approx(theory.link_limited(rate, 1500), rel=0.02)


def test_buffers_of_a_backbone() -> None:
    # Appenzeller 2004, abstract: 2.5 Gbit for 10 Gbit/s and 250 ms; with 50,000 flows 10 Mbit are enough.
    assert 8 * theory.buffer_rule(10e9, 0.25) == pytest.approx(2.5e9)
    assert 8 * theory.buffer_rule(10e9, 0.25, 50_000) == pytest.approx(10e6, rel=0.15)
    assert theory.queueing_delay(theory.buffer_rule(10e9, 0.25), 10e9) == pytest.approx(0.25)


def test_bbrs_constants() -> None:
    assert pytest.approx(2.885, abs=1e-3) == theory.BBR_STARTUP_GAIN
    assert sum(theory.BBR_PACING_CYCLE) / len(theory.BBR_PACING_CYCLE) == 1
    assert pytest.approx(0.2) == theory.BBR_LOSS_LIMIT
    assert theory.bbr_throughput(100e6, 0.05) == pytest.approx(95e6)
    assert theory.bbr_window(100e6, 0.04, 1448) == pytest.approx(2 * 500_000 / 1448)
    assert theory.bbr_window(1e5, 0.001, 1448) == 4


# Ware et al. 2019, eq. 9 to 11 by hand: X, p = 1/2 - 1/2X - 4/(33.3 X), (1 - p) * (1 - (0.04 X + 0.24) / 10).
WARE = {1: 0.972, 2: (1 - 0.19) * 0.968, 16: (1 - 0.46125) * 0.912, 64: (1 - 0.4903125) * 0.72}


@pytest.mark.parametrize(("queue", "share"), WARE.items())
def test_bbr_beside_loss_based_flows_takes_what_ware_et_al_say(queue: int, share: float) -> None:
    """10 Mbit/s and 40 ms, as in their figure 8: of more than one BDP never more than half in the long run."""
    found = theory.bbr_fraction(10e6, 0.04, queue * 50_000, 1500)
    assert found == pytest.approx(share, rel=0.001)
    assert theory.bbr_fraction(10e6, 0.04, queue * 50_000, 1500, flows=4) >= found


def test_a_transfer_takes_whole_rounds_of_slow_start() -> None:
    assert theory.completion_time(10 * 1448, 1448, 0.1) == pytest.approx(0.1)
    assert theory.completion_time(30 * 1448, 1448, 0.1) == pytest.approx(0.2)  # 10 + 20
    assert theory.completion_time(30 * 1448 + 1, 1448, 0.1) == pytest.approx(0.3)
    assert theory.completion_time(15 * 1000, 1000, 1, initial=1) == pytest.approx(4)  # 1 + 2 + 4 + 8


def test_a_transfer_on_a_link_by_hand() -> None:
    # Kurose and Ross's form with S/R = 0.1 s, RTT 1 s, windows 1, 2, 4, 8: waits of 1, 0.9, 0.7 and 0.3 s.
    assert theory.completion_time(15_000, 1000, 1, rate=80_000, initial=1) == pytest.approx(1.5 + 1 + 2.6)
    assert theory.completion_time(31_000, 1000, 1, rate=80_000, initial=1) == pytest.approx(3.1 + 1 + 2.9)


def test_cardwells_transfer_by_hand() -> None:
    # d = 100, p = 0.01: eq. 5 has 63.763 segments before the loss, eq. 11 a window of 36.88; RTT 0.1, T0 0.3.
    first = (1 - 0.99**100) * 99 + 1
    start = 0.1 * math.log2(first / 10 + 1)
    share = (
        (1 - 0.99**3)
        * (1 + 0.99**3 * (1 - 0.99 ** ((first + 10) / 2 - 3)))
        / (1 - 0.99 ** ((first + 10) / 2))
    )
    backoff = 1 + 0.01 + 2e-4 + 4e-6 + 8e-8 + 16e-10 + 32e-12
    repair = (1 - 0.99**100) * (share * backoff * 0.3 / 0.99 + (1 - share) * 0.1)
    window = 1 + math.sqrt(8 * 0.99 / 0.03 + 1)
    timed = (1 - 0.99**3) * (1 + 0.99**3 * (1 - 0.99 ** (window - 3))) / (1 - 0.99**window)
    rate = (99 + window / 2 + timed) / (0.1 * (window / 2 + 1) + timed * backoff * 0.3 / 0.99)
    expected = start + repair + (100 - first) / rate
    assert theory.completion_time(100 * 1448, 1448, 0.1, loss=0.01) == pytest.approx(expected)


def test_shares_by_round_trip() -> None:
    assert theory.rtt_shares([0.01, 0.04]) == pytest.approx((0.8, 0.2))
    assert theory.rtt_shares([0.01, 0.04], power=2) == pytest.approx((16 / 17, 1 / 17))
    # Lab 9, figure 2: one flow's segments are six times the other's.
    assert theory.rtt_shares([0.02, 0.02], [6, 1]) == pytest.approx((6 / 7, 1 / 7))


def test_slow_start_doubles() -> None:
    assert theory.slow_start_duration(160, 0.05) == pytest.approx(0.2)
    assert theory.slow_start_duration(8, 0.05) == 0
    assert theory.slow_start_duration(64, 1, initial=1) == pytest.approx(6)


def test_htcp_alpha() -> None:
    assert theory.htcp_alpha(0) == theory.htcp_alpha(1) == 1
    assert theory.htcp_alpha(3) == pytest.approx(1 + 20 + 1)
    assert theory.htcp_alpha(3, beta=0.8) == pytest.approx(0.4 * 22)


def test_htcp_as_linux_scales_it() -> None:
    assert theory.htcp_growth(3, 0.1) == pytest.approx(22)
    assert theory.htcp_growth(3, 0.02) == pytest.approx(22 / 5)
    assert theory.htcp_growth(3, 1) == pytest.approx(44)
    assert theory.htcp_growth(0.5, 0.02) == 1
    assert [theory.htcp_beta(0.1, longest) for longest in (0.1, 0.16, 0.5)] == [
        0.8,
        pytest.approx(0.625),
        0.5,
    ]


def test_htcp_is_reno_while_losses_are_close() -> None:
    assert theory.htcp_window(1e-2, 0.02) == pytest.approx(theory.reno_window(1e-2), rel=1e-3)
    assert theory.htcp_window(1e-5, 0.1) > 4 * theory.reno_window(1e-5)
    reno = theory.MATHIS_RANDOM / 1e-6**0.5
    assert theory.htcp_random_window(1e-6, 1e-5) == pytest.approx(reno, rel=0.005)


def test_cubic_is_no_faster_than_reno_where_windows_are_small() -> None:
    """Whole segments cost it, and that it looks at its Reno-friendly window only so often."""
    assert 0.8 < theory.cubic_random_window(1e-2, 0.01) / theory.reno_window(1e-2) < 0.9
    assert theory.cubic_random_window(1e-6, 1e-3) == pytest.approx(1.04 * theory.reno_window(1e-6), rel=0.01)
    assert theory.cubic_random_window(1e-5, 0.1) > 2.5 * theory.reno_window(1e-5)


def test_a_sawtooths_mean_over_its_peak() -> None:
    assert theory.sawtooth_mean(0) == 0.75
    assert theory.sawtooth_mean(1) == pytest.approx(theory.sawtooth_mean(1 - 1e-9), rel=1e-6)


def test_jain_of_his_own_example() -> None:
    # Ten dollars to 100 people: 20 get 50 cents' worth, the index is the share that is served.
    assert theory.jain_index([1] * 20 + [0] * 80) == pytest.approx(0.2)
    assert theory.jain_index([5, 5, 5, 5]) == 1
