"""Throughput from counted bytes: even over whole round trips, and never more than what was counted."""

from __future__ import annotations

import math
from math import isnan

import pytest

from tcptutor.ui.widgets.chart import axes, strips
from tcptutor.ui.widgets.chart.history import STEPS, ByteCount, History

from .lives import ended, live_of, scene, stored

SECONDS = 8.0
STEP = SECONDS / STEPS


def counted(points: list[tuple[float, float]]) -> ByteCount:
    count = ByteCount(STEPS)
    for t, value in points:
        count.add(min(STEPS - 1, int(t / STEP)), t, value)
    return count


def known(values: object) -> list[float]:
    return [value for value in values if not isnan(value)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("spacing", [0.01, 0.023, 0.05])
@pytest.mark.parametrize("rtt", [0.02, 0.1, 0.163, 0.4])
def test_a_window_sent_once_a_round_trip_has_an_even_rate(rtt: float, spacing: float) -> None:
    """Bursts of one window each RTT, counted off the beat."""
    window = 100_000
    times = [at * spacing for at in range(int(SECONDS / spacing))]
    rates = known(counted([(t, window * int(t / rtt)) for t in times]).rates(0.0, STEP, [rtt] * STEPS))
    assert len(rates) > 0.95 * STEPS
    mean = 8 * window / rtt
    columns = [sum(rates[at : at + 18]) / 18 for at in range(0, len(rates) - 18, 18)]
    # What is left comes from counts taken up to one spacing after a burst. Single steps jump by up to 100 %.
    assert max(abs(column / mean - 1) for column in columns[4:-4]) < 0.17


def test_a_count_that_comes_late_is_no_faster() -> None:
    """The receiver's last report may come after the end, and falls into the last step."""
    even = [(t / 5 + 0.02, 1.0e5 * (t / 5 + 0.02)) for t in range(1, 41)]
    assert even[-1][0] > SECONDS
    for trips in ((), [0.5] * STEPS):
        rates = known(counted(even).rates(0.0, STEP, trips))
        assert rates == pytest.approx([8e5] * len(rates), rel=1e-6)


@pytest.mark.parametrize("rtt", [5e-324, 1e-300, 1e-9, 0.0, math.nan])
def test_a_tiny_or_unknown_rtt_leaves_the_rate_as_it_is(rtt: float) -> None:
    points = [(t / 20, 1.0e5 * t / 20) for t in range(160)]
    rates = known(counted(points).rates(0.0, STEP, [rtt] * STEPS))
    assert rates == pytest.approx([8e5] * len(rates), rel=1e-6)


def test_udp_never_arrives_faster_than_its_link() -> None:
    live = live_of(stored("../tcp-basics/without-acks"))
    shown = scene(live)
    rate = live.run.experiment.path.rate
    (curve,) = shown.curves
    assert rate is not None
    assert max(known(curve.high)) * 1e6 < rate
    assert known(curve.high)[-1] * 1e6 == pytest.approx(live.run.udp[0].received_bps, rel=0.01)


@pytest.mark.parametrize("name", ["two-segments-at-a-time", "a-larger-window", "a-buffer-that-grows"])
@pytest.mark.parametrize("width", [60, 78, 110])
def test_a_steady_window_has_a_level_strip(name: str, width: int) -> None:
    """One bin of 163 ms has one burst of a flow of 100 ms, the next two."""
    shown = scene(ended(f"../tcp-basics/{name}"))
    across = axes.columns(width)
    found = strips.levels(shown.series["throughput"], across, 7)
    settled = found[across // 4 : -1]
    assert max(settled) - min(settled) == 0, settled


def test_part_of_a_run_has_the_same_rates_up_to_its_ends() -> None:
    live = ended("../tcp-basics/a-larger-window")
    whole, part = History(live.run.experiment.seconds), History(1.0, 4.0)
    for history in (whole, part):
        history.follow(live.run)
    rates = known(part.throughput(0))
    assert len(rates) == STEPS
    steady = whole.throughput(0)[STEPS // 2]
    assert rates == pytest.approx([steady] * STEPS, rel=0.05)
    assert part.until == 5.0
