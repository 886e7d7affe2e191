"""Runs survive whatever ends the program."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tcptutor.base.errors import JournalError
from tcptutor.journal import Journal
from tcptutor.journal.events import RunEnded
from tcptutor.run import Fidelity, Finished, Run, load
from tcptutor.runs import conduct
from tcptutor.runs.store import RunStore

from .conftest import a_run, answers, begin, finish, happened, latest_run, some_samples

CUT_PART = Path(__file__).parents[1] / "run" / "files" / "cut.tcprun.part"
DURING_A_RUN = """
import os, signal, sys
from pathlib import Path
from tests.journal.conftest import a_run, begin, some_samples
from tcptutor.course.page_record import Response
from tcptutor.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
journal.respond("m", "s", "q", Response(("1",), True))
run = a_run("killed")
begin(journal, run)
for number in range(5):
    journal.runs.take(run, some_samples(number))
"""
KILLED = DURING_A_RUN + "os.kill(os.getpid(), signal.SIGKILL)"
ALIVE = DURING_A_RUN + "print('there', flush=True); sys.stdin.read()"


def _killed(path: Path) -> Path:
    """The part that a killed program has left."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    (part,) = _files(path)
    assert part.name == "killed.tcprun.part"
    return part


def _ends(journal: Journal) -> list[tuple[str, bool]]:
    """Note and completeness of the runs that have ended."""
    return [(event.note, event.complete) for event in happened(journal) if isinstance(event, RunEnded)]


def _files(path: Path) -> list[Path]:
    return sorted((path.parent / "runs").iterdir())


def test_a_killed_program_leaves_its_run_marked_as_cut_short(path: Path) -> None:
    _killed(path)
    journal = Journal.open(path)
    run = latest_run(journal, "m", "s")
    assert run is not None
    assert (run.id, run.complete, run.experiment_s) == ("killed", False, 4.0)
    assert [sample.t for sample in run.samples] == [0, 1, 2, 3, 4]
    assert run.note == "tcptutor ended during it"
    assert answers(journal, "m", "s") == [("q", ("1",), True)]
    assert journal.notice == ""
    assert [file.name for file in _files(path)] == ["killed.tcprun"]
    journal.close()


def test_the_part_of_a_killed_program_becomes_a_run(tmp_path: Path) -> None:
    """Two flows, killed within a line."""
    shutil.copy(CUT_PART, tmp_path)
    (run,) = RunStore(tmp_path).recover()
    assert (run.id, run.complete, run.note) == ("cut", False, "tcptutor ended during it")
    assert len(run.samples) == 56
    assert load(tmp_path / "cut.tcprun").samples.column("bytes_acked") == run.samples.column("bytes_acked")
    assert [path.name for path in tmp_path.iterdir()] == ["cut.tcprun"]


def test_a_part_recovered_by_another_command_is_told_by_the_journal(path: Path) -> None:
    part = _killed(path)
    assert [run.id for run in RunStore(part.parent).recover()] == ["killed"]
    journal = Journal.open(path)
    assert _ends(journal) == [("tcptutor ended during it", False)]
    journal.close()


