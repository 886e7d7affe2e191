"""Two programs at once, a damaged file, a full disk: nothing is lost in silence."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tcptutor.errors import JournalError
from tcptutor.journal import Journal, schema

from .conftest import a_run, begin, some_samples

WRITER = """
import sys
from pathlib import Path
from tcptutor.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
for number in range(100):
    journal.record_answer("m", "s", sys.argv[2], (number,), False)
    journal.set_position("m", sys.argv[2])
"""


def test_two_programs_write_at_once_and_lose_nothing(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("one", "two")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    journal = Journal.open(path)
    answers = journal.answers("m", "s")
    for name in ("one", "two"):
        assert [a.answer for a in answers if a.question == name] == [(n,) for n in range(100)]
    journal.close()


def test_a_damaged_journal_is_kept_aside_and_said(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is not a database, but it was the student's " * 50)
    journal = Journal.open(path)
    (aside,) = path.parent.glob("journal.damaged-*.db")
    assert str(aside) in journal.notice
    assert aside.read_bytes().startswith(b"this is not")
    journal.set_position("m", "s")
    assert journal.position() == ("m", "s")
    journal.close()


def test_a_journal_damaged_in_the_middle_is_noticed_at_the_start(path: Path) -> None:
    journal = Journal.open(path)
    for number in range(500):
        journal.record_answer("m", "s", "q" * 100, (number,), True)
    journal.close()
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 8192)
    again = Journal.open(path)
    assert "damaged" in again.notice
    assert again.answers("m", "s") == []
    again.close()


def test_a_full_disk_is_one_clear_line_and_what_was_stored_stays(path: Path) -> None:
    journal = Journal.open(path)
    journal.record_answer("m", "s", "q", (0,), True)
    connection = journal._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(JournalError, match="disk is full") as caught:
        for number in range(1000):
            journal.record_answer("m", "s", "q" * 500, (number,), False)
    assert "\n" not in str(caught.value)
    assert journal.answers("m", "s")[0].correct
    journal.close()


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
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    with pytest.raises(JournalError, match="newer tcptutor"):
        Journal.open(path)
    assert not list(path.parent.glob("*damaged*"))


def test_an_older_journal_is_brought_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Journal.open(path)
    first.set_position("m", "s")
    first.close()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, ("CREATE TABLE notes (text TEXT)",)))
    monkeypatch.setattr(schema, "VERSION", len(schema.MIGRATIONS))
    second = Journal.open(path)
    assert second.position() == ("m", "s")
    second._connection.execute("INSERT INTO notes VALUES ('kept')")
    second.close()


def test_without_a_file_the_journal_lasts_as_long_as_the_program() -> None:
    journal = Journal.in_memory("nothing is stored")
    assert not journal.lasting
    journal.record_prediction("m", "s", "1 s", 1.0)
    assert journal.prediction("m", "s") is not None
    journal.close()
