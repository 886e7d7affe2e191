"""The class on the screen: from the tables to a student, a page and a run, as found in the hand-ins."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.drill_down import ClassDetails, pages_view
from tcptutor.grading.survey import survey
from tcptutor.grading.views import TableView, histogram_lines, marks_in_tenths, percent
from tcptutor.ui.frame import ClassApp
from tcptutor.ui.screens.class_student import HandInRunScreen, PageScreen, StudentScreen
from tcptutor.ui.screens.classroom import ClassScreen
from tcptutor.ui.screens.table_screen import sort_key
from tcptutor.ui.widgets.view_table import column_widths
from tests.grading.evidence.student import KEY, LESSONS, Student, handed_in
from tests.grading.graded import graded
from tests.ui.screen import text, until, until_text


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Ada with everything; Bob with a wrong answer and a hint before the right one; Cleo with a single answer."""
    top = tmp_path_factory.mktemp("class")

    def wrong(one: Student) -> None:
        one.journal.hint("small", "asked", "which", 1)
        one.answer(1, "which", (1,))
        one.answer(1, "which")

    made = {"ada": Student.does_all, "bob": wrong, "cleo": lambda one: one.answer(1, "which")}
    return [
        handed_in(name, top / name, does).rename(top / f"{name}.tcphandin") for name, does in made.items()
    ]


@pytest.fixture
def app(files: list[Path]) -> ClassApp:
    basis = GradingBasis(LESSONS, KEY.code)
    found = graded(files, basis)
    shown = survey(found, basis.course)
    return ClassApp(shown, ClassDetails.of(found, shown))


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_enter_leads_from_a_student_to_a_run_and_esc_back(app: ClassApp, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "cleo")
        await pilot.press("enter")
        await until_text(pilot, "Pages of ada")
        assert "19 of 19 marks" in text(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, PageScreen))
        await until_text(pilot, "from 0.5 to")
        await pilot.press("down", "down")
        await until_text(pilot, "Enter open")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, HandInRunScreen))
        await until_text(pilot, "Mbit/s")
        for screen in (PageScreen, StudentScreen, ClassScreen):
            await pilot.press("escape")
            await until(pilot, lambda screen=screen: isinstance(app.screen, screen))  # type: ignore[misc]


async def test_a_page_shows_each_attempt_with_its_reason_and_the_hints(app: ClassApp) -> None:
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "bob")
        await pilot.press("down", "enter")
        await until_text(pilot, "which: right after 1 wrong, with a hint")
        await pilot.press("enter")
        await until_text(pilot, "1. ✗ RTT: That is a time.")
        assert "2. ✓ cwnd" in text(app)
        assert "Which of these is a window?" in text(app)


async def test_rows_are_searched_and_sorted_by_any_column(app: ClassApp) -> None:
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "cleo")

        def names() -> list[str]:
            return [word for word in text(app).split() if word in ("ada", "bob", "cleo")]

        assert names() == ["ada", "bob", "cleo"]
        await pilot.press("s", "S")
        await until(pilot, lambda: names() == ["cleo", "bob", "ada"])
        await pilot.press("s")
        await until(pilot, lambda: names() == ["ada", "cleo", "bob"])  # by marks, the most first
        await pilot.press("slash", "b", "o", "enter")
        await until(pilot, lambda: names() == ["bob"])
        await pilot.press("enter")
        await until_text(pilot, "Pages of bob")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: names() == ["ada", "cleo", "bob"])
        await pilot.press("slash", "x", "x", "x")
        await until_text(pilot, "no row has “xxx”")


async def test_no_screen_of_an_anonymous_class_has_a_name(app: ClassApp) -> None:
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "ada")
        await pilot.press("a", "enter")
        await until_text(pilot, "Pages of student 1")
        assert "ada" not in text(app)
        await pilot.press("down", "enter")
        await until_text(pilot, "the bottleneck is full")
        assert "ada" not in text(app)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, HandInRunScreen))
        await until_text(pilot, "student 1 ·")
        assert "ada" not in text(app).replace("bandwidth", "")


