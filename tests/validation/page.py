"""assets/documentation/validation.md from the kept results and page.md: every number in it is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from string import Template

from tcptutor import theory
from tcptutor.commands import output
from tests.validation import figures, judge, kept, meeting, models, plan, simulated, tables
from tests.validation.kept import Result

PAGE = kept.ROOT / "assets/documentation/validation.md"
PLOTS = kept.ROOT / "assets/documentation/validation"
_SETS = {"meeting": "Two limits", "single": "One limit"}
TEMPLATE = Path(__file__).parent / "page.md"


def write() -> int:
    found = kept.results()
    made = figures.draw(found, PLOTS)
    PAGE.write_text(text(found), encoding="utf-8")
    simulated.KEPT.keep()
    print(f"{PAGE.relative_to(kept.ROOT)} and {len(made)} plots")
    return 0


def text(found: Sequence[Result]) -> str:
    """The page; a table whose cells are not there yet says so."""
    values = {**_numbers(found), **_constants(), **_tables(found)}
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(values)


def _tables(found: Sequence[Result]) -> dict[str, str]:
    return {
        "goal": tables.regimes(models.MODELS, found),
        "others": tables.regimes(models.OTHERS, found),
        "laws": tables.laws(found),
        "stops": tables.stops(found),
        "why": tables.why(found),
        "knees": tables.knees(found),
        "regimes": tables.loads(found),
        "figure10": tables.figure10(found),
        "limits": tables.limits(found),
        "figure3": tables.figure3(found),
        "cells": _cells(found),
        "meeting": _meeting(),
        "verdict": _verdict(found),
    }


def _constants() -> dict[str, str]:
    return {
        "mathis_random": f"{theory.MATHIS_RANDOM}",
        "mathis_random_delayed": f"{theory.MATHIS_RANDOM_DELAYED}",
        "mathis_periodic": f"{theory.MATHIS_PERIODIC:.4f}",
        "more": f"{judge.MORE:.0%}",
        "congested": f"{judge.CONGESTED}",
    }


def _numbers(found: Sequence[Result]) -> dict[str, str]:
    commits = Counter(one.commit for one in found)
    return {
        "done": str(len(found)),
        "planned": str(sum(len(study.points) for study in plan.studies().values())),
        "lab_hours": f"{sum(one.row.experiment_s for one in found) / 3600:.1f}",
        "core_hours": f"{sum(one.row.wall_s for one in found) / 3600:.1f}",
        "events": f"{sum(one.events for one in found):,}",
        "kernels": ", ".join(sorted({one.row.kernel for one in found})),
        "commits": ", ".join(f"{name} ({output.count(number, 'cell')})" for name, number in commits.items()),
        "missing": _missing(found),
    }


def _meeting() -> str:
    """A table for each kept file of drawn experiments."""
    parts = []
    for path in sorted(kept.RESULTS.glob("drawn-*.jsonl.gz")):
        name, seed = path.name.removesuffix(".jsonl.gz").split("-")[1:]
        scores = [meeting.score(one) for one in meeting.read(path)]
        lines = "\n".join(meeting.table(scores))
        parts.append(f"{_SETS[name]}, seed {seed}:\n\n{lines}")
    return "\n\n".join(parts) or "Not run yet."


def _verdict(found: Sequence[Result]) -> str:
    missed = [one for one in tables.compared(models.MODELS, found) if one.median > judge.GOAL]
    told = ", ".join(f"{one.model.label} ({one.median:.1%})" for one in missed)
    return f"These miss it: {told}." if missed else "Every model reaches it."


def _missing(found: Sequence[Result]) -> str:
    there = Counter(one.study for one in found)
    left = {name: len(study.points) - there[name] for name, study in plan.studies().items()}
    told = ", ".join(f"{name} {count}" for name, count in left.items() if count)
    return f"not run yet: {told}." if told else "none are missing."


def _cells(found: Sequence[Result]) -> str:
    """What says nothing, what is doubtful, what is short, what is missing."""
    every = tables.compared(models.MODELS, found)
    out = sorted({f"{_name(one.result)}: {one.reason}" for each in every for one in each.excluded})
    doubtful = [one for one in found if one.row.fidelity != "valid"]
    few = [one for one in found if models.loss(one) and _losses(one) < 100 and one.study != "figure3"]
    parts = [
        _list("Excluded from a comparison", out),
        _list(
            "Cells whose fidelity is not valid",
            [f"{_name(one)}: {one.row.fidelity}: {'; '.join(one.row.reasons)}" for one in doubtful],
        ),
        _list(
            "Cells with fewer than 100 loss events (figure 3 excepted)",
            [f"{_name(one)}: {_losses(one)}" for one in few],
        ),
        f"Missing cells: {_missing(found)}",
    ]
    return "\n\n".join(parts)


def _losses(one: Result) -> int:
    """Loss events; of BBR, which is in recovery all the time, the segments that it sent again."""
    return one.row.retransmits if one.experiment.hosts.algorithm == "bbr" else one.events


def _name(one: Result) -> str:
    return f"{one.study}, {tables.where(one)}"


def _list(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return f"{title}: none."
    return "\n".join([f"{title}:", "", *(f"- {line}" for line in lines)])
