"""What is typed or turned on a page and not answered yet is there again, also after a restart."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Input

from tcptutor.course.activities.numeric import Numeric
from tcptutor.journal.saved import Drafts
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.widgets.page.box import ActivityBox

from .made import MODULE, STEP, one_page
from .screen import keys, text, until, until_text


def question(ask: str, *hints: str) -> Numeric:
    return Numeric(id=ask, prompt=f"How long is the {ask}?", answer="20 ms", unit="time", hints=hints)


def fields(app: TutorApp) -> list[str]:
    return [field.value for field in app.screen.query(Input)]


async def test_what_was_typed_is_there_again_on_the_page_and_after_a_restart(make_app, journal) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "Commit to a number")
        await pilot.press("tab", *keys("12 M"), "escape", "[")
        await until_text(pilot, "What cwnd is")
        await pilot.press("]")
        await until(pilot, lambda: "12 M" in fields(app))
        await pilot.press("m")
    assert journal.page("one-flow", "one-lossy-flow").activities == {}
    app = make_app("one-flow")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "12 M" in fields(app))


def test_a_file_that_cannot_be_read_has_no_drafts_and_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "drafts.json").write_text(
        '{"format_version": 1, "pages": {"m/s": {"a": "\\u001b[2J", "b": "5"}}}'
    )
    assert Drafts(tmp_path).page("m", "s") == {"b": "5"}
    (tmp_path / "drafts.json").write_text("nothing")
    drafts = Drafts(tmp_path)
    assert drafts.page("m", "s") == {}
    assert "damaged" in drafts.notice and len(list(tmp_path.glob("drafts.damaged-*"))) == 1
    assert drafts.save("m", "s", {"a": "5", "c": ["two", "one"], "k": {"window": "64 KiB"}})
    assert not drafts.save("m", "s", {"a": "5", "c": ["two", "one"], "k": {"window": "64 KiB"}}), (
        "nothing is new"
    )
    assert Drafts(tmp_path).page("m", "s") == {"a": "5", "c": ["two", "one"], "k": {"window": "64 KiB"}}
    assert drafts.save("m", "s", {})
    assert Drafts(tmp_path).page("m", "s") == {}


async def test_damaged_drafts_and_settings_cost_themselves_and_a_notice_each(make_app) -> None:
    app = make_app("one-flow")
    folder = app.journal.runs.folder.parent
    for name in ("drafts", "settings"):
        (folder / f"{name}.json").write_bytes(b"\x00{")
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: len(app._notifications) == 2)
        said = " ".join(each.message for each in app._notifications)
        assert "file of drafts was damaged" in said and "file of settings was damaged" in said


async def test_keys_speak_of_the_question_that_was_left_by_esc(journal, lab) -> None:
    course = one_page(question("first", "one"), question("second", "another", "three"))
    app = TutorApp(course, journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "How long is the second?")
        await pilot.press("tab", "3", "escape", "h")
        await until_text(pilot, "hint 1 of 1: one")
        await pilot.press("h")
        assert "another" not in text(app)
        page = journal.page(MODULE, STEP)
        assert (page.activity("first").hints, page.activity("second").hints) == (1, 0)
        await pilot.press("tab")
        first = app.screen.query(ActivityBox).first()
        assert first.query_one(Input) is app.focused
        await pilot.press("tab", "escape", "h")
        await until_text(pilot, "hint 1 of 2: another")


async def test_only_keys_that_do_something_are_offered(journal, lab) -> None:
    app = TutorApp(one_page(question("first")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "How long is the first?")
        await until_text(pilot, "Tab answer")
        line = text(app).splitlines()[-1]
        assert "? keys" in line
        assert not any(f" {each} " in line for each in ("t", "v", "r", "h", "u", "c"))
        lesson = app.screen
        await pilot.press("escape", "t")
        assert app.screen is lesson
        assert isinstance(lesson, LessonScreen)
        assert not any("no network" in told.message for told in app._notifications)
