"""The table of what the course claims of runs, and what runs have: assets/documentation/claims.md.

`python -m tests.documentation claims` writes it from the runs that `tcptutor lint --run` keeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from tcptutor import places
from tcptutor.commands.claims import ClaimResult, RunResults
from tcptutor.course.claimed import PageClaim, page_claims, pages
from tcptutor.fleet.cache import RunCache

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


def results() -> list[ClaimResult]:
    """In the order of the course, from what is kept. Raises LabUnavailable without a guest."""
    runs = RunResults(RunCache())
    return [
        result for _, page in groupby(claims(), key=attrgetter("page")) for result in runs.results(list(page))
    ]


def page(found: list[ClaimResult]) -> str:
    """claims.md with these results."""
    measured = [each for each in found if each.of.is_measured]
    wrong = sum(not each.holds for each in found)
    told = (
        f"{len(found)} claims on {len({each.of.page for each in found})} pages: {len(measured)} of runs,"
        f" {len(found) - len(measured)} of formulas; {f'{wrong} do not hold' if wrong else 'all hold'}."
    )
    parts = [_HEAD, told, ""]
    for name, group in groupby(found, key=lambda each: each.of.page):
        parts += [f"## {name}", "", COLUMNS, "| --- | --- | --- | --- |", *map(_row, group), ""]
    return "\n".join(parts)


def _row(result: ClaimResult) -> str:
    claim = result.of
    cells = (
        one_line(claim.text),
        str(claim.document["of"]),
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
