"""The table of what the course claims of runs, and what runs have: assets/documentation/claims.md.

`python -m tests.documentation claims` writes it from the runs that `tcptutor lint --run` keeps; with names of pages
it writes the tables of these pages and leaves the others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from tcptutor.authoring.page_claims import PageClaim, page_claims
from tcptutor.base import places
from tcptutor.commands.lint import ClaimResult, ClaimRuns
from tcptutor.course.outline import pages
from tcptutor.fleet.run_cache import RunCache

PAGE = Path(__file__).parents[2] / "assets/documentation/claims.md"
COLUMNS = "| claim | of | measured, a value a seed | |"

_HEAD = """# What the pages claim of runs, and what runs have

Written by `python -m tests.documentation claims` from the runs that `tcptutor lint --run` has made: on the guest's
virtual clock, each claim with as many seeds as it asks for. What draws no random numbers has, in place of another seed,
a delay that is longer by a twentieth of a percent. Formulas are worked out, not run.
"""


def claims() -> list[PageClaim]:
    """All of the course."""
    root = places.lessons()
    return list(page_claims(root, pages(root)))


def results(names: Collection[str] = ()) -> list[ClaimResult]:
    """Return what kept runs say of the claims of these pages, by default of all, in the order of the course.

    Raises LabUnavailable without a guest.
    """
    runs = ClaimRuns(RunCache())
    return [
        result
        for name, page in groupby(claims(), key=attrgetter("page"))
        if not names or name in names
        for result in runs.results(list(page))
    ]


def page(found: list[ClaimResult], before: str = "") -> str:
    """Return claims.md with these results; pages without one keep their table in `before`."""
    every = claims()
    tables = {
        text.partition("\n")[0]: text.rstrip() for text in re.split("^## ", before, flags=re.MULTILINE)[1:]
    }
    for name, group in groupby(found, key=lambda each: each.of.page):
        tables[name] = "\n".join([name, "", COLUMNS, "| --- | --- | --- | --- |", *map(_row, group)])
    text = "\n\n".join(
        f"## {tables[name]}" for name in dict.fromkeys(each.page for each in every) if name in tables
    )
    wrong = sum(verdict != "holds" for _, _, verdict in told(text))
    measured = sum(each.is_measured for each in every)
    counted = (
        f"{len(every)} claims on {len(tables)} pages: {measured} of runs, {len(every) - measured} of formulas;"
        f" {f'{wrong} do not hold' if wrong else 'all hold'}."
    )
    return f"{_HEAD}\n{counted}\n\n{text}\n"


def _row(result: ClaimResult) -> str:
    claim = result.of
    cells = (
        one_line(claim.text),
        str(claim.document["quantity"]),
        result.found,
        "holds" if result.holds else "**does not hold**",
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "/")


def told(text: str) -> Iterator[tuple[str, str, str]]:
    """Page, claim and verdict of each row of claims.md."""
    name = ""
    for line in text.splitlines():
        if line.startswith("## "):
            name = line[3:]
        elif line.startswith("| ") and line != COLUMNS and not line.startswith("| ---"):
            words = line.strip("| ").split(" | ")
            yield name, words[0], words[-1]
