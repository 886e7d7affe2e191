"""The screen of `tcptutor show`, as a student reads it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tcptutor.run import Run, load
from tcptutor.ui.frame import ShowApp
from tcptutor.ui.widgets.chart.chart import MIN_HEIGHT
from tcptutor.ui.widgets.panel.panel import RunPanel
from tests.ui.screen import text, until, until_text

from .places import FILES, RUNS, import_run

SIZES = [(80, 24), (120, 36)]


def app_of(run: Run) -> ShowApp:
    return ShowApp(run, Path("four.tcprun"))


@pytest.fixture
def run() -> Run:
    return load(RUNS / "four-lossy-streams.tcprun")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_run_is_shown_as_it_stood_beside_its_page(run: Run, size: tuple[int, int]) -> None:
    app = app_of(run)
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "why: random loss, 0.1 %")
        await until_text(pilot, "25 s")  # the axis's end: the chart is whole
        screen = text(app)
        for wanted in (
            "tcptutor · four.tcprun",
            "virtual machine",
            "parallel-streams/random-loss  Reno on a path with random loss",
            "fidelity valid",
            "cwnd, segments",
            "4 × Reno",
            "measured 36.7 Mbit/s",
            "q quit",
        ):
            assert wanted in screen
        assert "r runs it again" not in screen  # there is no lab
        assert max(map(len, screen.splitlines())) <= size[0]
        await pilot.press("q")
    assert app.return_code == 0


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_f_gives_each_flow_s_figures_and_back(run: Run, size: tuple[int, int]) -> None:
    app = app_of(run)
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "why: random loss")
        await pilot.press("f")
        await until_text(pilot, "mean cwnd")
        rows = [line.split() for line in text(app).splitlines() if line.strip()[:1] in "1234"]
        assert len([row for row in rows if "Mbit/s" in row]) == 4
        assert "why:" not in text(app)
        await pilot.press("f")
        await until_text(pilot, "why: random loss")


async def test_a_run_cut_short_says_so(run: Run) -> None:
    cut = msgspec.structs.replace(
        run, samples=run.samples[: len(run.samples) // 2], flows=[], complete=False, note="stopped by you",
        experiment_s=12.5,
    )  # fmt: skip
    app = app_of(cut)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "cut short at 12.5 of 25 s: stopped by you.")
        assert "cut short · fidelity valid" in text(app)


async def test_an_imported_run_says_what_it_is_and_what_it_lacks() -> None:
    app = app_of(import_run(FILES / "flent-4-tcp_nup.flent.gz"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "this lab did not check it")
        screen = text(app)
        assert "imported from flent 2.3.0" in screen
        assert "its path is not known" in screen
        assert "expected" not in screen
        assert screen.count("this lab did not check it") == 1


async def test_a_run_of_datagrams_has_figures_and_no_chart() -> None:
    app = app_of(import_run(FILES / "iperf3-3.21-udp.json"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "178605")
        assert "jitter" in text(app)


async def test_the_keys_are_listed_and_a_small_terminal_is_told(run: Run) -> None:
    app = app_of(run)
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "why: random loss")
        await pilot.press("question_mark")
        await until_text(pilot, "f  each flow's figures")
        assert "lock the prediction" not in text(app)
        await pilot.press("escape")
        await pilot.resize_terminal(60, 20)
        await until_text(pilot, "80 x 24 needed, this terminal is 60 x 20")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "why: random loss" in text(app))


async def test_the_chart_keeps_its_lines_beside_many_models() -> None:
    app = ShowApp(load(RUNS / "bbr-loss.tcprun"), Path("bbr-loss.tcprun"))
    async with app.run_test(size=(120, 60)) as pilot:
        await until_text(pilot, "Mathis, manual C=1")
        for size in ((120, 36), (120, 26), (80, 24)):
            await pilot.resize_terminal(*size)
            panel = app.screen.query_one(RunPanel)
            await until(
                pilot,
                lambda panel=panel: sum(line[10:11] in ("┤", "│") for line in panel.lines) >= MIN_HEIGHT,
            )
            await until_text(pilot, "the bottleneck is full")
            await until_text(pilot, "measured 9.35 Mbit/s")
        await pilot.press("v")
        await until_text(pilot, "bbr does not take a loss for congestion")
        assert text(app).count("bbr does not take a loss for congestion") == 1


async def test_an_import_shows_a_dash_for_what_its_file_does_not_tell() -> None:
    app = app_of(import_run(FILES / "iperf3-3.9-tcp-server-no-retransmits.json", {"rate": "20 Mbit/s"}))
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "the bottleneck is full")
        screen = text(app)
        for unknown in ("queue", "retransmitted", "losses", "0 measured", "Unknown"):
            assert unknown not in screen
        await pilot.press("f")
        await until_text(pilot, "mean cwnd")
        flows = [line.split() for line in text(app).splitlines() if "Mbit/s" in line]
        assert [flow[3:7] for flow in flows] == [["–"] * 4] * 3
