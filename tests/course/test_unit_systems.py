"""Sizes of a page in one unit system."""

from __future__ import annotations

import pytest

from tcptutor.authoring.unit_systems import unit_problems
from tcptutor.course.step import Step


@pytest.mark.parametrize(
    ("prose", "after_run", "is_problem"),
    [
        ("A window of 90 kB on a BDP of 1.25 MB.", "", False),
        ("A window of 64 KiB (65.5 kB). The BDP is 250 kB.", "", False),
        ("`iperf3 -w 64KiB`. The BDP is 250 kB.", "", False),
        ("A window of 64 KiB. The BDP is 250 kB.", "", True),
        ("A window of 64 KiB.", "", True),
        ("A window of 4096 bytes (4 KiB).", "", False),
        ("A window of 64 KiB (60 kB).", "", True),
    ],
)
def test_a_page_has_one_unit_system_for_sizes(prose: str, after_run: str, is_problem: bool) -> None:
    step = Step(id="page", title="A page", prose=prose, after_run=after_run)
    assert bool(list(unit_problems(step))) == is_problem
