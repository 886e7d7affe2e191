"""Predictions beside runs of Linux 6.12 in the guest, in regimes where models leave out what the experiment has."""

from __future__ import annotations

import pytest

from tcptutor.analysis import expect

from .synthetic import experiment

CLAIMED = 0.5
"""The widest tolerance that still says something."""

_LOSSY = {
    "rate": "60 Mbit/s",
    "delay": "50 ms",
    "loss": "0.5 %",
    "queue": "2 BDP",
    "duration": "15 s",
    "warmup": "3 s",
}
_SHORT = {
    "rate": "60 Mbit/s",
    "delay": "20 ms",
    "loss": "0.2 %",
    "queue": "2 BDP",
    "duration": "15 s",
    "warmup": "3 s",
}
_LINK = {"rate": "20 Mbit/s", "delay": "40 ms", "queue": "1 BDP", "warmup": "3 s"}

INSIDE: list[tuple[float, dict[str, str]]] = [
    (16.0, _LINK | {"delay": "20 ms", "algorithm": "cubic", "duplicate": "20 %"}),
    (9.115, _LINK | {"rate": "10 Mbit/s", "duplicate": "5 %"}),
    (17.38, _LINK | {"delay": "30 ms", "algorithm": "bbr", "duplicate": "10 %"}),
    (19.11, _LINK | {"algorithm": "cubic", "jitter": "5 ms"}),
    (18.54, _LINK | {"algorithm": "bbr", "jitter": "10 ms"}),
    (38.26, _LINK | {"rate": "40 Mbit/s", "delay": "30 ms", "algorithm": "cubic", "length": "100 B"}),
    (
        15.65,
        {
            "rate": "20 Mbit/s",
            "delay": "10 ms",
            "queue": "50 kB",
            "changes": "7 s delay=80 ms",
            "duration": "12 s",
        },
    ),
    (11.46, _LINK | {"delay": "20 ms", "changes": "6 s delay=120 ms", "algorithm": "cubic", "warmup": "2 s"}),
    (17.76, _LINK | {"queue": "0.1 BDP", "algorithm": "cubic", "duration": "15 s"}),
    (
        32.16,
        {
            "rate": "50 Mbit/s",
            "delay": "60 ms",
            "queue": "10 kB",
            "algorithm": "cubic",
            "duration": "20 s",
            "warmup": "6 s",
        },
    ),
    (12.32, _LINK | {"queue": "7 kB", "duration": "12 s"}),
    (
        8.795,
        {
            "rate": "10 Mbit/s",
            "delay": "30 ms",
            "queue": "6 kB",
            "algorithm": "cubic",
            "duration": "12 s",
            "warmup": "3 s",
        },
    ),
    (
        21.42,
        {
            "rate": "100 Mbit/s",
            "delay": "60 ms",
            "queue": "4 BDP",
            "tcp_rmem": "4096 131072 262144",
            "warmup": "3 s",
        },
    ),
    (
        6.43,
        {
            "rate": "20 Mbit/s",
            "delay": "100 ms",
            "queue": "4 BDP",
            "tcp_moderate_rcvbuf": "0",
            "warmup": "2 s",
        },
    ),
    (17.94, _LINK | {"algorithm": "bbr", "loss": "5 %", "loss_by": "firewall", "duration": "15 s"}),
    (
        22.34,
        _LINK
        | {"rate": "30 Mbit/s", "delay": "60 ms", "algorithm": "bbr", "loss": "10 %", "loss_by": "firewall"},
    ),
    (6.05, _LOSSY | {"algorithm": "veno"}),
    (8.54, _LOSSY | {"algorithm": "scalable"}),
    (5.35, _LOSSY | {"algorithm": "hybla"}),
    (10.56, _SHORT | {"algorithm": "hybla"}),
    (4.01, _LOSSY | {"algorithm": "vegas"}),
    (10.2, _LOSSY | {"algorithm": "westwood"}),
    (43.4, _SHORT | {"algorithm": "westwood"}),
    (9.08, _LOSSY | {"algorithm": "yeah"}),
    (24.1, _LOSSY | {"algorithm": "illinois"}),
    (56.5, _SHORT | {"algorithm": "illinois"}),
    (13.0, _LOSSY | {"algorithm": "bic"}),
    (15.42, _SHORT | {"algorithm": "bic", "loss": "1 %", "duration": "10 s", "warmup": "2 s"}),
    (9.34, _LINK | {"loss": "0.3 %", "offloads": "on"}),
    (13.17, _LINK | {"algorithm": "cubic", "reorder": "1 %", "duration": "10 s"}),
    (5.93, _LINK | {"algorithm": "cubic", "reorder": "2 %", "duration": "10 s"}),
    (12.48, _LINK | {"reorder": "1 %", "duration": "10 s"}),
    (5.35, _LINK | {"rate": "23.8 Mbit/s", "delay": "25.3 ms", "algorithm": "cubic", "jitter": "18.9 ms"}),
    (7.1, _LINK | {"rate": "7.64 Mbit/s", "delay": "46.7 ms", "algorithm": "htcp", "jitter": "21.7 ms"}),
]
"""Measured, Mbit/s."""

