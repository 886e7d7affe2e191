"""A report of what is wrong on a page: an event, and a file with the state of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tcptutor.course import load
from tcptutor.journal import Journal
from tcptutor.journal.events import Reported
from tcptutor.run.files import text_digest
from tcptutor.ui.app import TutorApp
from tests.journal.conftest import happened

from .made import MODULE, STEP, one_page
from .record import COURSE
from .screen import keys, text, until, until_text
from .test_footer import question
from .test_snapshots import keep_run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "tcptutor" / "reports"


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def lines_reported(journal: Journal) -> list[str]:
    return [event.text for event in happened(journal) if isinstance(event, Reported)]


async def test_a_report_holds_the_line_and_the_answer(journal: Journal, lab: Any, folder: Path) -> None:
    app = TutorApp(one_page(question("red")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Is it red?")
        await pilot.press("tab", "2", "enter", "escape")
        await until_text(pilot, "It is not.")
        await pilot.press("exclamation_mark", "enter")
        await until_text(pilot, "the report has no text")
        await pilot.press(*keys("yes is wrong"), "enter")
        await until(pilot, lambda: bool(list(folder.glob("*.md"))))
        await until(pilot, lambda: any("Reported" in each.message for each in app._notifications))
    assert lines_reported(journal) == ["yes is wrong"]
    file = only_file(folder)
    assert file.name.startswith(f"{MODULE}-{STEP}-")
    assert file.stat().st_mode & 0o777 == 0o600
    written = file.read_text()
    for wanted in ("> yes is wrong", "terminal: 80x24", "wrong: no", "asked: Is it red?"):
        assert wanted in written


async def test_a_report_names_lesson_file_and_run(make_app, journal: Journal, folder: Path) -> None:
    module, step = "one-flow", "one-lossy-flow"
    run = keep_run(journal, load(COURSE), module, step)
    app = make_app(module)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "One lossy flow")
        await pilot.press("exclamation_mark", *keys("no axis"), "enter")
        await until(pilot, lambda: bool(list(folder.glob("*.md"))))
    written = only_file(folder).read_text()
    digest = text_digest(next(Path(each) for each in journal.run_files(module, step)))
    assert digest and digest in written
    assert f"id: {run.id}" in written
    assert "verdict: " in written
    (lesson,) = (each for each in COURSE.rglob("*.md") if each.stem[3:] == step)
    assert f"{lesson.parent.name}/{lesson.name}, SHA-256 " in written


async def test_a_closed_field_reports_nothing(journal: Journal, lab: Any, folder: Path) -> None:
    app = TutorApp(one_page(), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Read this.")
        await pilot.press("exclamation_mark", *keys("never mind"), "escape")
        await until(pilot, lambda: "What is wrong" not in text(app))
    assert lines_reported(journal) == []
