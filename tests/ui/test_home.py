"""The first screen: what a newcomer reads, and going on where one was."""

from __future__ import annotations

from tcptutor.course.record import PREDICT
from tcptutor.journal import Journal
from tests.journal.conftest import predict

from .fakes import FakeLab
from .screen import text, until_text


async def test_a_newcomer_is_told_what_this_is_and_how_to_begin(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(100, 36)) as pilot:
        await until_text(pilot, "Press Enter to begin")
        screen = text(app)
        assert "A course for tests" in screen
        assert "One flow" in screen
        assert "□□ 0/2" in screen
        await until_text(pilot, "Say what limits it")
        await pilot.press("enter")
        await until_text(pilot, "What cwnd is")


async def test_the_lab_starts_behind_and_says_where_it_is_and_why(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "guest · virtual clock · ready")
        await until_text(pilot, "kernel has no netem")


async def test_without_a_lab_the_reason_stands_there_and_pages_work(course, journal) -> None:
    from tcptutor.ui.app import TutorApp

    app = TutorApp(course, journal, FakeLab(unavailable="no QEMU and no netem: `tcptutor setup` helps"))
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "no lab here")
        await until_text(pilot, "`tcptutor setup` helps")
        await pilot.press("enter", "n", "x", "y")
        await until_text(pilot, "✗ no QEMU and no netem")
        assert "One lossy flow" in text(app)


async def test_enter_goes_on_where_the_student_was(make_app, journal: Journal) -> None:
    journal.visit("one-flow", "what-cwnd-is")
    journal.visit("many-flows", "eight-flows")
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "2 Many flows, “Eight flows”")
        assert "■□ 1/2" in text(app)
        await pilot.press("enter")
        await until_text(pilot, "Eight flows share the path")
        await pilot.press("escape")
        await until_text(pilot, "goes on where you were")


async def test_how_near_the_predictions_were_is_told_from_the_third_on(make_app, journal: Journal) -> None:
    for step, value in (("a", 9e6), ("b", 8e6), ("c", 12e6)):
        predict(journal, f"{value}", value, "one-flow", step)
        journal.answer("one-flow", step, PREDICT, 10e6)
    journal.visit("one-flow", "what-cwnd-is")
    async with make_app().run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Your 3 predictions that runs have answered were 20 % off in the median.")


async def test_what_is_wrong_with_journal_or_lessons_is_said(course, lab, tmp_path) -> None:
    from tcptutor.ui.app import TutorApp

    journal = Journal.in_memory("nothing will be saved: the disk is full")
    app = TutorApp(course, journal, lab, problems=("03-x/01-y.md: no title",))
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "nothing will be saved: the disk is full")
        assert "03-x/01-y.md: no title" in text(app)
        await until_text(pilot, "NOT SAVED")
    journal.close()


async def test_the_command_palette_opens_a_module_by_name(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+p")
        await pilot.press(*"many")
        await until_text(pilot, "Go to 2 Many flows")
        await pilot.pause(0.3)
        await pilot.press("down", "enter")
        await until_text(pilot, "Eight flows share the path")
