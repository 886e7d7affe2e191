"""The end of a module: what the student can do now, predictions and their errors; and what a right answer does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from tcptutor.course.activities.predict import Predict
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import Response
from tcptutor.course.step import Step
from tcptutor.journal import Journal
from tcptutor.notebook.module_summary import summarize
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.module_end import ModuleEndScreen
from tcptutor.ui.widgets.errors import error_chart
from tcptutor.ui.widgets.page.box import ActivityBox

from .four_modules import four_modules
from .made import MODULE, one_page
from .screen import text, until, until_text
from .test_footer import question

SAID_AND_MEASURED = [(40e6, 10e6), (20e6, 10e6), (5e6, 10e6), (9e6, 10e6), (10e6, 10e6), (10.5e6, 10e6)]


def six_predictions() -> Course:
    predict = Predict(prompt="What throughput?")
    steps = tuple(
        Step(id=f"page-{number}", title=f"Page {number}", prose="Words.", activities=(predict,))
        for number in range(1, 7)
    )
    objectives = ("Predict throughput",)
    module = Module(id="first", number=1, title="First", objectives=objectives, sources=(), steps=steps)
    return Course(title="Two modules", modules=(module, four_modules().modules[1]))


@pytest.fixture
def finished(journal: Journal) -> Journal:
    """A journal with six predictions that runs have answered."""
    for number, (said, measured) in enumerate(SAID_AND_MEASURED, start=1):
        where = "first", f"page-{number}"
        journal.visit(*where)
        given = Response(f"{said:g}", None, value=said, at=f"2026-01-0{number}T00:00:00+00:00")
        journal.respond(*where, "predict", given)
        journal.record_measurement(*where, "predict", measured)
    return journal


def test_the_best_and_the_worst_prediction_and_the_error_over_time(finished: Journal) -> None:
    summary = summarize(finished.record, six_predictions().modules[0])
    assert [each.page for each in summary.predictions] == [f"Page {number}" for number in range(1, 7)]
    assert summary.best is not None and (summary.best.page, summary.best.error) == ("Page 5", "right")
    assert summary.worst is not None and summary.worst.error == "4 × too high"
    assert summary.trend is not None and summary.trend.before == 2.0 and summary.trend.after < 1.12


def test_without_predictions_there_is_nothing_to_compare(journal: Journal) -> None:
    summary = summarize(journal.record, six_predictions().modules[0])
    assert (summary.best, summary.worst, summary.trend) == (None, None, None)


def test_a_larger_error_is_a_higher_bar() -> None:
    lines = error_chart([4.0, 2.0, 1.0], 40, 4).plain.splitlines()
    bars = [[line[9 + 3 * number] for line in lines[:4]] for number in range(3)]
    heights = [sum(cell != " " for cell in bar) for bar in bars]
    assert heights == [4, 2, 1]
    assert "× 4" in lines[0] and "right" in lines[3]


def test_as_many_bars_as_fit() -> None:
    lines = error_chart([1.5] * 200, 60, 4).plain.splitlines()
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_last_page_of_a_module_leads_past_its_summary(
    finished: Journal,
    lab: Any,
    size: tuple[int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    app = TutorApp(six_predictions(), finished, lambda: lab, module="first")
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "Page 6")
        await leave_page(app)
        await until(pilot, lambda: isinstance(app.screen, ModuleEndScreen))
        await until_text(pilot, "✓ predict throughput")
        await until_text(pilot, "40 Mbit/s, measured 10 Mbit/s: 4 × too high")
        assert "Enter 2 Congestion algorithms" in text(app)
        await pilot.press("c")
        await until(pilot, lambda: (tmp_path / "tcptutor-certificate-first.html").exists())
        await pilot.press("enter")
        await until_text(pilot, "1/14")


async def leave_page(app: App[Any]) -> None:
    await app.screen.action_onward()  # type: ignore[attr-defined]


async def test_what_is_left_of_a_module_comes_before_its_summary(journal: Journal, lab: Any) -> None:
    for number in range(1, 12):
        journal.visit("basics", f"page-{number}")
    app = TutorApp(four_modules(), journal, lambda: lab, module="basics")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "11/12")
        await pilot.press("enter")
        await until_text(pilot, "12/12")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModuleEndScreen))
        await pilot.press("escape")
        await until_text(pilot, "12/12")


async def test_a_right_answer_is_felt_for_a_moment(
    journal: Journal, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_MOTION")
    app = TutorApp(one_page(question("red"), question("blue")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Is it blue?")
        red, blue = app.screen.query(ActivityBox)
        pulses: list[ActivityBox[Any]] = []
        for box in (red, blue):
            monkeypatch.setattr(
                box, "add_class", lambda name, of=box: pulses.append(of) if name == "-pulse" else None
            )
        await pilot.press("tab", "1", "enter")
        await until_text(pilot, "✓ Right. It is.")
        await pilot.press("tab", "2", "enter")
        await until_text(pilot, "✗ Not yet.")
        assert pulses == [red]


async def test_without_motion_nothing_flashes(journal: Journal, lab: Any) -> None:
    app = TutorApp(one_page(question("red")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Is it red?")
        await pilot.press("tab", "1", "enter")
        await until_text(pilot, "✓ Right. It is.")
        assert not app.screen.query_one(ActivityBox).has_class("-pulse")
