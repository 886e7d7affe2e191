"""A cursor in the chart of a run: what it tells, where it goes, and what that costs."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed
from textual.pilot import Pilot

from tcptutor.analysis import Instants, insight
from tcptutor.run import SampleTable, UdpSample, UdpTable
from tcptutor.study.live import Live
from tcptutor.ui.frame import ShowApp
from tcptutor.ui.screens.chart_screen import ARROWS, ChartScreen
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.widgets.readout import cursor_view
from tcptutor.ui.widgets.readout.cursor import Cursor, nearest_loss
from tcptutor.ui.widgets.readout.inspection import Inspection
from tests.journal.conftest import predict

from .lives import EIGHT, FOUR, ONE, WINDOW, ended, going, stored
from .screen import text, until, until_text

STEP = ("one-flow", "one-lossy-flow")
SIZES = [(78, 22), (62, 33), (110, 30), (40, 20)]


def looking(live: Live, understood: bool = True) -> Inspection:
    history = History(live.run.experiment.seconds)
    history.follow(live.run)
    made = Inspection(live, history)
    made.insight = insight(made.instants.run) if understood else None
    return made


def lines(into: Inspection, cursor: Cursor, width: int = 78, height: int = 22) -> list[str]:
    return [line.text for line in cursor_view.render(into, cursor, width, height)]


def told(into: Inspection, cursor: Cursor, width: int = 78, height: int = 22) -> str:
    return " ".join(" ".join(lines(into, cursor, width, height)).split())


def to_loss(into: Inspection, t: float) -> Cursor:
    """A zoom to the loss that is nearest to that time."""
    cursor = into.initial_cursor()
    loss = nearest_loss(into.losses(cursor.flow), t, 5)
    closer = cursor.move_to(t).zoom(loss, into.round_trip(cursor), into.latest.spacing(cursor.flow))
    assert closer is not None
    return closer


# What it tells


def test_an_instant_is_told_in_sentences() -> None:
    into = looking(ended(ONE))
    said = told(into, into.initial_cursor().move_to(29.0))
    for part in (
        "at 29.00 s: queue empty; link 1",
        "% used",
        "flow 1: cwnd ",
        "ssthresh ",
        "RTT 50.",
        "Mbit/s, avoidance",
    ):
        assert part in said
    assert "limited by random loss, 28 to 29 s: " in said or "limited by random loss, 29 to 30 s: " in said


def test_what_is_told_is_what_was_sampled() -> None:
    run = stored(ONE)
    into = looking(ended(ONE))
    for t in (5.02, 17.31, 40.44):
        row = [row for row in run.samples if row.t <= t][-1]
        assert f"flow 1: cwnd {row.cwnd}, ssthresh {row.ssthresh} segments" in told(
            into, into.initial_cursor().move_to(t)
        )


def test_at_a_loss_it_is_told_what_it_came_from() -> None:
    into = looking(ended(ONE))
    cursor = into.initial_cursor()
    assert "no loss and no mark here" in told(into, cursor.move_to(21.0))
    at = into.losses(0)[-1]
    said = told(into, cursor.move_to(at))
    assert "the path loses segments at random, and the bottleneck's queue dropped none" in said
    halved = re.search(r"loss at (.*) s: cwnd (\d+) to (\d+), 1 retransmitted", said)
    assert halved is not None and halved[1] == f"{at:.2f}"
    windows = [row.cwnd for row in stored(ONE).samples if at - 0.5 < row.t < at + 0.5]
    assert {int(halved[2]), int(halved[3])} <= set(windows)
    assert int(halved[3]) == int(halved[2]) // 2


def test_each_flow_can_be_told_of() -> None:
    into = looking(ended(FOUR))
    cursor = into.initial_cursor()
    for number in (1, 2, 3, 4, 1):
        assert f"flow {number}: cwnd " in told(into, cursor)
        cursor = into.next_flow(cursor)


def test_what_limited_each_flow_is_a_sentence_or_with_room_a_table() -> None:
    into = looking(ended(EIGHT))
    assert "all flows: limited by bottleneck" in told(into, into.initial_cursor())
    table = lines(into, into.initial_cursor(), 62, 33)[-9:]
    assert table[0].split() == ["flow", "cwnd", "ssthresh", "RTT,", "ms", "Mbit/s", "limited", "by"]
    assert [line.split()[-1] for line in table[1:]] == ["bottleneck"] * 8
    assert table[1].startswith("› 1 ")


def test_until_it_is_worked_out_nothing_is_said_of_the_cause() -> None:
    into = looking(ended(ONE), understood=False)
    said = told(into, into.initial_cursor())
    assert "limited by: known in a moment" in said
    assert "flow 1: cwnd " in said


def test_of_what_was_not_sampled_nothing_is_said() -> None:
    whole = stored(ONE)
    kept = SampleTable(row for row in whole.samples if not 20.0 < row.t < 25.0)
    live = Live("", "", changed(whole, samples=kept), state="ended")
    into = looking(live)
    said = told(into, into.initial_cursor().move_to(22.5))
    assert "flow 1: not known at this instant" in said


def test_a_run_of_datagrams_tells_of_these() -> None:
    whole = stored(ONE)
    rows = UdpTable(UdpSample(0, t / 10, 125_000 * t, 100 * t, t, 0.001) for t in range(450))
    live = Live("", "", changed(whole, samples=SampleTable(), udp_samples=rows, flows=[]), state="ended")
    into = looking(live)
    assert "UDP 1 10 Mbit/s arrive" in told(into, into.initial_cursor())
    closer = into.initial_cursor().zoom(None, 0.0, into.latest.spacing(-1))
    assert closer is not None
    assert "UDP 1 10 Mbit/s arrive" in told(into, closer)


def test_beyond_what_is_measured_a_run_that_goes_on_says_so() -> None:
    into = looking(going(ONE, 8.0))
    said = told(into, into.initial_cursor().move_to(20.0))
    assert "at 20.00 s: not measured yet; the run is at 7.95 s" in said
    assert "flow 1: cwnd " in told(into, into.initial_cursor().move_to(5.0))


# The zoom


def test_a_zoom_shows_round_trips_counted_from_the_loss() -> None:
    into = looking(ended(ONE))
    cursor = to_loss(into, 22.0)
    shown = lines(into, cursor)
    assert cursor.span.seconds < 1.5
    (trips,) = [line for line in shown if line.startswith("round trip")]
    assert "-1" in trips
    assert "+1" in trips
    assert f"{cursor.span.start:.2f} to {cursor.span.end:.2f} of 45 s" in shown[0]
    later = told(into, cursor.move_to(cursor.t + 3.5 * 0.0502))
    assert f"round trip 4 after the loss at {cursor.t:.3f} s: it takes 50." in later
    assert "and begins with cwnd 4" in later
    assert "segments arrive in it" in later


def test_a_zoom_has_ssthresh_and_no_mean_of_another_time() -> None:
    into = looking(ended(ONE))
    assert any("ssthresh┤" in line for line in lines(into, to_loss(into, 22.0)))
    assert "measured mean" not in told(into, to_loss(into, 22.0))


def test_a_zoom_is_drawn_from_all_samples_of_its_time() -> None:
    into = looking(ended(ONE))
    cursor = to_loss(into, 22.0)
    history = into.history(cursor)
    there = [row.cwnd for row in stored(ONE).samples if cursor.span.start <= row.t < cursor.span.end]
    drawn = [value for value in history.flows[0].last if value == value]
    assert drawn[1:] == there or drawn == there, "after what was so as it begins"
    assert sum(history.flows[0].losses) == 1


@pytest.mark.parametrize("start", [0.0, 0.3, 2.0, 6.9])
def test_what_is_counted_in_a_zoom_is_of_its_time_alone(start: float) -> None:
    run = stored(EIGHT)
    history = History(1.5, start)
    history.follow(run)
    queue = [row for row in run.queue if row.t < start][-1:] + [
        row for row in run.queue if start <= row.t < start + 1.5
    ]
    assert sum(history.queues[0].dropped) == queue[-1].drops - (queue[0].drops if queue[0].t < start else 0)
    for flow, mine in history.flows.items():
        rows = [row for row in run.samples if row.flow == flow and row.t < start + 1.5]
        before = [row.retransmits for row in rows if row.t < start]
        assert sum(mine.retransmits) == rows[-1].retransmits - (before[-1] if before else 0)
        assert sum(mine.losses) == sum(start <= t < start + 1.5 for t in looking_cuts(flow))


def looking_cuts(flow: int) -> list[float]:
    return Instants(stored(EIGHT)).cuts(flow)


def test_one_flow_stands_out_from_the_others() -> None:
    into = looking(ended(EIGHT))
    cursor = to_loss(into, 7.0)
    styles = {style for line in cursor_view.render(into, cursor, 78, 22)[1:9] for style in line.styles}
    assert "flow-1" in styles
    assert not {f"flow-{number}" for number in range(2, 9)} & styles


# Its shape and its cost


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [ONE, EIGHT, WINDOW, "bbr-loss", "timeouts", "jitter"])
def test_it_fills_whatever_it_is_given_wherever_the_cursor_is(name: str, size: tuple[int, int]) -> None:
    for live in (ended(name), going(name, 7.0)):
        into = looking(live)
        cursor = into.initial_cursor()
        zoomed = cursor.zoom(None, into.round_trip(cursor), into.latest.spacing(cursor.flow)) or cursor
        for at in (
            cursor,
            cursor.move_to(0.0),
            cursor.move_to(cursor.run_span.end),
            zoomed,
            zoomed.move_to(3.0),
        ):
            shown = lines(into, at, *size)
            assert len(shown) == size[1]
            assert max(map(len, shown)) <= size[0]


@pytest.mark.parametrize("size", SIZES[:2])
def test_a_step_changes_two_columns_and_what_is_told(size: tuple[int, int]) -> None:
    into = looking(ended(EIGHT))
    cursor = into.initial_cursor()
    columns = axes.columns(size[0])
    before, after = (
        cursor_view.render(into, each, *size) for each in (cursor.move(0, columns), cursor.move(1, columns))
    )
    told_from = next(number for number, line in enumerate(before) if line.text.startswith("at "))
    at = axes.GUTTER + cursor.column(columns)
    for was, now in zip(before[:told_from], after[:told_from], strict=True):
        differs = [x for x, (a, b) in enumerate(zip(was.cells(), now.cells(), strict=True)) if a != b]
        assert set(differs) <= {at, at + 1}


def test_the_cursor_is_a_line_in_the_chart_and_hides_no_flow() -> None:
    into = looking(ended(ONE))
    cursor = into.initial_cursor()
    at = axes.GUTTER + cursor.column(axes.columns(78))
    plain = into.backdrops
    shown = cursor_view.render(into, cursor, 78, 22)[1:9]
    assert plain
    column = [(line.text[at], line.styles[at]) for line in shown]
    assert any(cell == ("│", "strong") for cell in column)
    assert any(style == "cursor" and "\u2800" < text <= "\u28ff" for text, style in column)


@pytest.mark.parametrize("name", [ONE, EIGHT])
def test_a_move_is_told_within_50_ms(name: str) -> None:
    into = looking(ended(name))
    cursor = into.initial_cursor()
    cursor_view.render(into, cursor, 78, 22)
    took = []
    for by in range(20):
        before = time.thread_time()
        cursor_view.render(into, cursor.move(by, 53), 78, 22)
        took.append(time.thread_time() - before)
    assert sorted(took)[-2] < 0.05


# On the screens


def shown_app(name: str) -> ShowApp:
    return ShowApp(stored(name), Path(f"{name}.tcprun"))


async def into_chart(pilot: Pilot[Any]) -> RunPanel:
    await until_text(pilot, "why: ")
    await pilot.press("i")
    await until_text(pilot, "limited by ")
    await until_text(pilot, ": cwnd ")
    return pilot.app.screen.query_one(RunPanel)


def said(panel: RunPanel) -> str:
    return " ".join(" ".join(panel.lines).split())


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_stored_run_is_looked_into_by_keys(size: tuple[int, int]) -> None:
    async with shown_app(ONE).run_test(size=size) as pilot:
        panel = await into_chart(pilot)
        await until_text(pilot, "← → move")
        assert panel.cursor is not None
        before = panel.cursor.t
        await pilot.press("full_stop", "full_stop", "comma")
        assert (
            panel.cursor.column(panel._columns)
            == Cursor(before, panel.cursor.run_span).column(panel._columns) + 1
        )
        await pilot.press("l")
        assert panel.cursor.t in panel._inspection.losses(0)  # type: ignore[union-attr]
        await until_text(pilot, "loss at ")
        await pilot.press("z")
        await until_text(pilot, "round trip")
        await until_text(pilot, "Z out")
        await pilot.press("Z")
        await until(pilot, lambda: "round trip" not in text(pilot.app))
        await pilot.press("escape")
        await until_text(pilot, "why: ")
        assert panel.cursor is None
        assert "← → move" not in text(pilot.app)


async def test_the_chart_is_pointed_at_with_the_mouse() -> None:
    async with shown_app(ONE).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "why: ")
        panel = pilot.app.screen.query_one(RunPanel)
        left = panel.content_region.x + axes.GUTTER
        why = next(number for number, line in enumerate(panel.lines) if line.startswith("why: "))
        await pilot.click(offset=(left + 20, panel.content_region.y + why))
        assert panel.cursor is None, "a sentence is no chart"
        await pilot.click(offset=(left + 20, panel.content_region.y + 4))
        await until_text(pilot, "flow 1: cwnd ")
        assert panel.cursor is not None
        assert panel.cursor.column(panel._columns) == 20
        await pilot.click(offset=(left + 31, panel.content_region.y + 6))
        assert panel.cursor.column(panel._columns) == 31
        await pilot.click(offset=(2, panel.content_region.y + 6))
        assert panel.cursor.column(panel._columns) == 31, "the scale is no instant"


async def test_a_lesson_s_run_is_looked_into_while_it_goes_on_and_after(make_app, lab, journal) -> None:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    lab.hold_at = 6.0
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("]", "r")
        await until_text(pilot, "▶ 6 of 22 s")
        await pilot.press("i")
        await until_text(pilot, "flow 1: cwnd ")
        panel = app.screen.query_one(RunPanel)
        assert panel._live is not None
        assert panel._live.in_progress
        await until(
            pilot,
            lambda: "limited by random loss, " in said(panel) or "limited by bottleneck, " in said(panel),
        )
        lab.go_on.set()
        await until(pilot, lambda: panel._live is not None and panel._live.state == "ended")
        assert panel.cursor is not None, "it stays where it was"
        await pilot.press("l", "z")
        await until_text(pilot, "round trip")
        await pilot.press("right")
        assert panel.cursor is not None, "arrows are the page's"
        await app.bench.close()


async def test_esc_leaves_the_cursor_before_the_page(make_app, lab, journal) -> None:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    app = make_app("one-flow")
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("]", "r")
        await until_text(pilot, "why: random loss")
        await pilot.press("i")
        await until_text(pilot, "flow 1: cwnd ")
        await pilot.press("escape")
        await until_text(pilot, "why: random loss")
        lesson = app.screen
        await pilot.press("escape")
        assert app.screen is lesson
        await pilot.press("m")
        await until_text(pilot, "A course for tests")
        await app.bench.close()


async def test_its_letters_are_letters_in_a_field(make_app, journal) -> None:
    async with make_app("one-flow").run_test(size=(80, 24)) as pilot:
        await pilot.press("]", "r")
        await until_text(pilot, "Enter locks it in")
        await pilot.press("1", "full_stop", "5", "z", "i")
        await until_text(pilot, "1.5zi")


async def test_a_new_run_is_shown_whole(make_app, lab, journal) -> None:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("]", "r")
        await until_text(pilot, "why: random loss")
        await pilot.press("i", "z")
        panel = app.screen.query_one(RunPanel)
        await until(pilot, lambda: panel.cursor is not None)
        await pilot.press("r")
        await until(pilot, lambda: panel.cursor is None)
        await until_text(pilot, "why: random loss")
        await app.bench.close()


async def test_arrows_move_the_cursor_and_letters_turn_the_page(make_app, journal) -> None:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    app = make_app("one-flow")
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("]", "r")
        await until_text(pilot, "why: random loss")
        await pilot.press("i")
        panel = app.screen.query_one(RunPanel)
        await until(pilot, lambda: panel.cursor is not None)
        lesson, first = app.screen, panel.cursor.column(panel._columns)
        await pilot.press("right", "right", "right", "left")
        assert app.screen is lesson
        assert panel.cursor.column(panel._columns) == first + 2
        await pilot.press("[")
        await until(pilot, lambda: app.screen is not lesson)
        await app.bench.close()


def test_no_key_of_the_cursor_is_a_page_s() -> None:
    from tcptutor.ui.screens.lesson_keys import BINDINGS as PAGE
    from tcptutor.ui.screens.stored import StoredScreen

    def names(bindings: Any) -> set[str]:
        return {key for binding in bindings if binding not in ARROWS for key in binding.key.split(",")}

    mine = names(ChartScreen.__dict__["BINDINGS"]) - {"escape", "left", "right"}
    # Keys of a moving figure move the cursor while there is one: see test_moving.
    assert not mine & names(binding for binding in PAGE if not binding.id.startswith(("figure.", "cursor.")))
    assert not mine & names(StoredScreen.__dict__["BINDINGS"])
    assert not mine & {"t", "e", "w", "q", "question_mark", "f1", "ctrl+p"}


@pytest.mark.parametrize(("name", "offered"), [(ONE, True), (WINDOW, False)])
async def test_keys_for_losses_are_offered_only_where_there_are_losses(name: str, offered: bool) -> None:
    app = ShowApp(stored(name), Path(f"{name}.tcprun"))
    async with app.run_test(size=(120, 30)) as pilot:
        await until_text(pilot, "i look")
        await pilot.press("i")
        await until_text(pilot, "i close")
        assert ("j l loss" in text(app).splitlines()[-1]) == offered
