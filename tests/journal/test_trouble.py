"""Two programs at once, a damaged file, a full disk: nothing is lost in silence."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tcptutor.base.errors import JournalError
from tcptutor.course.page_record import PREDICT, Response
from tcptutor.journal import Journal, store
from tcptutor.journal.chains import export_events, read_events
from tcptutor.journal.events import Responded, Visited
from tcptutor.run import load

from .conftest import a_run, answers, begin, finish, happened, predict, some_samples

WRITER = """
import sys
import time
from pathlib import Path
from tcptutor.course.page_record import Response
from tcptutor.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
for number in range(100):
    journal.respond("m", "s", sys.argv[2], Response((f"{number}",), False))
    journal.visit("m", sys.argv[2])
    time.sleep(0.01)  # SQLite does not queue who waits: without pauses one could keep the other out for seconds
"""


def test_two_programs_write_at_once_and_lose_nothing(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("one", "two")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    journal = Journal.open(path)
    given = answers(journal, "m", "s")
    for name in ("one", "two"):
        assert [answer for question, answer, _ in given if question == name] == [
            (f"{n}",) for n in range(100)
        ]
    assert len(list(read_events(export_events(journal.events())))) == 400, "one chain"
    journal.close()


def test_a_damaged_journal_is_kept_aside_and_said(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is not a database, but it was the student's " * 50)
    journal = Journal.open(path)
    (aside,) = path.parent.glob("journal.damaged-*.db")
    assert str(aside) in journal.notice
    assert aside.read_bytes().startswith(b"this is not")
    journal.visit("m", "s")
    assert journal.position() == ("m", "s")
    journal.close()


def test_a_journal_damaged_in_the_middle_is_noticed_at_the_start(path: Path) -> None:
    journal = Journal.open(path)
    for number in range(500):
        journal.respond("m", "s", "q" * 100, Response((f"{number}",), True))
    journal.close()
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 8192)
    again = Journal.open(path)
    assert "damaged" in again.notice
    left = [given[0] for _, given, _ in answers(again, "m", "s") if isinstance(given, tuple)]
    assert len(left) > 400, "what can be read is carried over"
    assert f"{len(left)} of its events were carried over" in again.notice
    assert left == sorted(left, key=int)
    again.respond("m", "s", "q", Response(("0",), True))
    again.close()
    again = Journal.open(path)
    assert "is not as it was written, or one before it is missing" in again.notice
    assert len(answers(again, "m", "s")) == len(left) + 1
    again.close()


def test_a_full_disk_is_one_clear_line_and_what_was_stored_stays(path: Path) -> None:
    journal = Journal.open(path)
    journal.respond("m", "s", "q", Response(("0",), True))
    connection = journal._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(JournalError, match="disk is full") as caught:
        for number in range(1000):
            journal.respond("m", "s", "q" * 500, Response((f"{number}",), False))
    assert "\n" not in str(caught.value)
    assert answers(journal, "m", "s")[0] == ("q", ("0",), True)
    assert journal.page("m", "s").activity("q").right is not None
    connection.execute("PRAGMA max_page_count = 1000000")
    journal.respond("m", "s", "q", Response(("1",), True))
    assert len(answers(journal, "m", "s")) == len(list(read_events(export_events(journal.events()))))
    journal.close()


def test_a_program_killed_while_it_writes_has_lost_nothing_that_it_had_recorded(path: Path) -> None:
    Journal.open(path).close()
    for moment in range(3):
        before = len(_given(path))
        writer = subprocess.Popen([sys.executable, "-c", SAYING, str(path)], stdout=subprocess.PIPE)
        with writer:
            assert writer.stdout is not None
            said = [int(writer.stdout.readline()) for _ in range(1 + 7 * moment)]
            writer.kill()
            said += [int(line) for line in writer.stdout if line.endswith(b"\n")]
        given = _given(path)[before:]
        # One more may have been stored and not said.
        assert given in (said, [*said, len(said)])


SAYING = """
import sys
from pathlib import Path
from tcptutor.course.page_record import Response
from tcptutor.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
for number in range(10_000):
    journal.respond("m", "s", "q", Response((f"{number}",), False))
    print(number, flush=True)
