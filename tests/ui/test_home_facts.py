"""The copy of the home screen's facts: used only while true, and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.course.outline import Course
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp
from tcptutor.ui.widgets.home.facts import HomeCopy, gather

from .fakes import FakeLab
from .made import MODULE, STEP, one_page
from .screen import settled, text
from .test_footer import question

GOAL = 20
"""Minutes a day."""


@pytest.fixture
def course() -> Course:
    return one_page(question("red"), question("blue"))


@pytest.fixture
def path(tmp_path: Path, course: Course) -> Path:
    """The journal of a student who has opened the page, with a copy of the facts next to it."""
    path = tmp_path / "journal.db"
    journal = Journal.open(path)
    journal.visit(MODULE, STEP)
    HomeCopy(journal, course).save(gather(journal, course, GOAL), GOAL)
    journal.close()
    return path


def test_the_copy_is_what_would_be_gathered(path: Path, course: Course) -> None:
    journal = Journal.open(path, read=False)
    assert HomeCopy(journal, course).load(GOAL) == gather(journal, course, GOAL)
    assert HomeCopy(journal, course).load(GOAL + 1) is None
    journal.close()


def test_the_copy_is_not_used_after_another_event(path: Path, course: Course) -> None:
    journal = Journal.open(path)
    journal.choose_path("everything")
    assert HomeCopy(journal, course).load(GOAL) is None
    journal.close()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"key":"x"}', b"\xff" * 100])
def test_a_damaged_copy_costs_nothing_else(path: Path, course: Course, data: bytes) -> None:
    (path.parent / "home.json").write_bytes(data)
    journal = Journal.open(path, read=False)
    assert HomeCopy(journal, course).load(GOAL) is None
    journal.close()


async def test_the_app_reads_the_journal_before_the_first_key(path: Path, course: Course) -> None:
    journal = Journal.open(path, read=False)
    facts = HomeCopy(journal, course).load(GOAL)
    app = TutorApp(course, journal, FakeLab, copied_facts=facts)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        assert "Continue" in text(app)
        await pilot.press("enter")
        await settled(pilot)
        assert journal.position() == (MODULE, STEP)
        assert journal.event_count == 2
    app.keep_home_facts()
    assert HomeCopy(journal, course).load(app.settings.daily_minutes) is not None
    journal.close()