async def test_a_run_that_is_gone_is_said_to_be(app: ClassApp, files: list[Path], tmp_path: Path) -> None:
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "cleo")
        moved = files[0].rename(tmp_path / "gone.tcphandin")
        try:
            await pilot.press("enter", "down", "enter")
            await until_text(pilot, "the hand-in has no file of this run")
        finally:
            moved.rename(files[0])


async def test_the_histogram_counts_students_by_tenths(app: ClassApp) -> None:
    assert marks_in_tenths(app._survey) == [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    lines = histogram_lines(app._survey, 80, 3)
    assert len(lines) == 5
    assert lines[0].split() == ["1", "1", "1"]
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "ada")
        assert "90–100 %" not in text(app)
        for shows, key in (("h", "2"), ("1", "escape")):
            await pilot.press(shows)
            await until_text(pilot, "90–100 %")
            await pilot.press(key)
            await until(pilot, lambda: "90–100 %" not in text(app))


@pytest.mark.parametrize("opened", [[], ["h"]])
async def test_the_keys_at_80_columns_name_the_one_to_quit(app: ClassApp, opened: list[str]) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "cleo")
        await pilot.press(*opened)
        await until_text(pilot, "Esc back" if opened else "a names")
        assert "q quit" in text(app)


def test_the_reason_is_kept_where_an_answer_is_long() -> None:
    heads = ("", "what", "marks", "answer", "tries", "hints", "time", "why")
    cells = ("✗", "which", "0 of 1", "x" * 60, "1", "1", "10 s", "the answer is wrong")
    view = TableView("v", "V", heads, (False,) * 8, (cells,), ((),))
    widths = column_widths(heads, view, [0], 78)
    assert sum(widths) + 2 * len(widths) <= 78
    assert widths[-1] >= len("the answer is")


@pytest.mark.parametrize(
    ("share", "shown"), [(0, "0 %"), (0.0043, "0.4 %"), (0.0002, "0.02 %"), (0.0149, "1 %"), (1, "100 %")]
)
def test_a_share_below_a_percent_is_not_shown_as_none(share: float, shown: str) -> None:
    assert percent(share) == shown


def test_an_anonymous_class_has_no_words_of_the_teacher(app: ClassApp) -> None:
    assert app._details is not None
    grade = app._details.grades[1]
    decided = replace(grade, marks=tuple(replace(mark, decision="ada was ill (T.)") for mark in grade.marks))
    details = app._details._replace(grades={1: decided})
    assert "ada was ill" in repr(pages_view(details.grades[1]))
    assert "ada was ill" not in repr(pages_view(details.without_grounds().grades[1]))


async def test_enter_on_a_page_or_question_lists_what_each_student_did(app: ClassApp) -> None:
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "cleo")
        await pilot.press("2", "down", "enter")
        await until_text(pilot, "not done")
        assert [word for word in text(app).split() if word in ("ada", "bob", "cleo")] == [
            "ada",
            "bob",
            "cleo",
        ]
        await pilot.press("escape", "3", "enter")
        await until_text(pilot, "right after 1 wrong, with a hint")
        await pilot.press("slash", "h", "i", "n", "t", "enter", "enter")
        await until(pilot, lambda: isinstance(app.screen, PageScreen))
        await until_text(pilot, "bob · small/asked")


def test_cells_are_sorted_by_what_they_say() -> None:
    cells = ["9.5 Mbit/s", "", "950 kbit/s", "bob", "2:05", "45 s", "12 of 20", "Ada"]
    assert sorted(cells, key=sort_key) == [
        "",
        "12 of 20",
        "45 s",
        "2:05",
        "950 kbit/s",
        "9.5 Mbit/s",
        "Ada",
        "bob",
    ]
