"""What the student did and could not be saved: said as long as it is so, tried again, and said at the end."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tcptutor.base.errors import TutorError
from tcptutor.journal import Journal
from tcptutor.ui import start
from tcptutor.ui.app import TutorApp

from .screen import text, until, until_text
from .test_run import STEP


@pytest.fixture
def quick(tmp_path: Path):
    """A journal as the app has it, and another program that can hold it."""
    journal = Journal.open(tmp_path / "quick" / "journal.db", patience=0.1)
    other = sqlite3.connect(tmp_path / "quick" / "journal.db", isolation_level=None)
    yield journal, other
    other.close()
    journal.close()


async def test_a_journal_that_is_held_keeps_nobody_waiting_and_has_all_later(
    course, lab, quick, monkeypatch
) -> None:
    monkeypatch.setattr("tcptutor.ui.app._LOOK_AGAIN", 0.2)
    journal, other = quick
    app = TutorApp(course, journal, lambda: lab, module=STEP[0])
    async with app.run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "saved")
        other.execute("BEGIN IMMEDIATE")
        for key in ("right", "left", "right"):
            await pilot.press(key)
        await until_text(pilot, "NOT SAVED")
        # On the screen it is folded anywhere.
        assert any("in use by another program" in told.message for told in app._notifications)
        # A page that is read again, or anything else that works, does not make it saved.
        await pilot.press("left")
        await pilot.pause(0.5)
        assert "NOT SAVED" in text(app)
        assert journal.unsaved
        other.execute("ROLLBACK")
        await until(pilot, lambda: not journal.unsaved)
        await until(pilot, lambda: "NOT SAVED" not in text(app))
        await until(pilot, lambda: any("is saved again" in told.message for told in app._notifications))
    assert app.is_saved


async def test_a_run_whose_file_cannot_be_written_is_written_later(course, lab, quick, monkeypatch) -> None:
    monkeypatch.setattr("tcptutor.ui.app._LOOK_AGAIN", 0.2)
    journal, _ = quick
    runs = journal.runs.folder
    runs.rmdir() if runs.is_dir() else None
    runs.write_text("a file where the folder should be")
    app = TutorApp(course, journal, lambda: lab, module=STEP[0])
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("right")
        await pilot.press("x", "y")
        await until_text(pilot, "⚠ not saved: ")
        await until_text(pilot, "NOT SAVED")
        runs.unlink()
        await until(pilot, lambda: not journal.unsaved)
        await until(pilot, lambda: "⚠ not saved: " not in text(app))
    assert [path.suffix for path in runs.iterdir()] == [".tcprun"]


def test_what_could_not_be_saved_is_said_at_the_end(monkeypatch, tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.db", patience=0.05)
    journal.visit("m", "s")
    other = sqlite3.connect(tmp_path / "journal.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async def left(_opened: object, journal: Journal, *_: object) -> int:
        with pytest.raises(TutorError):
            journal.visit("m", "other")
        return 0

    monkeypatch.setattr(start, "_run", left)
    monkeypatch.setattr(start, "_open_journal", lambda _: (journal, None))
    monkeypatch.setattr("tcptutor.ui.shutdown.signals.catch", lambda: None)
    with pytest.raises(TutorError, match=r"^some of your work could not be saved: .* in use by another"):
        start.run_app()
    other.close()


async def test_a_journal_that_opens_after_the_app_has_all_that_was_done_before(
    course, lab, tmp_path: Path, monkeypatch
) -> None:
    """Another program holds it whole, so that it cannot even be read."""
    monkeypatch.setattr("tcptutor.ui.app._LOOK_AGAIN", 0.2)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    file = tmp_path / "tcptutor" / "journal.db"
    earlier = Journal.open(file)
    earlier.visit(STEP[0], "earlier")
    earlier.close()
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    journal = start.open_journal()
    assert "nothing is saved so far: " in journal.notice
    app = TutorApp(course, journal, lambda: lab, module=STEP[0])
    async with app.run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "NOT SAVED")
        await pilot.press("right")
        await pilot.press("x", "y")
        await until(pilot, lambda: list((tmp_path / "tcptutor" / "runs").glob("*.tcprun")))
        assert not app.is_saved
        here = journal.position()
        done = len(list(journal.events()))
        other.close()
        await until(pilot, lambda: app.is_saved)
        await until(pilot, lambda: "NOT SAVED" not in text(app))
        await until(pilot, lambda: any("is saved again" in told.message for told in app._notifications))
        await pilot.press("left")
    journal.close()
    again = Journal.open(file)
    first, *rest = again.events()
    assert b"earlier" in first.data
    assert len(rest) > done
    assert here is not None
    assert [run.ended for run in again.record.runs.values()] == [True]
    again.close()


@pytest.mark.parametrize("did", [True, False])
def test_a_journal_that_never_opened_is_said_at_the_end(did: bool, monkeypatch, tmp_path: Path) -> None:
    """Not to somebody who did nothing."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    (tmp_path / "file").touch()

    async def left(_opened: object, journal: Journal, *_: object) -> int:
        if did:
            journal.visit("m", "s")
        return 0

    monkeypatch.setattr(start, "_run", left)
    monkeypatch.setattr("tcptutor.ui.shutdown.signals.catch", lambda: None)
    if not did:
        assert start.run_app() == 0
        return
    with pytest.raises(TutorError, match=r"^some of your work could not be saved: .*Not a directory"):
        start.run_app()
