"""A run on the screen: from the key to the verdict, and every way in which it can end before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from tcptutor.base.errors import TutorError
from tcptutor.journal import Journal
from tcptutor.run import Fidelity
from tcptutor.study.live import Live
from tcptutor.ui.app import TutorApp
from tcptutor.ui.line_meter import LineMeter
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.wire.protocol import VERSION, Ready
from tests.journal.conftest import latest_run, predict

from .fakes import GUEST, FakeLab
from .screen import text, until, until_text

STEP = ("one-flow", "one-lossy-flow")


@asynccontextmanager
async def opened(make_app, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Pilot]:
    app: TutorApp = make_app("one-flow")
    async with app.run_test(size=size) as pilot:
        await pilot.press("]")
        await until_text(pilot, "One lossy flow")
        yield pilot
        await app.bench.close()


async def held(pilot: Pilot, seconds: float) -> Live:
    """Wait until the run is where the lab holds it."""
    bench = pilot.app.bench
    await until(pilot, lambda: bench.live is not None and bench.live.run.experiment_s > seconds - 0.1)
    return bench.live


async def ended(pilot: Pilot, before: Live | None = None) -> Live:
    """Wait until a run other than `before` has ended and is on its panel."""
    app = pilot.app

    def is_shown() -> bool:
        live = app.bench.live
        if live is None or live is before or live.state != "ended":
            return False
        is_measured = live.report is not None or not live.run.complete
        return is_measured and app.screen.query_one(RunPanel).displayed_run is live

    await until(pilot, is_shown)
    return app.bench.live


async def test_a_run_ends_with_measured_models_own_and_why(make_app, journal) -> None:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    async with opened(make_app) as pilot:
        await pilot.press("r")
        live = await ended(pilot)
        assert live.report.throughput_bps == pytest.approx(22.1e6, rel=0.01)
        assert live.report.verdict.limited_by == "random-loss"
        panel = pilot.app.screen.query_one(RunPanel)
        await until_text(pilot, live.report.verdict.sentence[:20])
        assert any("⠁" <= letter <= "⣿" for letter in text(pilot.app)), "the chart is drawn in braille"
        pictures = [panel.lines]
        for view in ("models", "flows", "latency", "chart"):
            await pilot.press("v")
            await until(pilot, lambda: panel.lines != pictures[-1])
            pictures.append(panel.lines)
            if view == "models":
                labels = [each.prediction.label for each in live.report.comparisons]
                assert all(any(line.startswith(label) for line in panel.lines) for label in labels)
                assert panel.lines[-1].startswith("you"), "the student's own prediction"
        assert pilot.app.screen.query_one("#after").display, "what was to be seen"
    run = latest_run(journal, *STEP)
    assert run.complete
    assert run.environment.backend == "guest"


async def test_nothing_waits_for_a_run(make_app, lab: FakeLab) -> None:
    lab.hold_at = 5.0
    async with opened(make_app) as pilot:
        await pilot.press("x", "y")
        live = await held(pilot, 5.0)
        await pilot.press("2", "enter")
        await until_text(pilot, "✓ Right.")
        assert not pilot.app.screen.query_one("#after").display, "what was to be seen comes when it was seen"
        await pilot.press("[")
        await until_text(pilot, "What cwnd is")
        assert live.in_progress
        await pilot.press("]")
        await until(pilot, lambda: pilot.app.screen.query(RunPanel).first().displayed_run is live)
        lab.go_on.set()
        assert await ended(pilot) is live
    assert lab.runs == 1


async def test_stop_keeps_what_arrived_and_says_that_it_was_cut_short(make_app, lab, journal) -> None:
    lab.hold_at = 8.0
    async with opened(make_app) as pilot:
        await pilot.press("x", "y")
        await held(pilot, 8.0)
        await pilot.press("s")
        stopped = await ended(pilot)
        assert stopped.is_aborted
        assert lab.stopped == 1
        run = latest_run(journal, *STEP)
        assert (run.complete, run.note) == (False, "stopped by you")
        assert len(run.samples) == 160
        assert not pilot.app.screen.query_one("#after").display
        lab.hold_at = None
        await pilot.press("r")
        assert (await ended(pilot, before=stopped)).run.complete


async def test_leaving_stops_it_before_the_app_has_ended(make_app, lab, journal, monkeypatch) -> None:
    """A closed terminal answers nothing, and the app waits a while for its answer."""
    lab.hold_at = 8.0
    monkeypatch.setattr(LineMeter, "will_answer", True)
    async with opened(make_app) as pilot:
        await pilot.press("x", "y")
        await held(pilot, 8.0)
        pilot.app.exit()
        lab.go_on.set()
        await until(pilot, lambda: not pilot.app.bench.busy)
        run = latest_run(journal, *STEP)
        assert (run.complete, run.note) == (False, "tcptutor was closed")
        assert len(run.samples) == 160


async def test_an_agent_that_dies_is_one_line_and_r_works_again(make_app, lab, journal) -> None:
    lab.dies_at = 6.0
    async with opened(make_app) as pilot:
        await pilot.press("x", "y")
        dead = await ended(pilot)
        assert "agent ended" in dead.problem
        await until_text(pilot, f"✗ {dead.problem[:20]}")
        assert len(latest_run(journal, *STEP).samples) == 120
        lab.dies_at = None
        await pilot.press("r")
        assert not (await ended(pilot, before=dead)).problem
        await until(pilot, lambda: "agent ended" not in text(pilot.app))


async def test_a_defect_in_the_lab_does_not_take_the_page_away(make_app, lab, monkeypatch) -> None:
    async def broken(experiment):
        raise ZeroDivisionError("a bug")
        yield

    monkeypatch.setattr(lab, "run", broken)
    async with opened(make_app) as pilot:
        await pilot.press("x", "y")
        assert "ZeroDivisionError: a bug" in (await ended(pilot)).problem
        await until_text(pilot, "✗ the run failed")


async def test_a_replay_says_twice_where_it_is_and_is_entered_once(
    make_app, lab, journal, monkeypatch
) -> None:
    once = lab.run

    async def twice(experiment):
        yield Ready(VERSION, GUEST)
        async for event in once(experiment):
            yield event

    monkeypatch.setattr(lab, "run", twice)
    async with opened(make_app) as pilot:
        await pilot.press("x", "y")
        assert (await ended(pilot)).unsaved == ""
        assert "NOT SAVED" not in text(pilot.app)
    assert latest_run(journal, *STEP).complete


async def test_a_run_the_lab_does_not_believe_says_so(make_app, lab) -> None:
    lab.fidelity = Fidelity(status="suspect", reasons=("the machine was busy",))
    async with opened(make_app) as pilot:
        await pilot.press("x", "y")
        await until_text(pilot, "⚠ this run is suspect: the machine was busy")


async def test_only_one_run_at_a_time(make_app, lab) -> None:
    lab.hold_at = 3.0
    async with opened(make_app) as pilot:
        await pilot.press("x", "y")
        await held(pilot, 3.0)
        await pilot.press("]")
        await until_text(pilot, "Eight flows share")
        await pilot.press("r")
        await until_text(pilot, "Another run is in progress")
        assert lab.runs == 1
        await pilot.press("s")
        await until(pilot, lambda: lab.stopped == 1)


async def test_opening_again_goes_on_at_the_page_with_its_last_run(make_app) -> None:
    async with opened(make_app) as pilot:
        await pilot.press("x", "y")
        run = (await ended(pilot)).run.id
    again = make_app()
    async with again.run_test(size=(120, 40)) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: _shown_run(again) == run)
        assert "2/2" in text(again)
        await until(pilot, lambda: again.screen.query_one("#after").display)


def _shown_run(app: TutorApp) -> str:
    shown = [panel.displayed_run for panel in app.screen.query(RunPanel) if panel.displayed_run]
    return shown[0].run.id if shown else ""


async def test_a_run_cut_by_closing_the_app_is_there_when_it_opens_again(make_app, lab) -> None:
    lab.hold_at = 7.0
    async with opened(make_app) as pilot:
        await pilot.press("x", "y")
        run = (await held(pilot, 7.0)).run.id
    assert lab.closed
    again = make_app()
    async with again.run_test(size=(120, 40)) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: _shown_run(again) == run)
        await until_text(pilot, "tcptutor was closed")


async def test_a_journal_that_cannot_write_is_said_and_the_run_stays(make_app, journal, monkeypatch) -> None:
    from tcptutor.base.errors import JournalError

    def full(*_: object) -> None:
        raise JournalError("the disk is full: free some space")

    async with opened(make_app) as pilot:
        monkeypatch.setattr(journal, "_write", full)
        await pilot.press("x", "y", "2", "enter")
        await until_text(pilot, "✓ Right.")
        await until_text(pilot, "NOT SAVED")
        assert "the disk is full" in (await ended(pilot)).unsaved


async def test_a_page_that_is_left_while_its_run_is_read_takes_it_quietly(
    make_app, journal, course, monkeypatch
) -> None:
    from tcptutor.study import background
    from tcptutor.ui.widgets.page.page import Page

    from .test_snapshots import keep_run

    keep_run(journal, course, *STEP)
    recall, held = background.recall, []

    async def slow(*asked):
        held.append(await recall(*asked))
        await asyncio.Event().wait()  # until the app is closed

    monkeypatch.setattr(background, "recall", slow)
    async with make_app("one-flow").run_test() as pilot:
        await until(pilot, lambda: bool(held))
        screen = pilot.app.screen
        panel, page = screen.query_one(RunPanel), screen.query_one(Page)
    # What a thread gives a moment too late.
    panel.show(held[0], None)
    page.show_run(held[0].run)
    page.show_after(scroll=True)
    assert not panel.is_attached


async def test_a_run_that_cannot_be_saved_is_ended_by_the_next_start(
    make_app, journal, tmp_path, monkeypatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise TutorError("No space left on device: free some space")

    with monkeypatch.context() as patched:
        patched.setattr("tcptutor.runs.store.save", full)
        async with opened(make_app) as pilot:
            await pilot.press("x", "y")
            await until_text(pilot, "free some space")
            assert journal.unsaved
    (begun,) = journal.record.runs.values()
    assert not begun.ended
    for part in journal.runs._parts.values():
        part._close()  # as when the app ends
    again = Journal.open(tmp_path / "journal.db")
    run = latest_run(again, *STEP)
    assert run is not None
    assert run.complete
    assert again.page(*STEP).whole_runs == 1
    again.close()


async def test_the_run_of_a_page_is_expected_while_the_page_is_read(make_app, journal, lab) -> None:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    async with opened(make_app) as pilot:
        app = pilot.app
        assert lab.expected[0] is None
        await until(pilot, lambda: lab.expected[-1] is not None)
        await pilot.press("r")
        await until(pilot, lambda: app.bench.live is not None and app.bench.live.state == "ended")
        assert app.bench.live.run.experiment == lab.expected[-1]
        told = len(lab.expected)
        await pilot.press("[", "]")
        await pilot.pause(1.5)
        assert set(lab.expected[told:]) == {None}, "another draw is not expected"
