"""The bench on the screen: from a knob to what is expected, to a run, to runs beside, and back."""

from __future__ import annotations

import msgspec
from textual.pilot import Pilot

from tcptutor.base.errors import JournalError
from tcptutor.journal import Journal
from tcptutor.journal.saved import Benches
from tcptutor.runs.conduct import finish
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.dialogs import CommandLineScreen
from tcptutor.ui.screens.workbench import WorkbenchScreen
from tcptutor.ui.widgets.workbench.panel import WorkbenchPanel
from tests.journal.conftest import predict

from .fakes import FakeLab, recorded
from .screen import keys, press_at_once, text, until, until_text


async def opened(pilot: Pilot) -> None:
    await until_text(pilot, "ready")
    await pilot.press("e")
    await until_text(pilot, "expected 23.2 Mbit/s ±19 %, limited by random loss")


async def typed(pilot: Pilot, words: str) -> None:
    await pilot.press("enter")
    await pilot.press(*keys(words), "enter")


async def test_a_turned_knob_says_what_is_to_be_expected(make_app) -> None:
    app: TutorApp = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await until_text(pilot, "r runs it: 22 s of lab time, which take about 25 s here.")
        assert "expected trajectory" in text(app)
        await pilot.press("tab", "tab", "right")
        await until_text(pilot, "→ loss               0.2 % •")
        await until_text(pilot, "expected 16.2 Mbit/s ±16 %, limited by random loss")
        await pilot.press("d")
        await until_text(pilot, "expected 23.2 Mbit/s")
        assert "•" not in text(app)


async def test_every_knob_says_what_it_is_and_its_bounds(make_app) -> None:
    app: TutorApp = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await opened(pilot)
        assert "rate of the bottleneck" in text(app)
        assert "10 kbit/s to 100 Gbit/s, or none" in text(app)
        await pilot.press("up")
        await until_text(pilot, "tcp_sack=0")
        await typed(pilot, "tcp_sack=0")
        await until_text(pilot, "→ tcp_sack           0 •")
        await pilot.press("shift+tab", "down", "down")
        await until_text(pilot, "start of the random numbers")


async def test_what_cannot_be_run_is_told_at_the_knob_and_nothing_runs(make_app, lab: FakeLab) -> None:
    app: TutorApp = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("down", "down")
        await typed(pilot, "900ms")
        await until_text(pilot, "✗ jitter: larger than the delay")
        await until_text(
            pilot, "✗ these settings cannot be run: this is the forecast for the last that could"
        )
        assert "expected 23.2 Mbit/s" in text(app)
        await pilot.press("r")
        await until_text(pilot, "✗ Not started: these settings cannot be run.")
        await pilot.press("k")
        await until_text(pilot, "✗ Not saved")
        assert lab.runs == 0
        await pilot.press("up")
        await typed(pilot, "2s")
        await until(pilot, lambda: "✗" not in text(app))


async def test_a_run_ends_with_its_verdict_and_stands_beside_the_next_settings(
    make_app, journal: Journal
) -> None:
    app: TutorApp = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("r")
        await until_text(pilot, "why: random loss, 0.1 %")
        assert "measured 22.1 Mbit/s" in text(app)
        assert "✓ done: 22 s of lab time" in text(app)
        assert "R repeats" not in text(app), "the seed is a knob here"
        await pilot.press("c")
        await until_text(pilot, "[ ]")
        await pilot.press("enter")
        await until_text(pilot, "[x]")
        await pilot.press("escape", "tab", "tab", "right")
        await until_text(pilot, "A ⠤⠤⠤ 22.1 Mbit/s, random loss: loss 0.1 %")
        await until_text(pilot, "expected 16.2 Mbit/s")
        await pilot.press("v")
        await until_text(pilot, "why: random loss")
        await pilot.press("v", "v", "v", "v")
        await until_text(pilot, "expected 16.2 Mbit/s")
        run = app.bench.live.run
        assert journal.pages_of_runs() == {run.id: ("bench", "")}
        await app.bench.close()


async def test_a_run_is_drawn_beside_another_one(make_app) -> None:
    app: TutorApp = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("r")
        await until_text(pilot, "why: random loss")
        await pilot.press("c")
        await until_text(pilot, "[ ]")
        await pilot.press("space", "escape")
        await pilot.press("tab", "tab", "right", "r")
        await until_text(pilot, "loss 0.2 %")
        await until_text(pilot, "why: ")
        await until_text(pilot, " 22.1 Mbit/s, random loss: loss 0.1 %")
        await until_text(pilot, "this")
        await app.bench.close()


async def test_it_can_be_stopped_and_left_while_it_runs(make_app, lab: FakeLab) -> None:
    lab.hold_at = 8.0
    app: TutorApp = make_app()
    async with app.run_test(size=(100, 36)) as pilot:
        await opened(pilot)
        await pilot.press("r")
        await until_text(pilot, "▶ 8 of 22 s")
        await pilot.press("escape")
        await until_text(pilot, "running 8/22 s")
        await pilot.press("e")
        await until_text(pilot, "▶ 8 of 22 s")
        await pilot.press("s")
        await until_text(pilot, "cut short at 8.0 of 22 s: stopped by you")
        await app.bench.close()