def test_a_run_that_goes_on_in_another_program_is_left_alone(path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", ALIVE, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"there\n"
        journal = Journal.open(path)
        assert latest_run(journal, "m", "s") is None
        assert [file.name for file in _files(path)] == ["killed.tcprun.part"]
        assert _ends(journal) == []
        assert [run.ended for run in journal.record.runs.values()] == [False]
        journal.close()
        other.kill()
    journal = Journal.open(path)
    kept = latest_run(journal, "m", "s")
    assert kept is not None
    assert len(kept.samples) == 5
    journal.close()


@pytest.mark.parametrize("cut", [1, 200, 100_000])
def test_a_torn_line_is_dropped_and_the_lines_before_it_kept(path: Path, cut: int) -> None:
    part = _killed(path)
    whole = part.read_bytes()
    part.write_bytes(whole[:-cut])
    expected = whole[:-cut].count(b"\n") - 1
    journal = Journal.open(path)
    run = latest_run(journal, "m", "s")
    assert (len(run.samples) if run else -1) == expected
    assert not list(part.parent.glob("*.part"))
    journal.close()


def test_a_run_whose_end_had_arrived_is_whole(path: Path) -> None:
    journal = Journal.open(path)
    run = a_run()
    begin(journal, run)
    for event in (some_samples(1), Finished((), Fidelity(status="valid"), 1.0)):
        journal.runs.take(run, event)
    journal.runs._parts[run.id]._close()  # as when it is killed
    again = Journal.open(path)
    kept = latest_run(again, "m", "s")
    assert kept is not None
    assert (kept.complete, kept.note, kept.experiment_s) == (True, "", 1.0)
    assert _ends(again) == [("", True)]
    assert again.page("m", "s").whole_runs == 1


def test_what_a_killed_program_had_half_written_goes(path: Path) -> None:
    part = _killed(path)
    (part.parent / ".killed.tcprun.4711").write_bytes(b"half of a run file")
    Journal.open(path).close()
    assert [file.name for file in _files(path)] == ["killed.tcprun"]


def test_a_program_killed_after_the_file_was_written_keeps_the_file(path: Path) -> None:
    part = _killed(path)
    run = a_run("killed")
    run.complete = True
    file = RunStore(part.parent / "other").finish(run)
    Path(file).rename(part.parent / "killed.tcprun")
    journal = Journal.open(path)
    kept = latest_run(journal, "m", "s")
    assert kept is not None
    assert kept.complete
    assert not part.exists()
    journal.close()


def test_a_part_that_cannot_become_a_file_now_waits_for_the_next_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = _killed(path)

    def full(*_: object, **_how: object) -> None:
        raise JournalError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("tcptutor.runs.parts.save", full)
        assert RunStore(part.parent).recover() == []
    assert part.exists()
    assert [run.id for run in RunStore(part.parent).recover()] == ["killed"]


def test_a_run_that_nothing_came_of_leaves_no_file_and_hides_no_other(journal: Journal, path: Path) -> None:
    first = a_run("r1")
    begin(journal, first)
    first.complete = True
    finish(journal, first)
    second = a_run("r2")
    begin(journal, second)
    finish(journal, second)
    latest = latest_run(journal, "m", "s")
    assert latest is not None
    assert latest.id == "r1"
    assert [file.name for file in _files(path)] == ["r1.tcprun"]


def test_the_latest_run_of_a_step_is_given(journal: Journal) -> None:
    for number in (1, 2):
        run = a_run(f"r{number}")
        begin(journal, run)
        run.complete = True
        finish(journal, run)
    latest = latest_run(journal, "m", "s")
    assert latest is not None
    assert (latest.id, latest.complete) == ("r2", True)
    assert latest_run(journal, "m", "other") is None


def test_a_damaged_run_file_gives_the_run_before_it(journal: Journal, path: Path) -> None:
    for number in (1, 2):
        run = a_run(f"r{number}")
        begin(journal, run)
        run.complete = True
        finish(journal, run)
    (path.parent / "runs" / "r2.tcprun").write_bytes(b"not a run")
    latest = latest_run(journal, "m", "s")
    assert latest is not None
    assert latest.id == "r1"
    assert load(path.parent / "runs" / "r1.tcprun").complete


PAGE = ("one-flow", "one-lossy-flow")
RECORDED = Path(__file__).parents[1] / "ui" / "runs" / "lossy.tcprun"


def keep_recorded(journal: Journal, id: str, changed_from: str = "") -> Run:
    run = replace(load(RECORDED), id=id)
    journal.begin_run(run, *PAGE, changed_from)
    journal.finish_run(run, conduct.finish(run, journal.runs).file)
    return run


def test_a_what_if_is_found_with_its_base_and_counts_for_nothing(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.db")
    keep_recorded(journal, "base")
    before = journal.page(*PAGE)
    keep_recorded(journal, "first", "base")
    keep_recorded(journal, "second", "first")
    assert journal.page(*PAGE) == before
    assert [Path(file).stem for file in journal.run_files(*PAGE)] == ["base"]
    names = [tuple(Path(file).stem for file in pair) for pair in journal.what_ifs(*PAGE)]
    assert names == [("second", "first"), ("first", "base")]
    assert not list(journal.what_ifs("one-flow", "another"))
    keep_recorded(journal, "again")
    journal.close()
    opened = Journal.open(tmp_path / "journal.db")
    assert [Path(file).stem for file in opened.run_files(*PAGE)] == ["again", "base"]
    assert opened.page(*PAGE).runs == 2
    opened.close()


def test_a_killed_what_if_ends_at_the_next_start(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.db")
    keep_recorded(journal, "base")
    journal.begin_run(replace(load(RECORDED), id="killed"), *PAGE, "base")
    journal.close()
    opened = Journal.open(tmp_path / "journal.db")
    assert not list(opened.what_ifs(*PAGE))
    assert opened.page(*PAGE).runs == 1
    opened.close()
