"""Samples that come late and samples that never come, and what a run says of them."""

from __future__ import annotations

import pytest

from tcptutor.agent.sampler import Timing
from tcptutor.run.plausible import Plausible
from tests.conftest import Build

EVERY = [0.01 * tick for tick in range(401)]
"""The times of four seconds' samples."""


def _sampled(times: list[float], late: list[float]) -> Timing:
    timing = Timing(0.01)
    for t in times:
        timing.took(t)
    for seconds in late:
        timing.woke(seconds)
    return timing


@pytest.mark.parametrize(
    ("times", "late", "told"),
    [
        (EVERY, [0.0001] * 400, []),
        (EVERY, [0.0001] * 352 + [0.003] * 48, ["12% of the timers were more than 2 ms late"]),
        # One at the start, and every second tick from then on: each of them in time.
        (EVERY[::2], [0.0001] * 200, ["50% of the samples are missing"]),
        (EVERY[:101] + EVERY[130:], [0.0001] * 371, ["no samples for 0.30 s"]),
        ([], [], []),
    ],
)  # fmt: skip
def test_what_is_told_of_the_samples_times(
    build: Build, times: list[float], late: list[float], told: list[str]
) -> None:
    watch = Plausible(build(rate="10 Mbit/s"))
    watch.sampling(_sampled(times, late).counts)
    assert watch.verdict().reasons == tuple(f"{one}: the machine is too busy" for one in told)


def test_the_missing_are_a_share_of_those_that_were_due() -> None:
    assert _sampled([0.0, 0.01, 0.03, 0.09], []).missing == pytest.approx(6 / 10)
    # A real clock shakes: the last sample may be a little before its tick.
    assert _sampled([0.0, 0.0101, 0.0199], []).missing == 0
