"""Which tests a plain run leaves out, or takes a share of, and why. `pytest --full` runs them all.

A share is chosen by the commit's hash, so that over the commits all come along; the tests' first lines say which.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Left(NamedTuple):
    shares: int
    """A plain run takes one of so many; none of them where it is 0."""
    reason: str


ONCE = "a minute or two of one processor for the loss law; a plain run asks it once, with the design's own command"

LEFT_OUT = {
    "tests/backends/test_guest.py::test_one_reno_flow_follows_mathis_and_the_path_takes_its_delay": Left(
        0, ONCE
    ),
    "tests/backends/test_guest.py::test_eight_lossy_flows_carry_eight_times_one": Left(0, ONCE),
    "tests/validation/test_validation.py::test_a_few_cells_agree_with_their_models_and_with_the_kept_ones": Left(
        0, ONCE
    ),
    "tests/course/test_claims_in_lab.py::test_the_claims_of_every_page_hold_in_the_lab": Left(
        0, "half an hour of guests; a plain run asks a share of the pages that the lessons' content chooses"
    ),
    "tests/analysis/test_audit.py::test_what_is_said_of_a_run_is_true": Left(
        20, "two thousand runs, each judged and read again. Twenty shares: each of them has every kind"
    ),
    "tests/backends/test_coarse_clock.py::test_a_clock_that_moves_in_ticks": Left(
        3, "boots a kernel of its own, which takes half a minute"
    ),
    "tests/backends/test_limits.py::test_a_larger_guest_has_memory_for_the_published_path": Left(
        3, "boots a guest of its own, which takes half a minute, and carries up to 10 Gbit/s"
    ),
    "tests/backends/test_goals.py::test_each_near_miss_is_explained_when_it_is_made": Left(
        4, "types forty slips into a guest, some seconds each. Four shares, each in one guest"
    ),
    "tests/backends/test_traps.py::test_a_fault_is_found_and_only_what_mends_it_ticks_the_goals": Left(
        3, "finds and mends a fault by hand, on the real clock: half a minute each"
    ),
    "tests/backends/test_by_hand.py::test_the_goals_of_a_page_are_reached_by_its_lines": Left(
        8, "sends for some seconds a goal, on the real clock: half a minute a page"
    ),
    "tests/faults/test_killed.py::test_a_run_killed_at_a_random_moment": Left(
        5, "forty kills, each with two starts of a lab. Five shares: each of them has every victim"
    ),
    "tests/faults/test_killed.py::test_the_app_killed_at_a_random_moment": Left(
        2, "each starts the app twice. Two shares: the first has the kill before any sample came"
    ),
    "tests/validation/test_validation.py::test_the_kept_simulations_come_out_again": Left(
        20, "nothing in them is by chance. Twenty shares: each of them has every law and algorithm"
    ),
}
"""By the test's name, without its parameters."""


@cache
def commit() -> str:
    """The hash of this checkout's commit; zeros where there is no repository."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--verify", "HEAD"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "0" * 40


def share(shares: int) -> int:
    """Which of so many shares is this commit's, from 0 on."""
    return int(commit(), 16) % shares


def plain(name: str, place: int) -> bool:
    """Whether a plain run takes the test: `place` is its place among those of its name, from 0 on."""
    left = LEFT_OUT.get(name)
    return left is None or (left.shares > 0 and place % left.shares == share(left.shares))


def said() -> list[str]:
    """A line for each test of which there is only a part."""
    return [
        f"{name.rpartition('::')[2]}: "
        + (f"share {share(left.shares) + 1} of {left.shares}" if left.shares else "left out")
        for name, left in LEFT_OUT.items()
    ]