async def test_leaving_keeps_the_knobs(make_app) -> None:
    app: TutorApp = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("right", "down", "e")
        await until_text(pilot, "Press Enter to begin")
        await pilot.press("e")
        await until_text(pilot, "rate               200 Mbit/s •")
        assert "→ delay" in text(app)


async def test_it_is_kept_under_a_name_with_its_run(make_app, journal: Journal) -> None:
    app: TutorApp = make_app()
    benches = Benches(journal.runs.folder.parent)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("right", "k", *["backspace"] * 20)
        # Letters are letters in the field, also those that are keys.
        await pilot.press(*keys("rebuke"), "enter")
        await until_text(pilot, "Bench · rebuke · one-flow/lossy")
        assert benches.all()[0].settings == {"rate": "200 Mbit/s"}
        assert not benches.all()[0].run
        await pilot.press("r")
        await until_text(pilot, "why: random loss")
        await until(pilot, lambda: benches.all()[0].run != "")
        await pilot.press("right")
        await until(pilot, lambda: "rebuke" not in text(app))
        await pilot.press("f")
        await until_text(pilot, "rebuke: lossy, rate 200 Mbit/s, seed 1")
        await until_text(pilot, "many-flows/eight  Eight Reno flows with random loss")
        await pilot.press("enter")
        await until_text(pilot, "Bench · rebuke")
        await pilot.press("f")
        await until_text(pilot, "many-flows/eight")
        await pilot.press("x", "escape")
        assert benches.all() == ()
        await app.bench.close()


async def test_what_cannot_be_taken_out_or_put_beside_stays_as_it_was(
    make_app, journal: Journal, monkeypatch
) -> None:
    app: TutorApp = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("k", *keys("x"), "enter", "r")
        await until_text(pilot, "why: random loss")

        def full(_self: Benches, _name: str) -> None:
            raise JournalError("no space is left: make room")

        monkeypatch.setattr(Benches, "remove", full)
        await pilot.press("f")
        await until_text(pilot, "many-flows/eight")
        await pilot.press("x")
        await until_text(pilot, "no space is left: make room")
        assert "x: lossy" in text(app)
        await pilot.press("escape", "c")
        await until_text(pilot, "[ ]")
        next(journal.runs.folder.glob("*.tcprun")).unlink()
        await pilot.press("enter")
        await until_text(pilot, "its file is missing")
        assert "[x]" not in text(app)
        await app.bench.close()


async def test_as_a_command_and_copied_by_osc_52(make_app, monkeypatch) -> None:
    app: TutorApp = make_app()
    sent = []
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("right", "a")
        line = "tcptutor run one-flow/lossy --set rate=200Mbit/s --seed 1"
        await until_text(pilot, line)
        monkeypatch.setattr(app, "copy_to_clipboard", sent.append)
        await pilot.press("enter")
        await until_text(pilot, "Sent to your terminal's clipboard.")
        assert sent == [line]
        await pilot.press("escape")
        assert not isinstance(app.screen, CommandLineScreen)


async def test_from_a_page_it_has_the_settings_of_the_run(make_app, journal: Journal, course) -> None:
    used = course.modules[0].steps[1].experiment.experiment
    predict(journal, "10 Mbit/s", 10e6, "one-flow", "one-lossy-flow")
    run = msgspec.structs.replace(
        recorded(used),
        id="r1",
        experiment=msgspec.structs.replace(used, seed=77),
        started="2026-01-01T00:00:00+00:00",
    )
    journal.begin_run(run, "one-flow", "one-lossy-flow")
    journal.finish_run(run, finish(run, journal.runs)[0])
    journal.visit("one-flow", "one-lossy-flow")
    app: TutorApp = make_app("one-flow")
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "why: random loss")
        await pilot.press("e")
        await until_text(pilot, "limited by random loss")
        await pilot.press("a")
        await until_text(pilot, "--seed 77")
        await pilot.press("escape", "escape")
        await until_text(pilot, "why: random loss")


async def test_a_page_whose_prediction_is_due_tells_nothing_of_it(make_app) -> None:
    app: TutorApp = make_app("many-flows")
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "Eight flows")
        page = app.screen
        due = page._study.due_before_run
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, WorkbenchScreen))
        assert (app.workbench.original.name == "many-flows/eight") == (due is None)


async def test_only_the_latest_of_many_turns_is_worked_out(make_app) -> None:
    app: TutorApp = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await pilot.press("tab", "tab")
        press_at_once(app, *["right"] * 5)
        panel = app.screen.query_one(WorkbenchPanel)
        await until(pilot, lambda: panel.forecast.experiment.path.loss == 0.05)
        await until_text(pilot, "→ loss               5 % •")


async def test_the_help_and_the_palette_have_it(make_app) -> None:
    app: TutorApp = make_app()
    async with app.run_test(size=(100, 36)) as pilot:
        await until_text(pilot, "ready")
        await pilot.press("question_mark")
        await until_text(pilot, "a bench of your own")
        await pilot.press("escape", "e")
        await until_text(pilot, "expected")
        await pilot.press("question_mark")
        await until_text(pilot, "choose up to five earlier runs to compare")
        await pilot.press("escape", "ctrl+p", *keys("as a com"))
        await until_text(pilot, "the shell command that runs the same")
        await pilot.press("enter")
        await until_text(pilot, "tcptutor run one-flow/lossy --seed 1")
