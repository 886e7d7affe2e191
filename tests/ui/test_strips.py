"""The lines under the chart that say what limited a run over time, in words and marks."""

from __future__ import annotations

import pytest

from tcptutor import spec
from tcptutor.run import Run
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import axis, strips

from .fakes import GUEST, report


@pytest.fixture
def live() -> Live:
    parameters = {"rate": "100 Mbit/s", "delay": "50 ms", "duration": "18 s", "warmup": "2 s", "streams": "2"}
    experiment = spec.build("a/b", {"parameters": parameters})
    run = Run(id="r", experiment=experiment, environment=GUEST, started="2026-01-01T00:00:00+00:00")
    return Live("a", "b", run, report=report(run), state="ended")


def test_causes_are_written_out_where_they_fit(live: Live) -> None:
    wide = strips.causes(live, 120).plain
    assert wide.startswith("limited by  growing ─")
    assert " random loss, 95 % of the measured time ─" in wide
    assert len(wide) == 120
    assert "growing" not in strips.key(live, 120, full=True).plain


def test_marks_that_stand_alone_are_explained(live: Live) -> None:
    narrow = strips.causes(live, 64).plain
    assert narrow.startswith("limited by  gggggggg random loss, 95 % of the time (g growing) ")
    assert strips.key(live, 64, full=False).plain == ""
    slim = strips.causes(live, 40).plain
    assert slim.startswith("limited by  gggg random loss ─")
    assert len(slim) == 40
    assert strips.key(live, 40, full=False).plain == "g growing"


def test_a_cause_begins_where_it_does_on_the_chart(live: Live) -> None:
    line = strips.causes(live, 92).plain
    # 3 of 20 s on 80 columns.
    assert line.index(" random loss") - axis.GUTTER == 12


def test_phases_show_recoveries_that_are_shorter_than_a_column(live: Live) -> None:
    line = strips.phases(live, 78).plain
    assert line.startswith("flow 1 of 2 ")
    assert line.count("v") >= 5
    assert "v recovery" in strips.key(live, 78, full=True).plain


def test_no_mark_means_two_things() -> None:
    marks = [mark for _, mark in (*strips._CAUSES.values(), *strips._PHASES.values())]
    assert len(set(marks)) == len(marks)


def test_without_a_verdict_there_is_nothing(live: Live) -> None:
    live.report = None
    assert strips.causes(live, 80).plain == strips.phases(live, 80).plain == ""
    assert strips.key(live, 80, full=True).plain == ""
