"""H: the student's runs, from the list to a run, to two and to several, and out of the list and back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from tcptutor.history import index
from tcptutor.history.names import LONGEST
from tcptutor.journal import Journal
from tcptutor.run import Run, save
from tcptutor.runs.conduct import finish
from tcptutor.ui.app import TutorApp
from tcptutor.ui.history_state import MOST_TICKED
from tcptutor.ui.screens.history import HistoryScreen
from tcptutor.ui.screens.history_views import ComparisonScreen, OverlayScreen
from tcptutor.ui.screens.stored import OpenedRunScreen

from .fakes import recorded
from .made import eight, lossy
from .screen import keys, press_at_once, settled, text, until, until_text

SIZES = [(80, 24), (120, 36)]
LOSSY, EIGHT, OTHER = "20260101-100000-aaa111", "20260102-110000-bbb222", "20260103-120000-ccc333"


def run(id: str, of: Any, **changed: Any) -> Run:
    experiment = of().experiment
    run = msgspec.structs.replace(recorded(experiment), id=id, experiment=experiment, **changed)
    run.started = f"{id[:4]}-{id[4:6]}-{id[6:8]}T{id[9:11]}:{id[11:13]}:{id[13:15]}+00:00"
    return run


@pytest.fixture
def folder(journal: Journal) -> Path:
    """Three runs: of a page, and two that no page is marked by."""
    assert journal.runs.folder is not None
    folder = journal.runs.folder
    folder.mkdir(exist_ok=True)
    page_run = run(LOSSY, lossy)
    journal.begin_run(page_run, "one-flow", "one-lossy-flow")
    journal.finish_run(page_run, finish(page_run, journal.runs)[0])
    for id, of in ((EIGHT, eight), (OTHER, lossy)):
        made = run(id, of)
        save(made, folder / f"{id}.tcprun")
    return folder


async def opened(pilot: Pilot) -> None:
    await until_text(pilot, "Press Enter to begin")
    await pilot.press("H")
    await until(pilot, lambda: isinstance(pilot.app.screen, HistoryScreen))
    await until(pilot, lambda: "reading …" not in text(pilot.app) and "random loss" in text(pilot.app))


def listed(app: Any) -> list[str]:
    """Days of the runs in the list."""
    return [line.split("Jan ")[0].split()[-1] for line in text(app).splitlines() if " Jan " in line[:20]]


@pytest.mark.parametrize("size", SIZES)
async def test_runs_are_listed_with_their_results(
    make_app: Callable[..., TutorApp], folder: Path, size: tuple[int, int]
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        rows = [line for line in text(app).splitlines() if " Jan " in line[:20]]
        assert [row.split()[0] for row in rows] == ["03", "02", "01"]
        assert all("bit/s" in row for row in rows)
        await until(pilot, lambda: (folder / index.NAME).exists())
        await pilot.press("end")
        await until_text(pilot, "page 1.2")


async def test_without_runs_it_says_what_to_do(make_app: Callable[..., TutorApp]) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Press Enter to begin")
        await pilot.press("H")
        await until_text(pilot, "No runs yet: press r on a page")
        await pilot.press("d", "c", "space", "enter", "escape")
        await until_text(pilot, "Press Enter to begin")


@pytest.mark.usefixtures("folder")
async def test_a_filter_is_typed_and_left(make_app: Callable[..., TutorApp]) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        press_at_once(app, "slash", *keys("eight"), "enter")
        await until(pilot, lambda: listed(app) == ["02"])
        await pilot.press("slash", *keys("nothing like it"), "enter")
        await until_text(pilot, "None of 3 runs")
        await pilot.press("escape")
        await until(pilot, lambda: listed(app) == ["03", "02", "01"])
        assert isinstance(app.screen, HistoryScreen)


@pytest.mark.usefixtures("folder")
async def test_a_run_is_opened_and_left(make_app: Callable[..., TutorApp]) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, OpenedRunScreen))
        await until_text(pilot, "eight")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, HistoryScreen))
        assert app.run_history is not None
        assert app.run_history.cursor == 1


@pytest.mark.usefixtures("folder")
async def test_a_name_is_given_found_and_kept(make_app: Callable[..., TutorApp]) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("e", *keys("my best"), "enter")
        await until_text(pilot, "“my best” lossy")
        await pilot.press("slash", *keys("best"), "enter")
        await until(pilot, lambda: listed(app) == ["03"])
        await pilot.press("e", *keys("x" * (LONGEST + 1)), "enter")
        await until_text(pilot, "✗ invalid name")
        await pilot.press("escape")
        await until_text(pilot, "“my best” lossy")
    assert "my best" in (app.journal.runs.folder.parent / "run-names.json").read_text()  # type: ignore[union-attr]


async def test_a_deleted_run_comes_back(make_app: Callable[..., TutorApp], folder: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("d")
        await until(pilot, lambda: listed(app) == ["02", "01"])
        await pilot.press("d")
        await until(pilot, lambda: listed(app) == ["01"])
        assert not (folder / f"{OTHER}.tcprun").exists()
        await pilot.press("u")
        await until(pilot, lambda: listed(app) == ["02", "01"])
        await pilot.press("escape", "H", "u")
        await until(pilot, lambda: listed(app) == ["03", "02", "01"])
        assert (folder / f"{OTHER}.tcprun").exists()


async def test_a_run_that_a_page_is_marked_by_stays(make_app: Callable[..., TutorApp], folder: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("end", "d")
        await until_text(pilot, "It stays: page 1.2 is marked by this run")
        assert (folder / f"{LOSSY}.tcprun").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("size", SIZES)
async def test_two_runs_are_compared(make_app: Callable[..., TutorApp], size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("c", "space", "down", "space", "c")
        await until(pilot, lambda: isinstance(app.screen, ComparisonScreen))
        await until_text(pilot, "B against A")
        lines = text(app).splitlines()
        streams = next(line for line in lines if line.split()[:1] == ["streams"])
        assert streams.split()[1:] == ["1", "8"]
        assert not any(line.split()[:1] == ["algorithm"] for line in lines)
        assert any(line.split()[:1] == ["throughput"] for line in lines)
        await pilot.press("escape")
        await until_text(pilot, "2 ticked")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("size", SIZES)
async def test_runs_are_drawn_over_each_other(
    make_app: Callable[..., TutorApp], size: tuple[int, int]
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("e", *keys("mine"), "enter", "space", "down", "space", "down", "space", "o")
        await until(pilot, lambda: isinstance(app.screen, OverlayScreen))
        await until_text(pilot, "throughput of all flows, Mbit/s")
        shown = text(app)
        assert all(f" {letter} " in shown for letter in "ABC")
        assert any(line.rstrip().endswith("A mine") for line in shown.splitlines())
        assert ("mean cwnd" in shown) == (size == (120, 36))
        await pilot.press("v")
        await until_text(pilot, "mean cwnd, segments")


async def test_no_more_are_ticked_than_can_be_told_apart(
    make_app: Callable[..., TutorApp], folder: Path
) -> None:
    for number in range(MOST_TICKED):
        shutil.copy(folder / f"{OTHER}.tcprun", folder / f"20260104-12000{number}-ddd{number}.tcprun")
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        for _ in range(MOST_TICKED + 1):
            await pilot.press("space", "down")
        await until_text(pilot, f"{MOST_TICKED} runs are ticked already")
        assert f"{MOST_TICKED} ticked" in text(app)


async def test_a_run_is_exported_into_the_current_folder(
    make_app: Callable[..., TutorApp], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("x", "r")
        await until_text(pilot, "Written:")
        assert (here / f"{OTHER}.tcprun").read_bytes() == (folder / f"{OTHER}.tcprun").read_bytes()
        await pilot.press("x", "r")
        await until_text(pilot, "exists already")
        await pilot.press("c")
        await until(pilot, lambda: (here / f"{OTHER}.csv").exists())


async def test_damage_costs_itself_and_a_line(make_app: Callable[..., TutorApp], folder: Path) -> None:
    (folder / index.NAME).write_text("nothing")
    (folder.parent / "run-names.json").write_text("nothing")
    (folder / "20260109-120000-eee999.tcprun").write_text("nothing")
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        await until_text(pilot, "cannot be read")
        assert len([line for line in text(app).splitlines() if " Jan " in line[:20]]) == 4
        await settled(pilot)
    assert "eee999" not in (folder / index.NAME).read_text()
    assert OTHER in (folder / index.NAME).read_text()


@pytest.mark.usefixtures("folder")
async def test_a_run_that_ends_meanwhile_appears(make_app: Callable[..., TutorApp]) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        app.bench.start("bench", "", lossy().experiment)
        await until_text(pilot, "4 runs")
        await app.bench.close()


@pytest.mark.usefixtures("folder")
async def test_it_opens_from_a_page_and_returns_there(make_app: Callable[..., TutorApp]) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "ready")
        page = app.screen
        await pilot.press("H")
        await until(pilot, lambda: isinstance(app.screen, HistoryScreen))
        await pilot.press("H", "escape")
        await until(pilot, lambda: app.screen is page)


@pytest.mark.usefixtures("folder")
async def test_a_run_is_found_by_its_verdict_and_opened(make_app: Callable[..., TutorApp]) -> None:
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "Press Enter to begin")
        await pilot.press("slash", *keys("random loss mbit"))
        await until_text(pilot, "Your runs")
        await until_text(pilot, "run 1 Jan")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, OpenedRunScreen))
