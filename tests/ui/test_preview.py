"""A course that its author edits: pages shown again at each save, next to the linter's lines."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.authoring.lint import lint
from tcptutor.base import places
from tcptutor.journal import Journal
from tcptutor.ui.preview import preview_app
from tcptutor.ui.preview.edited_course import read_edited
from tcptutor.ui.preview.lint_panel import LintPanel
from tcptutor.ui.preview.preview_app import PreviewApp
from tcptutor.ui.preview.preview_page import PreviewPage
from tests.command import here as tcptutor

from .fakes import FakeLab
from .record import COURSE
from .screen import part, text, until, until_text

FIRST, SECOND = "01-one-link/01-to-read.md", "01-one-link/02-to-run.md"
Make = Callable[[], PreviewApp]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview_app, "_LOOK_EVERY", 0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(places.assets() / "example-course", tmp_path / "mine"))


@pytest.fixture
def make(folder: Path, journal: Journal, lab: FakeLab) -> Make:
    return lambda: PreviewApp(folder, read_edited(folder), journal, lambda: lab, lint)


def edit(folder: Path, file: str, old: str, new: str) -> None:
    before = (folder / file).read_text()
    assert old in before
    (folder / file).write_text(before.replace(old, new, 1))


def page(app: PreviewApp) -> PreviewPage:
    assert isinstance(app.screen, PreviewPage)
    return app.screen


async def test_a_save_shows_the_page_again_at_the_same_place(make: Make, folder: Path) -> None:
    app = make()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "no problems on this page")
        await pilot.press("space")
        await until(pilot, lambda: page(app).place.scroll > 0)
        place = page(app).place.scroll
        edit(folder, FIRST, "What would make this flow faster?", "What would make it faster?")
        await until_text(pilot, "What would make it faster?")
        await until(pilot, lambda: page(app).place.scroll == place)


async def test_answers_stay_over_a_save(make: Make, folder: Path) -> None:
    app = make()
    async with app.run_test(size=(80, 40)) as pilot:
        await until_text(pilot, "What limits it?")
        await pilot.press("tab", "1", "enter")
        await until(
            pilot, lambda: app.journal.page("one-link", "to-read").activity("what-limits").attempts == 1
        )
        edit(folder, FIRST, "Questions of three kinds", "Questions of some kinds")
        await until_text(pilot, "Questions of some kinds")
        await until(pilot, lambda: page(app).is_complete)
        assert app.journal.page("one-link", "to-read").activity("what-limits").attempts == 1


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_the_linters_lines_have_file_line_and_remedy(
    make: Make, folder: Path, size: tuple[int, int]
) -> None:
    app = make()
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "no problems on this page")
        edit(
            folder,
            FIRST,
            'page = "to-run"' if 'page = "to-run"' in (folder / FIRST).read_text() else "A **flow**",
            "A **thing**",
        )
        await until_text(pilot, "1 problem on this page")
        lines = (folder / FIRST).read_text().splitlines()
        number = next(number for number, line in enumerate(lines, 1) if "**thing**" in line)
        await until(pilot, lambda: f"{FIRST}:{number}" in "".join(part(app, LintPanel).split()))
        assert "**thing**" in part(app, LintPanel)
        panel, width = app.screen.query_one(LintPanel).region, app.size.width
        assert (panel.width < width) == (width >= 120)


async def test_a_page_that_cannot_be_read_keeps_its_last_good_version(make: Make, folder: Path) -> None:
    app = make()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "no problems on this page")
        good = (folder / FIRST).read_text()
        for bad in ("", good[:700], "+++\nhalf", good.replace("kind =", "knd =", 1), "\0\0"):
            (folder / FIRST).write_text(bad)
            await until_text(pilot, "Below: the page as it was before")
            shown = text(app)
            assert f"✗ {FIRST}" in shown
            assert "Questions of three kinds" in shown
            (folder / FIRST).write_text(good)
            await until(pilot, lambda: "Below: the page" not in text(app))
        edit(folder, FIRST, "Questions of three kinds", "Questions again")
        await until_text(pilot, "Questions again")


async def test_pages_that_are_renamed_deleted_and_added(make: Make, folder: Path) -> None:
    app = make()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Questions of three kinds")
        (folder / FIRST).rename(folder / "01-one-link/01-to-begin.md")
        await until(pilot, lambda: page(app).step.id == "to-begin")
        (folder / "01-one-link/01-to-begin.md").unlink()
        await until(pilot, lambda: page(app).step.id == "to-run")
        shutil.copy(places.assets() / "example-course" / FIRST, folder / FIRST)
        await until(pilot, lambda: page(app).module.step_ids[0] == "to-read")
        await until(pilot, lambda: page(app).is_complete)
        await pilot.press("left")
        await until_text(pilot, "Questions of three kinds")


@pytest.mark.parametrize("damage", ["course.toml", "module", "everything", "folder"])
async def test_nothing_crashes_when_files_are_gone(
    make: Make, folder: Path, tmp_path: Path, damage: str
) -> None:
    app = make()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "no problems on this page")
        shutil.copytree(folder, tmp_path / "kept")
        if damage == "course.toml":
            (folder / "course.toml").unlink()
            await until_text(pilot, "the file is missing")
        elif damage == "module":
            shutil.rmtree(folder / "01-one-link")
            await until_text(pilot, "Below: the page as it was before")
        else:
            shutil.rmtree(folder)
            if damage == "everything":
                os.mkdir(folder)  # noqa: PTH102
            await until_text(pilot, "Below: the page as it was before")
        shutil.copytree(tmp_path / "kept", folder, dirs_exist_ok=True)
        await until(pilot, lambda: "Below: the page" not in text(app))
        await until_text(pilot, "no problems on this page")


async def test_a_course_without_a_page_waits_for_one(make: Make, folder: Path) -> None:
    good = (folder / FIRST).read_text()
    for each in (folder / "01-one-link").glob("*.md"):
        each.unlink()
    (folder / FIRST).write_text("nothing yet")
    app = make()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, f"{FIRST}:1")
        (folder / FIRST).write_text(good)
        await until_text(pilot, "Questions of three kinds")
        await until(pilot, lambda: page(app).is_complete)
        await pilot.press("m")
        await until_text(pilot, "My course")


async def test_another_page_is_found_and_edited(make: Make, folder: Path) -> None:
    app = make()
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "no problems on this page")
        edit(folder, SECOND, 'title = "A page to run"', 'title = "Zebra crossing"')
        await until_text(pilot, "“Zebra crossing”")  # a link to it
        await until(pilot, lambda: page(app).is_complete)
        await pilot.press("slash", *"zebra")
        await until_text(pilot, "Zebra crossing")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PreviewPage) and app.screen.step.id == "to-run")
        edit(folder, SECOND, "Zebra crossing", "Zebra stripes")
        await until_text(pilot, "Zebra stripes")


async def test_a_save_during_a_run_keeps_the_run(tmp_path: Path, journal: Journal, lab: FakeLab) -> None:
    folder = Path(shutil.copytree(COURSE, tmp_path / "tested"))
    lab.hold_at = 3.0
    app = PreviewApp(folder, read_edited(folder), journal, lambda: lab, lint)
    async with app.run_test(size=(180, 45)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, PreviewPage) and app.screen.is_complete)
        await pilot.press("right")
        await until(pilot, lambda: page(app).step.id == "one-lossy-flow" and page(app).is_complete)
        await pilot.press("x", "y")
        await until(pilot, lambda: app.bench.live is not None and app.bench.live.run.experiment_s > 2.9)
        edit(folder, "01-one-flow/02-one-lossy-flow.md", 'title = "', 'title = "Saved: ')
        await until_text(pilot, "Saved: ")
        await until(pilot, lambda: page(app).is_complete)
        assert app.bench.busy
        lab.go_on.set()
        await until(pilot, lambda: page(app).step.has_run(journal.page("one-flow", "one-lossy-flow")))
        await until_text(pilot, "measured")
        await app.bench.close()


async def test_a_translator_sees_the_translation(folder: Path, journal: Journal, lab: FakeLab) -> None:
    assert tcptutor("course", "translate", folder, "de", "one-link/to-read").returncode == 0
    translated = f"de/{FIRST}"
    app = PreviewApp(folder, read_edited(folder, language="de"), journal, lambda: lab, lint)
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "no problems on this page")
        edit(folder, translated, "What limits it?", "Was ist die Grenze?")
        await until_text(pilot, "Was ist die Grenze?")
        await until(pilot, lambda: page(app).is_complete)
        edit(folder, translated, "A flow has a window of 50 kB", "Ein Fluss hat ein Fenster von 60 kB")
        await until_text(pilot, "1 problem on this page")
        await until(pilot, lambda: f"{translated}:" in part(app, LintPanel))
        await until_text(pilot, "What limits it?")  # the original
