"""Comparison of any two runs: settings that differ, and their results side by side."""

from __future__ import annotations

import msgspec

from tcptutor.analysis import is_parameter_known, what_if
from tcptutor.analysis.compared.what_if import Row, WhatIf, limits, rows, sentence
from tcptutor.base import units
from tcptutor.course.experiments import differing
from tcptutor.run import Run

_SAME = "same"
"""Change of a result that is equal in both runs."""
_SHARED_S = 0.1
"""Seconds that two runs have in common, from which it is worth saying."""


class SettingDifference(msgspec.Struct, frozen=True):
    """A setting, or another condition of a run, in which two runs differ."""

    name: str
    one: str
    other: str


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Differences between two runs."""

    settings: tuple[SettingDifference, ...]
    results: tuple[Row, ...]
    """Rows of label, value of either run, and change; equal results are left out."""
    same: tuple[str, ...]
    """Labels of the equal results."""
    history: str
    """Sentence on how long both are equal to the byte; empty if they differ from the start."""
    figures: WhatIf
    """The comparison in numbers."""


def compare(one: Run, other: Run) -> RunComparison:
    """Compare two runs. Reads all samples; call it in a thread."""
    found = what_if(one, other)
    results = [*rows(found.figures), limits(found)] if found.figures else []
    return RunComparison(
        settings=tuple(_differences(one, other)),
        results=tuple(row for row in results if not _is_same(row)),
        same=tuple(row[0] for row in results if _is_same(row)),
        history=sentence(found, one, other) if (found.shared.until or 0.0) >= _SHARED_S else "",
        figures=found,
    )


def _is_same(row: Row) -> bool:
    """Return True if both values are equal, or as shown: 100 % twice is no difference to show."""
    return row[3] == _SAME or row[1] == row[2]


def _differences(one: Run, other: Run) -> list[SettingDifference]:
    here, there = differing(one.experiment, other.experiment), differing(other.experiment, one.experiment)
    found = [
        SettingDifference(name, _known(one, name, text), _known(other, name, there[name]))
        for name, text in here.items()
    ]
    conditions, others = _conditions(one), _conditions(other)
    differ = [
        SettingDifference(name, text, others[name])
        for name, text in conditions.items()
        if text != others[name]
    ]
    # The experiment's name comes before its settings, the lab after them.
    is_first = [each.name == "experiment" for each in differ[:1]] == [True]
    return [*differ[:is_first], *found, *differ[is_first:]]


def _known(run: Run, name: str, text: str) -> str:
    """Return the text of a setting, or a dash if an imported run lacks it."""
    return text if is_parameter_known(run, name) else units.UNKNOWN


def _conditions(run: Run) -> dict[str, str]:
    environment = run.environment
    return {
        "experiment": run.experiment.name,
        "seed": str(run.experiment.seed),
        "lab": f"{environment.backend}, {environment.clock} clock",
        "kernel": environment.system,
        "fidelity": run.fidelity.status,
        "complete": "yes" if run.complete else "cut short",
    }
