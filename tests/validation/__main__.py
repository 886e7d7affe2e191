"""`python -m tests.validation [STUDY...]` runs what is missing; `... report` writes the page; `... again` runs some
cells once more and compares them with what is kept; `... kinds` judges fresh experiments of every kind; `... limits`
compares verdicts with counterfactual runs; `... hostqueues` counts what the senders' kernels withheld in the course;
`... honest` draws students' runs and counts those that grading's rules of physics call impossible; `... perfect` does
the whole course as some students and prints the marks that they miss."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tcptutor.base.errors import TutorError
from tests.validation import again, honest, hostqueues, kinds, limits, perfect, plan, sweep

_ALONE = ("report", "again", "kinds", "limits", "hostqueues", "honest", "perfect")
"""Names that are no studies, each given alone."""


def main() -> int:
    names = list(plan.studies())
    parser = argparse.ArgumentParser(prog="python -m tests.validation", description=__doc__)
    parser.add_argument(
        "study",
        nargs="*",
        help=f"{', '.join(_ALONE)}, list, or some of {', '.join(names)}; all when left out, in that order",
    )
    parser.add_argument("-j", "--jobs", type=int, help="guests at a time (one for each core)")
    parser.add_argument(
        "--cells",
        type=int,
        help="how many `again`, `kinds`, `limits` or `honest` runs, `perfect` students (20, 100, 60, 100, 3)",
    )
    parser.add_argument("--seed", type=int, default=1, help="what `kinds`, `limits` and `honest` draw (1)")
    parser.add_argument(
        "--kind", default="", help="a part of the names that `limits` draws and `hostqueues` runs (all)"
    )
    parser.add_argument(
        "--folder", type=Path, action="append", default=[], help="more runs that `honest` checks (none)"
    )
    asked = parser.parse_args()
    unknown = set(asked.study) - {*names, *_ALONE, "list"}
    if unknown:
        parser.error(f"no study {min(unknown)!r}: the studies are {', '.join(names)}")
    if len(asked.study) > 1 and (alone := set(_ALONE) & set(asked.study)):
        parser.error(f"{min(alone)!r} stands alone: leave out the others")
    if asked.cells is not None and asked.cells < 1:
        parser.error(f"--cells {asked.cells}: take at least one")
    try:
        if "list" in asked.study:
            return _list()
        if asked.study == ["report"]:
            from tests.validation import page

            return page.write()
        if asked.study == ["again"]:
            return again.run(asked.cells or 20, asked.jobs)
        if asked.study == ["kinds"]:
            return kinds.run(asked.seed, asked.cells or 100, asked.jobs)
        if asked.study == ["limits"]:
            return limits.run(asked.seed, asked.cells or 60, asked.jobs, asked.kind)
        if asked.study == ["honest"]:
            return honest.run(asked.seed, asked.cells or 100, asked.folder)
        if asked.study == ["perfect"]:
            return perfect.run(asked.cells or 3)
        if asked.study == ["hostqueues"]:
            return hostqueues.run(asked.jobs, asked.cells, asked.kind)
        return sweep.run(asked.study or names, asked.jobs)
    except TutorError as error:
        print(f"validation: {error}", file=sys.stderr)
        return error.exit_code


def _list() -> int:
    for name, study in plan.studies().items():
        seconds = sum(plan.cost(cell.experiment) for cell in study.cells())
        print(
            f"{name:12} {len(study.points):3} cells  about {seconds / 60:4.0f} minutes of one core  {study.title}"
        )
    return 0


sys.exit(main())
