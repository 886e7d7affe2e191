"""What-ifs in the journal: kept with the run that they were changed from, and no runs of the page's own experiment."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tcptutor.journal import Journal
from tcptutor.run import Run, load
from tcptutor.runs.conduct import finish

PAGE = ("one-flow", "one-lossy-flow")
RECORDED = Path(__file__).parents[1] / "ui" / "runs" / "lossy.tcprun"


def keep(journal: Journal, id: str, changed_from: str = "") -> Run:
    run = replace(load(RECORDED), id=id)
    journal.begin_run(run, *PAGE, changed_from)
    journal.finish_run(run, finish(run, journal.runs)[0])
    return run


def test_a_what_if_is_found_with_its_base_and_counts_for_nothing(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.db")
    keep(journal, "base")
    before = journal.page(*PAGE)
    keep(journal, "first", "base")
    keep(journal, "second", "first")
    assert journal.page(*PAGE) == before
    assert [Path(file).stem for file in journal.run_files(*PAGE)] == ["base"]
    names = [tuple(Path(file).stem for file in pair) for pair in journal.what_ifs(*PAGE)]
    assert names == [("second", "first"), ("first", "base")]
    assert not list(journal.what_ifs("one-flow", "another"))
    keep(journal, "again")
    journal.close()
    opened = Journal.open(tmp_path / "journal.db")
    assert [Path(file).stem for file in opened.run_files(*PAGE)] == ["again", "base"]
    assert opened.page(*PAGE).runs == 2
    opened.close()


def test_one_that_was_killed_ends_at_the_next_start(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.db")
    keep(journal, "base")
    journal.begin_run(replace(load(RECORDED), id="killed"), *PAGE, "base")
    journal.close()
    opened = Journal.open(tmp_path / "journal.db")
    assert not list(opened.what_ifs(*PAGE))
    assert opened.page(*PAGE).runs == 1
    opened.close()