"""


def _given(path: Path) -> list[int]:
    """The numbers that were answered, of one chain."""
    journal = Journal.open(path)
    list(read_events(export_events(journal.events())))
    numbers = [event.response.answer[0] for event in happened(journal) if isinstance(event, Responded)]
    journal.close()
    return [int(number) for number in numbers]


@pytest.mark.parametrize("trouble", ["in use by another program", "cannot be written"])
def test_what_cannot_be_written_now_is_one_clear_line_and_changes_nothing(path: Path, trouble: str) -> None:
    journal = Journal.open(path, patience=0.05)
    journal.visit("m", "s")
    before = journal.record
    other = sqlite3.connect(path, isolation_level=None)
    if trouble == "cannot be written":
        journal._connection.execute("PRAGMA query_only = ON")  # as SQLite says it of a read-only place
    else:
        other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match=trouble) as caught:
        journal.visit("m", "other")
    assert "\n" not in str(caught.value)
    assert journal.record == before
    assert journal.unsaved == str(caught.value)
    with pytest.raises(JournalError, match=trouble):
        journal.visit("m", "third")
    assert not journal.save_waiting()
    other.close()
    journal._connection.execute("PRAGMA query_only = OFF")
    journal.visit("m", "fourth")
    assert journal.unsaved == ""
    # What could not be written then is written now, in its order.
    events = [event for event in happened(journal) if isinstance(event, Visited)]
    assert [event.step for event in events] == ["s", "other", "third", "fourth"]
    assert [event.serial for event in read_events(export_events(journal.events()))] == [1, 2, 3, 4]
    journal.close()


def test_what_waits_is_saved_at_the_end(path: Path) -> None:
    journal = Journal.open(path, patience=0.05)
    journal.visit("m", "s")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError):
        journal.respond("m", "s", "q", Response(("1",), True))
    other.execute("ROLLBACK")
    other.close()
    journal.close()
    again = Journal.open(path)
    assert answers(again, "m", "s") == [("q", ("1",), True)]
    again.close()


def test_a_run_whose_file_cannot_be_written_has_one_later(journal: Journal, path: Path) -> None:
    runs = path.parent / "runs"
    runs.write_text("a file where the folder should be")
    run = a_run()
    run.complete = True
    begin(journal, run)
    with pytest.raises(JournalError) as caught:
        journal.runs.finish(run)
    saved = list[bool]()
    journal.finish_run_later(run, str(caught.value), lambda: saved.append(True))
    assert journal.unsaved
    assert not journal.save_waiting()
    assert saved == []
    runs.unlink()
    assert journal.save_waiting()
    assert saved == [True]
    assert load(runs / f"{run.id}.tcprun").id == run.id
    assert journal.record.runs[run.id].ended


def test_a_disk_that_is_full_for_run_files_is_one_clear_line(journal: Journal, path: Path) -> None:
    (path.parent / "runs").write_text("a file where the folder should be")
    run = a_run()
    begin(journal, run)
    journal.runs.take(run, some_samples(0))
    run.complete = True
    with pytest.raises(JournalError, match="could not be saved") as caught:
        journal.runs.finish(run)
    assert "\n" not in str(caught.value)


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError):
        Journal.open(tmp_path / "file" / "journal.db")


def test_a_journal_of_a_newer_version_is_left_alone(path: Path) -> None:
    Journal.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {store.VERSION + 1}")
    connection.close()
    with pytest.raises(JournalError, match="newer tcptutor"):
        Journal.open(path)
    assert not list(path.parent.glob("*damaged*"))


def test_without_a_file_the_journal_lasts_as_long_as_the_program() -> None:
    journal = Journal.in_memory("nothing is stored")
    assert not journal.is_persistent
    predict(journal, "1 s", 1.0)
    assert journal.page("m", "s").activity(PREDICT).first is not None
    journal.close()


def test_while_earlier_runs_are_looked_for_two_programs_can_write(journal: Journal, path: Path) -> None:
    for number in range(3):
        run = a_run(f"r{number}")
        begin(journal, run)
        run.complete = True
        finish(journal, run)
    files = journal.run_files("m", "s")
    assert [Path(next(files)).stem, Path(next(files)).stem] == ["r2", "r1"]
    other = Journal.open(path)
    other.hint("m", "s", "q", 1)
    assert journal.hint("m", "s", "q", 2).activity("q").hints == 2
    assert [Path(file).stem for file in files] == ["r0"]
    other.close()


def test_a_part_that_has_no_more_space_is_still_somebodys(journal: Journal, path: Path) -> None:
    run = a_run()
    begin(journal, run)
    journal.runs.take(run, some_samples(0))
    part = journal.runs._parts[run.id]
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (part._length + 10, limit[1]))
        journal.runs.take(run, some_samples(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    other = Journal.open(path)
    assert not other.record.runs[run.id].ended, "the run goes on"
    other.close()
