"""Quantities of a run: the same whether its whole report is made or only its figures."""

from __future__ import annotations

import pytest

from tcptutor.analysis import report
from tcptutor.base import places
from tcptutor.course.measures import MEASURES, measured
from tcptutor.run import load
from tests.grading.evidence.student import RUNS

FILES = sorted([*RUNS.glob("*.tcprun"), *(places.assets() / "recorded").rglob("*.tcprun")])[::4]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_quantity_is_that_of_the_report(file) -> None:  # type: ignore[no-untyped-def]
    run = load(file)
    whole = report(run)
    assert {name: measured(name, run) for name in MEASURES} == {
        name: measure.compute(whole) for name, measure in MEASURES.items()
    }
