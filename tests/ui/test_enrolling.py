"""Enrolling from another terminal while the app is open: the work that follows is the student's own, and counts."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tcptutor.base import places
from tcptutor.course import load as load_course
from tcptutor.course import personal
from tcptutor.course.activity import text_id
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Response
from tcptutor.grading.evidence.collect import collect
from tcptutor.grading.evidence.hand_in import open_hand_in, write_hand_in
from tcptutor.grading.grade import Outcome
from tcptutor.grading.marking import grade_hand_in
from tcptutor.journal import Journal
from tcptutor.journal.locks import app_is_open
from tcptutor.run import load
from tcptutor.ui import app as app_module
from tcptutor.ui.app import TutorApp
from tests.command import here, process
from tests.grading.evidence.student import KEY, LESSONS, RUNS, identity

from .fakes import FakeLab
from .screen import keys, text, until, until_text

VARIED = """+++
title = "Varied"
path = "essential"
after_run = "That was a run."

[variants]
rate = ["20 Mbit/s", "30 Mbit/s", "40 Mbit/s", "50 Mbit/s", "60 Mbit/s", "70 Mbit/s", "80 Mbit/s"]

[experiment]
name = "lossy"
set = { rate = "{variant.rate}" }
+++

The link has {variant.rate}.
"""


@pytest.fixture
def own_journal(without_state: Path) -> Iterator[Journal]:
    """The journal that commands use too."""
    journal = Journal.open(places.state() / "journal.db")
    yield journal
    journal.close()


@pytest.fixture
def course() -> Course:
    return load_course(LESSONS)


def enrol(name: str, command: Callable[..., Any] = here) -> str:
    done = command("enrol", KEY.code, name)
    assert done.returncode == 0, done.stderr
    return done.stdout


def outcomes(journal: Journal, course: Course, folder: Path) -> dict[tuple[str, str], Outcome]:
    """What the teacher's grading gives for a hand-in of now, by page and activity."""
    file, contents = folder / "now.tcphandin", collect(journal, course)
    write_hand_in(file, contents.manifest, contents.events, contents.runs)
    with open_hand_in(file) as hand_in:
        graded = grade_hand_in(hand_in, course, KEY.code)
    return {(mark.page, mark.activity): mark.outcome for mark in graded.marks}


def right(app: TutorApp, id: str) -> str:
    """A right answer to a question of the page on the screen, as it is posed there."""
    box = next(box for box in app.screen._page.boxes if box.activity.id == id)
    return str(box.activity.reference(app.screen._study.context).right)


async def answer(pilot: Any, id: str) -> None:
    box = next(box for box in pilot.app.screen._page.boxes if box.activity.id == id)
    box.focus_entry()
    await pilot.press(*["backspace"] * len(box.draft or ""), *keys(right(pilot.app, id)), "enter")


async def until_new_page(pilot: Any, old: object) -> None:
    await until(pilot, lambda: pilot.app.screen is not old and pilot.app.screen.is_complete)


@pytest.mark.parametrize("before", ["", "adda"])
async def test_work_after_enrolling_in_the_middle_of_a_page_gets_full_marks(
    before: str, own_journal: Journal, course: Course, tmp_path: Path
) -> None:
    if before:
        enrol(before)
    app = TutorApp(course, own_journal, lambda: FakeLab(plays=load(RUNS / "ada.tcprun")), module="small")
    with app_is_open():
        async with app.run_test(size=(80, 50), notifications=True) as pilot:
            await until_text(pilot, "A flow gets")
            page, posed = app.screen, text(app)
            assert "tcptutor is open" in enrol("ada", process)
            await answer(pilot, "how-much")
            await until_new_page(pilot, page)
            await until_text(pilot, "You are enrolled as ada now")
            assert not own_journal.page("small", "asked").activities
            assert text(app) != posed
            await answer(pilot, "how-much")
            await until_text(pilot, "✓ Right.")
            await pilot.press("escape", "]")
            await until_text(pilot, "What throughput will")
            await pilot.press("tab", *keys("2 Mbit/s"), "enter", "r")
            await until(pilot, lambda: own_journal.page("small", "ran").whole_runs == 1)
            await app.bench.close()
    found = outcomes(own_journal, course, tmp_path)
    done = (("asked", "how-much"), ("ran", "predict"), ("ran", "experiment"))
    assert [found[each] for each in done] == ["full"] * 3
    assert "tcptutor is open" not in enrol("carol")


async def test_an_open_page_takes_the_students_own_settings(
    own_journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "_LOOK_AGAIN", 0.05)
    lessons = shutil.copytree(LESSONS, tmp_path / "lessons")
    (lessons / "01-small" / "01-asked.md").write_text(VARIED)
    course = load_course(lessons)
    name = next(
        name for name in ("ada", "bob", "carol") if personal.variant(identity(name), "small", "asked", 7)
    )
    app = TutorApp(course, own_journal, lambda: FakeLab(), module="small")
    async with app.run_test(size=(80, 50), notifications=True) as pilot:
        await until_text(pilot, "The link has 20 Mbit/s")
        page = app.screen
        enrol(name)
        await until_new_page(pilot, page)
        own = course.for_student(identity(name)).modules[0].steps[0]
        assert own.experiment is not None
        await until_text(pilot, own.prose.strip())
        await pilot.press("r")
        await until(pilot, lambda: own_journal.page("small", "asked").whole_runs == 1)
        await app.bench.close()
    (file,) = own_journal.run_files("small", "asked")
    ran = load(Path(file)).experiment
    assert ran.path == own.experiment.experiment.path
    assert ran.seed == personal.run_seed(identity(name), "small", "asked")


async def test_a_run_whose_seed_was_chosen_before_enrolling_does_not_begin(
    own_journal: Journal, course: Course
) -> None:
    class SlowLab(FakeLab):
        async def warm(self) -> Any:
            await self.go_on.wait()
            return await super().warm()

    lab = SlowLab(plays=load(RUNS / "ada.tcprun"))
    app = TutorApp(course, own_journal, lambda: lab, module="small")
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "What throughput will")
        await pilot.press("tab", *keys("2 Mbit/s"), "enter", "r")
        await until(pilot, lambda: app.bench.busy)
        enrol("ada")
        lab.go_on.set()
        await until(pilot, lambda: not app.bench.busy)
        await until_text(pilot, "you enrolled meanwhile: press r")
        assert not own_journal.page("small", "ran").runs
        await pilot.press("r")
        await until(pilot, lambda: app.bench.live is not None and app.screen.is_complete)
        await asyncio.sleep(0)
        await app.bench.close()


def test_enrolling_speaks_of_earlier_work_only_where_it_may_not_count(own_journal: Journal) -> None:
    def answer() -> None:
        own_journal.visit("small", "asked")
        own_journal.respond("small", "asked", "which", Response((text_id("cwnd"),), True))

    assert "before" not in enrol("adda")
    answer()
    assert "before" not in enrol("ada"), "a typing error is corrected"
    answer()
    assert "before" in enrol("bob")
