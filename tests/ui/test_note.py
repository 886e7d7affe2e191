"""A note on a page: saved without a key for it, shown with the page, and written into the notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp

from .made import MODULE, STEP, one_page
from .screen import text, until, until_text
from .test_footer import question


async def test_a_note_is_saved_shown_and_written_into_the_notebook(
    journal: Journal, lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    app = TutorApp(one_page(question("red")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Is it red?")
        await pilot.press("N", *"halve q", "escape")
        await until_text(pilot, "Your note")
        assert journal.page(MODULE, STEP).note == "halve q"
        assert "halve q" in text(app)
        await pilot.press("E")
        await until(pilot, lambda: any("halve q" in each.read_text() for each in written(tmp_path)))


def written(folder: Path) -> list[Path]:
    return list(folder.glob("tcptutor-notebook-*.html"))


async def test_a_note_survives_an_app_that_ends_while_it_is_written(journal: Journal, lab: Any) -> None:
    app = TutorApp(one_page(), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Read this.")
        await pilot.press("N", *"half", "enter", *"a thought")
        await until_text(pilot, "a thought")
    assert journal.page(MODULE, STEP).note == "half\na thought"
    app = TutorApp(one_page(), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "a thought")