UNCLAIMED: list[tuple[float, dict[str, str], str]] = [
    (4.60, _LINK | {"algorithm": "bbr", "reorder": "2 %"}, "2 % of segments overtake others"),
    (26.3, _LINK | {"rate": "30.6 Mbit/s", "delay": "25.5 ms", "jitter": "16.2 ms"}, "a queue decides"),
    (1.41, _LINK | {"rate": "40 Mbit/s", "algorithm": "cubic", "length": "1 B"}, "writes of 1 bytes"),
    (
        9.34,
        _LINK | {"rate": "200 Mbit/s", "loss": "0.3 %", "offloads": "on"},
        "offloads: one loss takes a packet of many segments",
    ),
    (0.73, _LINK | {"queue": "3 kB"}, "a queue of 3 kB drops repairs"),
    (2.85, _LINK | {"queue": "6 kB", "duration": "12 s"}, "a queue of 6 kB drops repairs"),
    (
        0.0,
        _LINK | {"rate": "10 Mbit/s", "udp_streams": "1", "udp_rate": "12 Mbit/s"},
        "UDP sends more than the link",
    ),
]


@pytest.mark.parametrize(("mbps", "settings"), INSIDE)
def test_a_run_is_inside_a_tolerance_that_says_something(mbps: float, settings: dict[str, str]) -> None:
    binding = expect(experiment(**settings)).binding
    assert binding.tolerance <= CLAIMED
    assert mbps * 1e6 == pytest.approx(binding.throughput_bps, rel=binding.tolerance)


@pytest.mark.parametrize(("mbps", "settings", "why"), UNCLAIMED)
def test_nothing_is_claimed_where_the_models_are_blind(
    mbps: float, settings: dict[str, str], why: str
) -> None:
    """Each of these was far outside of a tolerance of 2 to 48 %."""
    expectation = expect(experiment(**settings))
    assert expectation.binding.tolerance == 1
    assert abs(mbps * 1e6 / expectation.binding.throughput_bps - 1) > 0.4
    assert why in expectation.note


def test_a_path_without_late_segments_or_small_writes_keeps_its_tolerance() -> None:
    plain = expect(experiment(**_LINK)).binding
    for more in ({"length": "64 KiB"}, {"offloads": "on"}, {"udp_streams": "1", "udp_rate": "1 Mbit/s"}):
        assert expect(experiment(**_LINK | more)).binding.tolerance <= plain.tolerance + 0.05


@pytest.mark.parametrize(
    ("length", "mbps"), [("1 B", 1.409), ("3 B", 4.177), ("12 B", 16.3), ("28 B", 36.43)]
)
def test_small_writes_are_claimed_on_the_virtual_clock_alone(length: str, mbps: float) -> None:
    made = experiment(**_LINK | {"rate": "60 Mbit/s", "length": length})
    assert expect(made).binding.tolerance == 1
    binding = expect(made, on_virtual_clock=True).binding
    assert binding.model == "writes"
    assert binding.tolerance <= CLAIMED
    assert mbps * 1e6 == pytest.approx(binding.throughput_bps, rel=0.02)


def test_jitter_is_claimed_below_half_of_the_delay_and_far_above_it() -> None:
    path = _LINK | {"rate": "24 Mbit/s", "delay": "25 ms", "duration": "10 s"}
    low, middle, high = (
        expect(experiment(**path | {"jitter": jitter})).binding for jitter in ("10 ms", "15 ms", "19 ms")
    )
    assert low.model == "link"
    assert high.model == "reordering"
    assert low.tolerance <= CLAIMED < middle.tolerance
    assert high.tolerance <= CLAIMED


def test_data_both_ways_behind_a_slow_reverse_path_is_not_claimed() -> None:
    """The forward link had 0.12 and 0.33 of what it carries."""
    both = {"streams": "2", "directions": "forward, reverse", "duration": "10 s"}
    slow = expect(experiment(**_LINK | both | {"reverse_rate": "2 Mbit/s"})).binding
    equal = expect(experiment(**_LINK | both | {"reverse_rate": "20 Mbit/s"})).binding
    assert equal.tolerance <= CLAIMED < slow.tolerance


def test_losses_in_a_row_that_a_full_queue_outlasts_are_claimed() -> None:
    path = {"rate": "6.29 Mbit/s", "delay": "9.2 ms", "queue": "64 kB", "duration": "10 s", "warmup": "3 s"}
    binding = expect(experiment(**path, loss="0.53 %", loss_burst="5")).binding
    assert binding.model == "link"
    assert pytest.approx(binding.throughput_bps, rel=binding.tolerance) == 6.016e6
    few = expect(experiment(**path | {"queue": "8 kB"}, loss="3 %", loss_burst="8")).binding
    assert few.tolerance > CLAIMED


@pytest.mark.parametrize(
    ("mbps", "settings"),
    [
        (4.608, {"rate": "5.64 Mbit/s", "delay": "22.9 ms", "queue": "12 kB", "bytes": "455 kB"}),
        (
            7.690,
            {
                "rate": "9.29 Mbit/s",
                "delay": "19.6 ms",
                "queue": "14 kB",
                "bytes": "221 kB",
                "algorithm": "cubic",
            },
        ),
    ],
)
def test_an_amount_that_meets_a_few_losses_is_claimed(mbps: float, settings: dict[str, str]) -> None:
    binding = expect(experiment(**settings, loss="1 %", warmup="0 s", duration="20 s")).binding
    assert binding.model == "completion"
    assert binding.tolerance <= CLAIMED
    assert mbps * 1e6 == pytest.approx(binding.throughput_bps, rel=binding.tolerance)


def test_an_amount_that_may_lose_its_last_segment_is_less_sure() -> None:
    short, long = (
        expect(experiment(rate="4.92 Mbit/s", delay="8.5 ms", queue="6 kB", bytes=size, warmup="0 s")).binding
        for size in ("325 kB", "3 MB")
    )
    assert pytest.approx(short.throughput_bps, rel=short.tolerance) == 3.334e6
    assert short.tolerance > long.tolerance
