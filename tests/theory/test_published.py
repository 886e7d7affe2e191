"""Every model against the tables and examples that its authors published."""

from __future__ import annotations

import math

import pytest

from tcptutor import theory

# RFC 8312, table 1 (RTT 0.1 s) and 2 (0.01 s), column C = 0.4; the RFC rounds Reno's 1.2247 to 1.2.
CUBIC_100_MS = {1e-2: 12, 1e-3: 38, 1e-4: 187, 1e-5: 1054, 1e-6: 5926, 1e-7: 33325, 1e-8: 187400}
CUBIC_10_MS = {1e-2: 12, 1e-3: 38, 1e-4: 120, 1e-5: 379, 1e-6: 1200, 1e-7: 5926, 1e-8: 33325}

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


def test_slow_start_doubles() -> None:
    assert theory.slow_start_duration(160, 0.05) == pytest.approx(0.2)
    assert theory.slow_start_duration(8, 0.05) == 0
    assert theory.slow_start_duration(64, 1, initial=1) == pytest.approx(6)


def test_htcp_alpha() -> None:
    assert theory.htcp_alpha(0) == theory.htcp_alpha(1) == 1
    assert theory.htcp_alpha(3) == pytest.approx(1 + 20 + 1)
    assert theory.htcp_alpha(3, beta=0.8) == pytest.approx(0.4 * 22)


def test_htcp_is_reno_while_losses_are_close() -> None:
    assert theory.htcp_window(1e-2, 0.02) == pytest.approx(theory.reno_window(1e-2), rel=1e-3)
    assert theory.htcp_window(1e-5, 0.1) > 4 * theory.reno_window(1e-5)


def test_jain_of_his_own_example() -> None:
    # Ten dollars to 100 people: 20 get 50 cents' worth, the index is the share that is served.
    assert theory.jain_index([1] * 20 + [0] * 80) == pytest.approx(0.2)
    assert theory.jain_index([5, 5, 5, 5]) == 1
