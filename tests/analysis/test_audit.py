"""No clause is printed that the samples do not show, over runs of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tcptutor.analysis import report
from tcptutor.analysis.compared.reasons import RULES
from tcptutor.run import load

from . import audit, grid
from .synthetic import experiment, run_of

TWO_LINKS = Path(__file__).parents[2] / "assets/recorded/parallel-streams/two-bottlenecks.tcprun"
RUNS = 2000
SHARES = 20
"""Tests that the runs are parted into."""


def test_every_clause_and_every_reason_has_an_auditor() -> None:
    assert audit.clauses() == set(audit.AUDITS)
    assert {rule.__name__ for rule in RULES} == set(audit.REASONS)


def test_an_auditor_finds_what_is_false() -> None:
    run = run_of(experiment(), 17e6)
    for said in (
        "the bottleneck is full, its queue adds 5 ms",
        "the bottleneck's short queue overflows: 3 dropped, 273 sent again",
        "fq paces each flow at 9.5 Mbit/s",
        "the window was still growing, 3-fold in this time",
        "random loss, 0.1 %, cut the window 3 times",
        "a new clause that nobody looks at",
        "not explained: the samples show no limit; the link is 78 % used",
    ):
        assert audit.sentence(run, said, [0]), said
    assert not audit.sentence(run, "not explained: the samples show no limit; the link is 18 % used", [0])


@pytest.mark.parametrize("share", range(SHARES))
def test_explanations_of_generated_runs_are_true(share: int) -> None:
    told: set[str] = set()
    for number in range(share * RUNS // SHARES, (share + 1) * RUNS // SHARES):
        run = grid.run(number)
        result = report(run)
        false = list(audit.problems(run, result))
        assert not false, (number, false)
        told.add(result.verdict.limited_by)
    assert len(told) >= 7


def test_explanations_of_two_links_are_true() -> None:
    run = load(TWO_LINKS)
    assert list(audit.problems(run, report(run))) == []
    faster = replace(
        run, experiment=replace(run.experiment, path=replace(run.experiment.path, second_rate=2e7))
    )
    assert list(audit.problems(faster, report(run))), "the second link of this one is half full"
