"""The first screen: what a newcomer reads, and going on where one was."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import msgspec
import pytest

from tcptutor.base import places
from tcptutor.course import OpenedCourse, loader, personal
from tcptutor.course import load as load_course
from tcptutor.course.page_record import PREDICT
from tcptutor.course.paths import PATHS, CoursePath
from tcptutor.journal import Journal
from tcptutor.run import Environment, load
from tcptutor.study.pages import PathProgress
from tcptutor.study.study import Study
from tcptutor.ui.widgets.home.modules import bar, layout
from tcptutor.ui.widgets.home.pictures import throughput
from tcptutor.ui.widgets.home.start import StartButton
from tests.journal.conftest import predict

from .fakes import FakeLab
from .four_modules import four_modules
from .record import COURSE, RUNS
from .screen import text, until_text
from .test_snapshots import keep_run


async def test_a_newcomer_is_told_what_this_is_and_how_to_begin(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(100, 36)) as pilot:
        await until_text(pilot, "Press Enter to begin")
        screen = text(app)
        assert "A course for tests" in screen
        assert "One flow" in screen
        assert " 0/2 " in screen
        await until_text(pilot, "kernel")
        await pilot.press("enter")
        await until_text(pilot, "What cwnd is")


async def test_the_lab_starts_behind_and_says_where_it_is(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "Experiments run in a virtual machine. Ready.")


async def test_without_a_lab_the_reason_stands_there_and_pages_work(course, journal) -> None:
    from tcptutor.ui.app import TutorApp

    app = TutorApp(
        course, journal, lambda: FakeLab(unavailable="no QEMU and no netem: `tcptutor setup` helps")
    )
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "No experiment can run here.")
        await until_text(pilot, "`tcptutor setup` helps")
        await pilot.press("enter", "]", "x", "y")
        await until_text(pilot, "✗ no QEMU and no netem")
        assert "One lossy flow" in text(app)


async def test_a_lab_that_is_rebuilt_says_so(course, journal) -> None:
    from tcptutor.ui.app import TutorApp

    class BuildingLab(FakeLab):
        def on_build(self) -> None:
            """Replaced by the bench."""

        async def warm(self) -> Environment:
            self.on_build()
            await self.go_on.wait()
            return await super().warm()

    lab = BuildingLab()
    app = TutorApp(course, journal, lambda: lab)
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "The lab is being rebuilt after an update")
        lab.go_on.set()
        await until_text(pilot, "Experiments run in a virtual machine. Ready.")


async def test_who_is_enrolled_is_told(make_app, journal: Journal) -> None:
    journal.enrol("Ada Lovelace", "ABCD-EFGH-2345-WXQG")
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Ada Lovelace · M marks")
        await until_text(pilot, "Press Enter to begin")


async def test_a_deadline_is_told_in_the_students_own_time(
    make_app, course, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "EST5")
    time.tzset()
    try:
        journal.enrol("ada", "ABCD-EFGH-2345-WXQG")
        marks = msgspec.structs.replace(course.marks, deadline="2027-02-01T00:59+01:00")
        app = make_app(of=msgspec.structs.replace(course, marks=marks))
        async with app.run_test(size=(80, 24)) as pilot:
            await until_text(pilot, "ada · due 31 Jan 2027 18:59 EST · M marks")
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_student_of_a_course_runs_with_seeds_of_its_own(make_app, journal: Journal, course) -> None:
    module = course.modules[0]
    step = next(step for step in module.steps if step.experiment)
    before = Study(module, step, journal).run_seeds(1).next
    journal.enrol("ada", "ABCD-EFGH-2345-WXQG")
    first = Study(module, step, journal).run_seeds(1).next
    assert before == 1
    assert first == personal.run_seed(journal.identity, module.id, step.id)
    run = load(RUNS / "lossy.tcprun")
    run.experiment = msgspec.structs.replace(run.experiment, seed=first)
    journal.begin_run(run, module.id, step.id)
    journal.finish_run(run, None)
    assert Study(module, step, journal).run_seeds(1).next == (first + 1) % personal.SEEDS


async def test_enter_goes_on_where_the_student_was(make_app, journal: Journal) -> None:
    journal.visit("one-flow", "what-cwnd-is")
    journal.visit("many-flows", "eight-flows")
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "Continue ▸ 2.1 Eight flows, ")
        assert " 1/2 " in text(app)
        await pilot.press("enter")
        await until_text(pilot, "Eight flows share the path")
        await pilot.press("m")
        await until_text(pilot, "Continue ▸ 2.1 Eight flows, ")
        assert isinstance(app.screen.focused, StartButton)


async def test_arrows_go_from_the_button_through_the_modules_and_back(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "Begin ▸ 1 One flow")
        await pilot.press("down", "down")
        await until_text(pilot, "Enter begins 2 Many flows")
        await pilot.press("down")
        assert isinstance(app.screen.focused, StartButton)
        await pilot.press("up", "enter")
        await until_text(pilot, "Eight flows share the path")


async def test_how_near_the_predictions_were_is_told_from_the_third_on(make_app, journal: Journal) -> None:
    for step, value in (("a", 9e6), ("b", 8e6), ("c", 12e6)):
        predict(journal, f"{value}", value, "one-flow", step)
        journal.record_measurement("one-flow", step, PREDICT, 10e6)
    journal.visit("one-flow", "what-cwnd-is")
    async with make_app().run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "1 of 3 within 10 % today; 3 so far, 20 % off in the median")


async def test_what_is_wrong_with_journal_or_lessons_is_said(course, lab, tmp_path) -> None:
    from tcptutor.ui.app import TutorApp

    journal = Journal.in_memory("nothing will be saved: the disk is full")
    app = TutorApp(course, journal, lambda: lab, problems=lambda: ["03-x/01-y.md: no title"])
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "nothing will be saved: the disk is full")
        await until_text(pilot, "03-x/01-y.md: no title")
        await until_text(pilot, "NOT SAVED")
    journal.close()


async def test_damage_is_named_at_80x24_whatever_else_is_on_the_screen(make_app) -> None:
    files = [f"{number}: {'very ' * 40}damaged" for number in range(3)]
    app = make_app(problems=lambda: files)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "2: very")
        last = [line.strip() for line in text(app).splitlines() if line.strip()][-2]
        assert last.endswith("damaged")


async def test_the_command_palette_opens_a_module_by_name(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+p")
        await pilot.press(*"many")
        await until_text(pilot, "module 2")
        await pilot.press("enter")
        await until_text(pilot, "Eight flows share the path")


async def test_four_modules_stand_in_order_with_what_is_left_of_each(make_app, journal: Journal) -> None:
    for page in range(1, 13):
        journal.visit("basics", f"page-{page}")
    for page in range(1, 8):
        journal.visit("algorithms", f"page-{page}")
    app = make_app(of=four_modules())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Essentials  19 of 60 pages, 15 min left")
        await until_text(pilot, "Continue ▸ 2.7 The page of Congestion algorithms")
        lines = [line for line in text(app).splitlines() if "/1" in line]
        assert [line.count("━") > 0 for line in lines] == [True, True, False, False]
        counts = ["12/12", "7/14", "0/16", "0/18"]
        assert all(count in line for line, count in zip(lines, counts, strict=True))
        ends = {line.index(count) + len(count) for line, count in zip(lines, counts, strict=True)}
        assert len(ends) == 1, "counts are aligned"
        await pilot.press("down")
        await until_text(pilot, "Enter reopens 1.1 The page of TCP basics")


async def test_todays_work_is_counted_and_unfinished_pages_are_named(make_app, journal: Journal) -> None:
    journal.visit("one-flow", "one-lossy-flow")
    journal.visit("one-flow", "what-cwnd-is")
    async with make_app().run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "1 min, 2 pages")
        await until_text(pilot, "Unfinished   1.2")


async def test_the_last_run_is_drawn_with_its_figures(make_app, journal: Journal, course) -> None:
    keep_run(journal, course, "one-flow", "one-lossy-flow")
    async with make_app().run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "Last run     1.2 One lossy flow")
        await until_text(pilot, "limited by random loss")


async def test_a_module_is_open_before_those_that_come_before_it_are_done(make_app, journal: Journal) -> None:
    journal.visit("basics", "page-1")
    app = make_app(of=four_modules())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Continue ▸ 1.1")
        await pilot.press("up")
        await until_text(pilot, "Enter begins 4 Pacing: 18 pages, about 5 min")
        await until_text(pilot, "Recommended first: 1 TCP basics, 2 Congestion algorithms")
        await pilot.press("enter")
        await until_text(pilot, "The page of Pacing with number 1")


async def test_the_first_screen_reads_no_page_and_a_module_its_own(
    journal: Journal, lab, monkeypatch
) -> None:
    from tcptutor.ui.app import TutorApp

    read = []
    monkeypatch.setattr(
        loader,
        "read_step",
        lambda file, *how, by=loader.read_step: read.append(file.path.name) or by(file, *how),
    )
    app = TutorApp(OpenedCourse(COURSE).course, journal, lambda: lab)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Begin ▸ 1 One flow")
        assert read == []
        assert "everything" not in text(app), (
            "the student follows the essentials, whose number is not known yet"
        )
        await pilot.press("enter")
        await until_text(pilot, "What cwnd is")
        assert read == ["01-what-cwnd-is.md", "02-one-lossy-flow.md"]


async def test_a_page_that_cannot_be_read_is_told_of_and_no_longer_counted(
    journal: Journal, lab, tmp_path: Path
) -> None:
    from tcptutor.ui.app import TutorApp

    folder = shutil.copytree(COURSE, tmp_path / "lessons")
    next(folder.glob("01-*/02-*.md")).write_text("no front matter")
    opened = OpenedCourse(folder)
    app = TutorApp(opened.course, journal, lambda: lab, problems=opened.problems)
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "the first line must be +++")
        await until_text(pilot, " 0/1 ")


@pytest.mark.parametrize("module", [None, "one-flow"])
async def test_a_damaged_journal_is_told_of_wherever_the_app_begins(
    course, lab, tmp_path: Path, module: str | None
) -> None:
    from tcptutor.ui.app import TutorApp

    (tmp_path / "journal.db").write_text("no database [/b] " * 100)
    journal = Journal.open(tmp_path / "journal.db")
    app = TutorApp(course, journal, lambda: lab, module=module)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await until_text(pilot, "the journal was damaged")
    journal.close()


@pytest.mark.parametrize("module", [None, "one-flow"])
async def test_a_hostile_page_is_told_of_in_printable_characters_wherever_the_app_begins(
    journal: Journal, lab, tmp_path: Path, module: str | None
) -> None:
    from tcptutor.ui.app import TutorApp

    folder = shutil.copytree(COURSE, tmp_path / "lessons")
    page = next(folder.glob("01-*/02-*.md"))
    page.write_text(page.read_text().replace("\n+++\n", "\n+++\n\x1b]52;c;c3RvbGVu\x07[/b]\n", 1))
    opened = OpenedCourse(folder)
    app = TutorApp(opened.course, journal, lambda: lab, problems=opened.problems, module=module)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await until_text(pilot, "U+001B")
        assert "\x1b" not in text(app)


@pytest.mark.parametrize("width", [72, 64, 112])
@pytest.mark.parametrize("done", [0, 1, 14, 27, 28])
def test_a_module_of_many_pages_has_one_line_however_far_it_is(width: int, done: int) -> None:
    modules = load_course(places.lessons()).modules
    progress: dict[str, dict[CoursePath, PathProgress]] = {
        each.id: dict.fromkeys(PATHS, PathProgress(min(done, len(each.step_ids)), len(each.step_ids), 95))
        for each in modules
    }
    _, *rows = layout(modules, progress, modules[0].id, width, "everything")
    for module, row in zip(modules, rows, strict=True):
        line, of = row.plain, progress[module.id]["everything"]
        assert len(line) <= width
        assert f" {of.done}/{of.total} " in line


@pytest.mark.parametrize("cards", [False, True])
def test_until_the_lessons_are_read_only_the_own_path_has_figures(cards: bool) -> None:
    modules = load_course(places.lessons()).modules
    progress: dict[str, dict[CoursePath, PathProgress]] = {
        each.id: {"everything": PathProgress(1, 32, None)} for each in modules
    }
    progress[modules[0].id]["essential"] = PathProgress(1, 14, 95)
    essentials = "\n".join(each.plain for each in layout(modules, progress, "", 78, "essential", cards=cards))
    assert "1/14" in essentials
    assert "1/32" not in essentials
    everything = "\n".join(
        each.plain for each in layout(modules, progress, "", 78, "everything", cards=cards)
    )
    assert everything.count("1/32") == len(modules)
    assert "1/14" not in everything


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_bar_is_full_or_empty_only_if_the_module_is(is_plain: bool) -> None:
    for done in range(61):
        full, rest = bar(done, 60, 10, is_plain=is_plain)
        assert len(full + rest) == 10
        assert bool(full) == (done > 0)
        assert (full in ("━" * 10, "■" * 10)) == (done == 60)


def test_the_last_runs_chart_marks_zero_and_the_link() -> None:
    steady = [(at / 10, 9.5e6) for at in range(100)]
    rows = throughput(steady, 10e6, 30, 4).plain.split("\n")
    assert [row[:6].strip() for row in rows] == ["link ┤", "│", "│", "0 ┤"]
    dots = [row[6:].replace("\u2800", " ").strip() for row in rows]
    assert [bool(row) for row in dots] == [True, False, False, False], "a line just below the link's"
    slow = throughput([(at, 1e6) for at in range(9)], 10e6, 30, 4).plain
    assert "1 Mbit/s ┤" in slow, "a slow flow is drawn up to its own maximum"


async def test_a_goal_for_a_day_is_chosen_kept_and_counted(make_app, journal: Journal) -> None:
    journal.visit("one-flow", "cwnd")
    app = make_app()
    async with app.run_test(size=(100, 36)) as pilot:
        await until_text(pilot, "1 min, 1 page")
        await pilot.press("ctrl+p", *"goal 30", "enter")
        await until_text(pilot, "1 of 30 min, 1 page")
    async with make_app().run_test(size=(100, 36)) as pilot:
        await until_text(pilot, "1 of 30 min, 1 page")
