"""The claims of the course against runs in the lab: of two pages in a plain run, of all with --full."""

from __future__ import annotations

import pytest

from tcptutor.authoring.page_claims import page_claims
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base import places
from tcptutor.commands.lint import ClaimCheck
from tcptutor.course.outline import pages
from tcptutor.fleet.run_cache import RunCache

CLAIMS = list(page_claims(places.lessons(), pages(places.lessons())))
PAGES = list(dict.fromkeys(each.page for each in CLAIMS if each.runs))


@pytest.mark.parametrize("page", PAGES)
def test_the_claims_of_a_page_hold_in_the_lab(snapshots: Snapshots, page: str) -> None:
    """Runs that `tcptutor lint --run` has made are not made again."""
    claims = [each for each in CLAIMS if each.page == page]
    check = ClaimCheck(claims, as_json=True, cache=RunCache(snapshots.version()))
    assert check.run(None) is None
    assert len(check.results) == len(claims)
    assert [
        f"{each.of.file}:{each.of.line}: {each.of.expectation}: {each.found}"
        for each in check.results
        if not each.holds
    ] == []
