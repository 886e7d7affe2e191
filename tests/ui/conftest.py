from __future__ import annotations

import gc
import hashlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region

from tcptutor.course import load
from tcptutor.course.outline import Course
from tcptutor.journal import Journal
from tcptutor.study import background
from tcptutor.ui.app import TutorApp
from tcptutor.ui.widgets.page.box import ActivityBox

from .fakes import FakeLab
from .record import COURSE


@pytest.fixture(autouse=True)
def no_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip what the app does once in its life: in this process it looks at all that every test has left."""
    monkeypatch.setattr(background, "freeze_gc", lambda: None)


@pytest.fixture(scope="session", autouse=True)
def _parsed_styles() -> Iterator[None]:
    """Parse each style sheet once in a worker: all apps have the same, and parsing is a quarter of an app's start."""
    parsed: dict[tuple[Any, ...], list[RuleSet]] = {}
    parse = Stylesheet._parse_rules

    def parsed_once(self: Stylesheet, *source: Any, **how: Any) -> list[RuleSet]:
        key = (*self._variables.items(), *source, *how.items())
        if key not in parsed:
            parsed[key] = parse(self, *source, **how)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Stylesheet, "_parse_rules", parsed_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _nothing_composed() -> Iterator[None]:
    """Render what changed without cutting it into a frame: an app without a terminal throws its frames away."""
    composed = Compositor.render_update

    def rendered(self: Compositor, full: bool = False, screen_stack: Any = None, **how: Any) -> Any:
        if full:  # a screenshot
            return composed(self, full, screen_stack, **how)
        visible_screen_stack.set(screen_stack or [])
        if changed := self._dirty_regions.copy():
            self._dirty_regions.clear()
            list(self._get_renders(Region.from_union(changed).intersection(self.size.region)))
        return None

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Compositor, "render_update", rendered)
        yield


@pytest.fixture(scope="session", autouse=True)
def _few_collections() -> Iterator[None]:
    """Leave what is imported out of each collection, and collect more rarely: every app makes thousands of objects."""
    usual = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    yield
    gc.set_threshold(*usual)
    gc.unfreeze()


@pytest.fixture(scope="session")
def course() -> Course:
    return load(COURSE)


@pytest.fixture
def tmp_path(memory: Path) -> Path:
    """A folder in memory: a test of a screen writes little, and a journal waits for a disk at each commit."""
    folder = memory / uuid.uuid4().hex
    folder.mkdir()
    return folder


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
        return TutorApp(of, journal, lambda: lab, module=module, **options)

    return make


@pytest.fixture(autouse=True)
def _same_numbers_every_time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the numbers and orders of a student without a name from the test's name, not from the time."""
    own = Journal.identity.fget
    assert own is not None

    def identity(journal: Journal) -> str:
        drawn_from = own(journal)
        if not drawn_from or journal.record.enrolment:
            return drawn_from
        return hashlib.sha256(request.node.nodeid.encode()).hexdigest()

    monkeypatch.setattr(Journal, "identity", property(identity))


@pytest.fixture(autouse=True)
def _figures_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let figures stand still, except in the tests of their motion."""
    monkeypatch.setenv("NO_MOTION", "1")


@pytest.fixture(autouse=True)
def _all_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal shows all colors, wherever the tests run."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")


@pytest.fixture(autouse=True)
def _open_boxes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes stay open, whose feedback most tests read; those of `folding` fold as for a student."""
    if "folding" not in request.fixturenames:
        monkeypatch.setattr(ActivityBox, "FOLDS", False)


@pytest.fixture
def folding() -> None:
    """Boxes of activities that are done fold."""


@pytest.fixture(autouse=True)
def _nothing_passes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture has nothing that is shown for a moment only."""
    if "snap_compare" in request.fixturenames:
        monkeypatch.setattr("tcptutor.ui.screens.base._SAVED_FOR", 0.01)
