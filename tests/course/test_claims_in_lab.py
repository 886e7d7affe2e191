"""The claims of the course against runs in the lab: of a share of the pages in a plain run, of all with --full.

The share is chosen by the content of the lessons: the same lessons ask the same pages, a change asks others.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tcptutor import places
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.commands.claims import ClaimCheck
from tcptutor.course.claimed import PageClaim, page_claims, pages
from tcptutor.fleet.cache import RunCache
from tests.course.test_shipped import wall

SECONDS = 40.0
"""Of guests on a quiet machine that a plain run spends."""
CLAIMS = list(page_claims(places.lessons(), pages(places.lessons())))
PAGES = list(dict.fromkeys(each.page for each in CLAIMS if each.runs))


def content() -> str:
    """Of all lessons."""
    root = places.lessons()
    found = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def cost(page: str) -> float:
    """Seconds of all runs that its claims ask for."""
    cache = RunCache("any")
    runs = {cache.key(run): run for each in CLAIMS if each.page == page for run in each.runs}
    return sum(map(wall, runs.values()))


def share() -> list[str]:
    """Pages in the order that the content makes, as many as there is time for."""
    seed = content()
    chosen, left = [], SECONDS
    for page in sorted(PAGES, key=lambda page: hashlib.sha256(f"{seed} {page}".encode()).digest()):
        if (seconds := cost(page)) <= left:
            chosen.append(page)
            left -= seconds
    return chosen


def contradicted(claims: list[PageClaim], cache: RunCache) -> list[str]:
    check = ClaimCheck(claims, as_json=True, cache=cache)
    assert check.run(None) is None
    assert len(check.results) == len(claims)
    return [
        f"{each.of.file}:{each.of.line}: {each.of.stated}: {each.found}"
        for each in check.results
        if not each.holds
    ]


def test_the_claims_of_a_share_of_the_pages_hold_in_the_lab(snapshots: Snapshots, tmp_path: Path) -> None:
    chosen = share()
    assert chosen
    told = f"{len(chosen)} of {len(PAGES)} pages: {', '.join(chosen)}"
    print(told)
    cache = RunCache(snapshots.version(), tmp_path)
    assert contradicted([each for each in CLAIMS if each.page in chosen], cache) == [], told


@pytest.mark.parametrize("page", PAGES)
def test_the_claims_of_every_page_hold_in_the_lab(snapshots: Snapshots, page: str) -> None:
    """What `tcptutor lint --run` has run is not run again."""
    assert contradicted([each for each in CLAIMS if each.page == page], RunCache(snapshots.version())) == []
