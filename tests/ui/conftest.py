from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tcptutor.course import load
from tcptutor.course.model import Course
from tcptutor.journal import Journal
from tcptutor.ui import reading
from tcptutor.ui.app import TutorApp

from .fakes import FakeLab
from .record import COURSE


@pytest.fixture(autouse=True)
def no_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip what the app does once in its life: in this process it looks at all that every test has left."""
    monkeypatch.setattr(reading, "settle", lambda: None)


@pytest.fixture(scope="session")
def course() -> Course:
    return load(COURSE)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal.open(tmp_path / "journal.db")
    yield journal
    journal.close()


@pytest.fixture
def lab() -> FakeLab:
    return FakeLab()


@pytest.fixture
def make_app(course: Course, journal: Journal, lab: FakeLab) -> Callable[..., TutorApp]:
    def make(module: str | None = None, *, of: Course = course, **options: Any) -> TutorApp:
        return TutorApp(of, journal, lab, module=module, **options)

    return make


@pytest.fixture(autouse=True)
def _nothing_passes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture has nothing that is shown for a moment only."""
    if "snap_compare" in request.fixturenames:
        monkeypatch.setattr("tcptutor.ui.screens.saving._SAVED_FOR", 0.01)
