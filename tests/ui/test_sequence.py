"""The sequence graph in the chart: with a cursor in a run whose ACKs were traced."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace as changed

from tcptutor.run import AckSample, AckTable, Retransmission, RetransmissionTable, Run
from tcptutor.study.live import Live
from tcptutor.ui.frame import ShowApp
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.widgets.readout import cursor_view
from tcptutor.ui.widgets.readout.cursor import Cursor, TimeSpan
from tcptutor.ui.widgets.readout.inspection import Inspection

from .lives import ONE, live_of, stored
from .screen import text, until, until_text

SEGMENT = 1448


def traced() -> Run:
    """A run with a trace that is easily told: a window of ten a tenth of a second, and one segment sent again."""
    rows = [
        AckSample(0, round(at / 10, 1), 10, 20, 0.1, 10 * at * SEGMENT, 10 * (at + 1) * SEGMENT, 64_000)
        for at in range(200)
    ]
    again = [Retransmission(0, 5.05, 505 * SEGMENT, 506 * SEGMENT)]
    return changed(stored(ONE), acks=AckTable(rows), retransmissions=RetransmissionTable(again))


def looking(live: Live) -> Inspection:
    history = History(live.run.experiment.seconds)
    history.follow(live.run)
    return Inspection(live, history)


def lines(into: Inspection, cursor: Cursor, width: int = 78, height: int = 22) -> list[str]:
    return [line.text for line in cursor_view.render(into, cursor, width, height)]


def bytes_of(into: Inspection, *spans: TimeSpan) -> Cursor:
    first = into.initial_cursor()
    return Cursor(5.0, first.run_span, first.flow, spans, shows_sequence=True)


def test_the_graph_stands_in_the_place_of_the_window() -> None:
    into = looking(live_of(traced()))
    shown = lines(into, bytes_of(into))
    assert shown[0].startswith("bytes of flow 1, MB  ⣶⣶ sent  R retransmitted  ⠤⠤ acknowledged")
    assert len(shown) == 22
    assert sum(line.count("R") for line in shown[1:10]) == 1
    window = lines(into, into.initial_cursor())
    assert not window[0].startswith("bytes")


def test_close_by_each_step_is_seen_and_what_part_of_the_run_it_is() -> None:
    into = looking(live_of(traced()))
    title, *graph = lines(into, bytes_of(into, TimeSpan(4.5, 1.0)))
    assert title.endswith("4.50 to 5.50 of 22 s") or "4.50 to 5.50 of" in title
    assert any("R" in line for line in graph[:10])
    assert max(map(len, (line.rstrip() for line in graph))) <= 78


def test_a_time_in_which_nothing_is_sent_is_told_so() -> None:
    into = looking(live_of(traced()))
    shown = lines(into, bytes_of(into, TimeSpan(20.5, 0.2)))
    assert shown[0].strip() == "the flow sends nothing here"
    assert len(shown) == 22


def test_a_trace_from_before_bytes_were_traced_has_no_graph() -> None:
    run = changed(stored(ONE), acks=AckTable([AckSample(0, 0.1, 10, 20, 0.05)]))
    assert not looking(live_of(run)).has_sequence
    assert not looking(live_of(stored(ONE))).has_sequence


async def test_a_key_draws_it_and_the_same_key_the_window_again() -> None:
    app = ShowApp(traced(), Path("a.tcprun"))
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "Mbit/s")
        assert "b bytes" not in text(app)
        await pilot.press("i")
        await until_text(pilot, "bytes  i close")
        await pilot.press("b")
        await until_text(pilot, "bytes of flow 1, MB")
        await pilot.press("b")
        await until(pilot, lambda: "bytes of flow" not in text(app))
        await pilot.press("b", "i")
        await until(pilot, lambda: "bytes of flow" not in text(app))
        assert app.screen.query_one(RunPanel).cursor is None
