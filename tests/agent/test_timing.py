"""Samples that come late and samples that never come, and what a run says of them."""

from __future__ import annotations

import pytest

from tcptutor.agent.sampler import Timing
from tcptutor.run.plausible import PlausibilityChecks
from tests.conftest import Build

EVERY = [0.01 * tick for tick in range(401)]
"""The times of four seconds' samples."""


def _sampled(times: list[float], late: list[float]) -> Timing:
    timing = Timing(0.01)
    for t in times:
        timing.record_sample(t)
    for seconds in late:
        timing.record_wakeup(seconds)
    return timing


@pytest.mark.parametrize(
    ("times", "late", "told"),
    [
        (EVERY, [0.0001] * 400, []),
        # One at the start, and every second tick from then on: each of them in time.
        (EVERY[::2], [0.0001] * 200, ["50% of the samples are missing"]),
        (EVERY[:101] + EVERY[130:], [0.0001] * 371, ["no samples for 0.30 s"]),
        ([], [], []),
    ],
)  # fmt: skip
def test_what_is_told_of_the_samples_times(
    build: Build, times: list[float], late: list[float], told: list[str]
) -> None:
    watch = PlausibilityChecks(build(rate="10 Mbit/s"))
    watch.check_sampling(_sampled(times, late).counts)
    assert watch.verdict().reasons == tuple(f"{one}: the machine is too busy" for one in told)


@pytest.mark.parametrize(
    ("settings", "late", "doubted"),
    [
        ({"delay": "20 ms"}, 0.003, False),  # 0.45 ms on average: 2 % of the RTT
        ({"delay": "20 ms"}, 0.010, True),  # 1.3 ms, 6 %
        ({"delay": "200 ms"}, 0.010, False),
        ({"delay": "2 ms"}, 0.003, True),
        # No timer of the path is in the way of these: whether the link kept its rate is asked of its queue.
        ({"rate": "10 Mbit/s"}, 0.010, False),
        ({"rate": "10 Mbit/s", "maxrate": "2 Mbit/s"}, 0.003, True),
        ({"delay": "200 ms", "algorithm": "bbr"}, 0.003, True),
    ],
)  # fmt: skip
def test_late_timers_are_a_doubt_where_they_change_what_the_path_does(
    build: Build, settings: dict[str, str], late: float, doubted: bool
) -> None:
    watch = PlausibilityChecks(build(**settings))
    watch.check_sampling(_sampled(EVERY, [0.0001] * 350 + [late] * 50).counts)
    reasons = watch.verdict().reasons
    assert bool(reasons) == doubted
    assert all(reason.startswith("12% of the timers were more than 2 ms late") for reason in reasons)


def test_few_late_timers_are_no_doubt(build: Build) -> None:
    watch = PlausibilityChecks(build(delay="2 ms"))
    watch.check_sampling(_sampled(EVERY, [0.0001] * 370 + [0.010] * 30).counts)
    assert watch.verdict().reasons == ()


def test_the_missing_are_a_share_of_those_that_were_due() -> None:
    assert _sampled([0.0, 0.01, 0.03, 0.09], []).missing == pytest.approx(6 / 10)
    # A real clock shakes: the last sample may be a little before its tick.
    assert _sampled([0.0, 0.0101, 0.0199], []).missing == 0
