"""Bookmarks, pages to skip, and pages begun anew: the work before a reset is archived, and comes back."""

from __future__ import annotations

from pathlib import Path

from tcptutor.course.page_record import PageRecord, Response
from tcptutor.journal import Journal

from .test_runs import PAGE, keep_recorded

RIGHT, WRONG = Response("4", True), Response("5", False)


def runs_of(journal: Journal) -> list[str]:
    return [Path(file).stem for file in journal.run_files(*PAGE)]


def test_a_page_begun_anew_has_no_work_and_can_be_brought_back(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.db")
    journal.visit(*PAGE)
    journal.bookmark(*PAGE)
    journal.respond(*PAGE, "q", WRONG)
    keep_recorded(journal, "first")
    keep_recorded(journal, "changed", "first")
    before = journal.page(*PAGE)
    journal.reset(*PAGE)
    page = journal.page(*PAGE)
    assert not page.visited and not page.has_work
    assert page.bookmarked
    assert page.archived == before
    assert not runs_of(journal) and not list(journal.what_ifs(*PAGE))
    journal.restore(*PAGE)
    assert journal.page(*PAGE) == before
    assert runs_of(journal) == ["first"]
    journal.close()


def test_runs_and_answers_after_a_reset_are_those_of_the_page(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.db")
    keep_recorded(journal, "old")
    keep_recorded(journal, "older-what-if", "old")
    journal.respond(*PAGE, "q", WRONG)
    journal.reset(*PAGE)
    for name in ("new", "newer"):
        keep_recorded(journal, name)
    journal.respond(*PAGE, "q", RIGHT)
    page = journal.page(*PAGE)
    assert runs_of(journal) == ["newer", "new"]
    assert not list(journal.what_ifs(*PAGE))
    assert (page.activity("q").attempts, page.all_attempts("q")) == (1, 2)
    assert (page.whole_runs, page.earlier_runs) == (2, 1)
    journal.restore(*PAGE)  # new work stays
    assert journal.page(*PAGE) == page
    journal.close()
    assert Journal.open(tmp_path / "journal.db").page(*PAGE) == page


def test_a_second_reset_keeps_the_archive_of_work(journal: Journal) -> None:
    journal.respond("m", "s", "q", RIGHT)
    journal.reset("m", "s")
    journal.visit("m", "s")
    journal.reset("m", "s")
    archived = journal.page("m", "s").archived
    assert archived is not None
    assert archived.activity("q").right is not None


def test_a_page_to_skip_can_be_taken_back(journal: Journal) -> None:
    journal.skip("m", "s")
    assert journal.page("m", "s").skipped
    journal.skip("m", "s", on=False)
    assert journal.page("m", "s") == PageRecord()
