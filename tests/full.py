"""Tests that only `pytest --full` runs, with the reason for each.

A plain run is the same set every time: every test that is not listed here, and of a listed test the parameters that
match `plain`. Who names a test gets it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

import pytest

UNMATCHED = pytest.StashKey[list[str]]()
"""Names and patterns of the table that matched no test of this run's files."""


class FullOnly(NamedTuple):
    """A test that a plain run leaves out, in whole or in part."""

    reason: str
    plain: tuple[str, ...] = ()
    """Patterns of the parameter ids that a plain run takes all the same; none when empty."""


_LAW = "a minute or two of one processor for the loss law; a plain run checks it once, with the design's own command"
_BOOT = "boots a guest of its own, half a minute"
_DAMAGE = "every kind of damage is read in one file of each reader"

FULL_ONLY = {
    "tests/analysis/test_audit.py::test_what_is_said_of_a_run_is_true": FullOnly(
        "two thousand runs, each explained and audited; a hundred have every kind", ("0",)
    ),
    "tests/backends/test_by_hand.py::test_the_goals_of_a_page_are_reached_by_its_lines": FullOnly(
        "sends for some seconds per goal on the real clock, half a minute a page", ("tcp-basics/window-by-hand",)
    ),
    "tests/backends/test_coarse_clock.py::test_a_clock_that_moves_in_ticks": FullOnly(_BOOT),
    "tests/backends/test_fidelity.py::test_a_trace_that_loses_acks": FullOnly(
        "a minute and a half of one processor, more than the other faults together"
    ),
    "tests/backends/test_goals.py::test_each_near_miss_is_explained_when_it_is_made": FullOnly(
        "types forty slips into a guest, some seconds each; a plain run reads recordings of them"
    ),
    "tests/backends/test_guest.py::test_eight_lossy_flows_carry_eight_times_one": FullOnly(_LAW),
    "tests/backends/test_guest.py::test_one_reno_flow_follows_mathis_and_the_path_takes_its_delay": FullOnly(_LAW),
    "tests/backends/test_limits.py::test_a_larger_guest_has_memory_for_the_published_path": FullOnly(_BOOT),
    "tests/backends/test_traps.py::test_a_fault_is_found_and_only_what_mends_it_ticks_the_goals": FullOnly(
        "finds and fixes a fault by hand on the real clock, half a minute each", ("narrow-hop",)
    ),
    "tests/course/test_claims_in_lab.py::test_the_claims_of_a_page_hold_in_the_lab": FullOnly(
        "half an hour of guests for all pages; these two take seconds",
        ("congestion-algorithms/slow-start", "parallel-streams/two-beat-eight"),
    ),
    "tests/course/test_hostile.py::test_a_hostile_file_costs_only_itself": FullOnly(
        "reads and lints a course for each of 25 contents of five files; all contents of a page, two of the others",
        ("page-*", "*-empty", "*-a folder"),
    ),
    "tests/extremes/test_extremes.py::test_an_extreme_run_says_what_is_so": FullOnly(
        "some seconds of a guest each; `python -m tests.extremes` draws more",
        ("rate", "loss", "streams,udp_streams"),
    ),
    "tests/faults/test_damaged.py::test_commands_go_on_and_say_one_line": FullOnly(
        "three commands on each of six damaged journals; each damage once, each command twice",
        ("text-*", "flipped bits-*", "*-runs"),
    ),
    "tests/faults/test_early.py::test_a_signal_in_the_first_second": FullOnly(
        "eleven moments of each signal: before Python is ready, while it imports, and after",
        ("0.02-*", "0.2-*", "0.6-*"),
    ),
    "tests/faults/test_ends.py::test_one_line_and_the_right_exit_code": FullOnly(
        "every command in each of 47 odd surroundings; one of each kind",
        (
            "nothing odd", "all closed", "both full", "both readers gone", "HOME unset", "HOME unwritable",
            "HOME a file", "HOME of odd bytes", "XDG relative", "XDG a device", "journal a folder", "runs unreadable",
            "umask 777", "folder gone", "TERM unset", "LANG unknown", "ASCII, strict", "PATH empty",
        ),
    ),
    "tests/faults/test_killed.py::test_a_run_killed_at_a_random_moment": FullOnly(
        "forty kills, each with two starts of a lab; two of each backend, one of each victim", ("*-0", "*-1")
    ),
    "tests/faults/test_killed.py::test_the_app_killed_at_a_random_moment": FullOnly(
        "starts the app twice each; one kill after samples came", ("1",)
    ),
    "tests/faults/test_unwritable.py::test_a_command_that_could_keep_nothing_ends_with_1": FullOnly(
        "six commands by three reasons; each command on a full disk, each reason once", ("*-full", "run-*")
    ),
    "tests/fuzz/test_fuzz.py::test_a_reader_takes_or_refuses_mutated_files": FullOnly(
        "two hundred files for each reader; fifty in a plain run, and `python -m tests.fuzz` takes any others", ("*-0",)
    ),
    "tests/install/test_damaged_cache.py::test_a_damaged_file_is_told": FullOnly(
        _DAMAGE, ("*-image/base.cpio", "*-virtual.snapshot")
    ),
    "tests/install/test_damaged_cache.py::test_a_damaged_manifest_is_told": FullOnly(
        _DAMAGE, ("*-image/image.json", "empty-virtual.json", "a FIFO-virtual.json")
    ),
    "tests/install/test_damaged_cache.py::test_a_manifest_of_another_shape_is_told": FullOnly(
        _DAMAGE, ("*-virtual.json", "null-image/image.json", "half-image/image.json")
    ),
    "tests/validation/test_validation.py::test_a_few_cells_agree_with_their_models_and_with_the_kept_ones": FullOnly(
        _LAW
    ),
    "tests/validation/test_validation.py::test_the_kept_simulations_come_out_again": FullOnly(
        "a minute of arithmetic without chance; each law and algorithm once", ("* 0.01 0.0301",)
    ),
}  # fmt: skip
"""By the test's name, without its parameters."""


def plain(nodeid: str) -> bool:
    """Whether a plain run takes the test with this id."""
    name, _, parameters = nodeid.partition("[")
    listed = FULL_ONLY.get(name)
    return listed is None or any(fnmatchcase(parameters.removesuffix("]"), each) for each in listed.plain)


def unmatched(nodeids: Iterable[str]) -> list[str]:
    """Names and patterns of the table that match none of `nodeids`, which are those of whole files."""
    ids = [nodeid.partition("[") for nodeid in nodeids]
    files = {name.partition("::")[0] for name, _, _ in ids}
    found = []
    for name, listed in FULL_ONLY.items():
        if name.partition("::")[0] in files:
            parameters = [rest.removesuffix("]") for other, _, rest in ids if other == name]
            found += [] if parameters else [name]
            found += [
                f"{name}[{each}]" for each in listed.plain if not any(fnmatchcase(one, each) for one in parameters)
            ]
    return found
