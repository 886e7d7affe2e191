"""The lines under the chart that say what limited a run over time, in words and marks."""

from __future__ import annotations

from functools import cache

import pytest

from tcptutor.analysis import Report, report
from tcptutor.run import Run
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import axis, strips

from .fakes import recorded
from .made import eight


@cache
def told() -> tuple[Run, Report]:
    run = recorded(eight().experiment)
    return run, report(run)


@pytest.fixture
def live() -> Live:
    """Eight flows that a full queue held for 2 of 20 s, and random loss from then on."""
    run, whole = told()
    return Live("a", "b", run, report=whole, state="ended")


def test_causes_are_written_out_where_they_fit(live: Live) -> None:
    wide = strips.causes(live, 140).plain
    assert wide.startswith("limited by  bottleneck ─")
    assert " random loss, all of the measured time ─" in wide
    assert len(wide) == 140
    assert "bottleneck" not in strips.key(live, 140, full=True).plain


def test_marks_that_stand_alone_are_explained(live: Live) -> None:
    narrow = strips.causes(live, 64).plain
    assert narrow.startswith("limited by  bbbbb random loss, all of the time (b bottleneck) ")
    assert strips.key(live, 64, full=False).plain == ""
    slim = strips.causes(live, 40).plain
    assert slim.startswith("limited by  bbb random loss ─")
    assert len(slim) == 40
    assert strips.key(live, 40, full=False).plain == "b bottleneck"


def test_a_cause_begins_where_it_does_on_the_chart(live: Live) -> None:
    line = strips.causes(live, 92).plain
    # 2 of 20 s on 80 columns.
    assert line.index(" random loss") - axis.GUTTER == 8


def test_phases_show_recoveries_that_are_shorter_than_a_column(live: Live) -> None:
    line = strips.phases(live, 78).plain
    assert line.startswith("flow 1 of 8 ")
    assert line.count("v") >= 5
    assert "v recovery" in strips.key(live, 78, full=True).plain


def test_no_mark_means_two_things() -> None:
    marks = [mark for _, mark in (*strips._CAUSES.values(), *strips._PHASES.values())]
    assert len(set(marks)) == len(marks)


def test_without_a_verdict_there_is_nothing(live: Live) -> None:
    live.report = None
    assert strips.causes(live, 80).plain == strips.phases(live, 80).plain == ""
    assert strips.key(live, 80, full=True).plain == ""
