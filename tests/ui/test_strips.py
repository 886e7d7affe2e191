"""The lines under the chart that say what limited a run over time, in words and marks."""

from __future__ import annotations

import pytest

from tcptutor import spec
from tcptutor.run import Run
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import strips

from .fakes import GUEST, report


@pytest.fixture
def live() -> Live:
    parameters = {"rate": "100 Mbit/s", "delay": "50 ms", "duration": "18 s", "warmup": "2 s", "streams": "2"}
    experiment = spec.build("a/b", {"parameters": parameters})
    run = Run(id="r", experiment=experiment, environment=GUEST, started="2026-01-01T00:00:00+00:00")
    return Live("a", "b", run, report=report(run), state="ended")


def test_causes_are_written_out_where_they_fit(live: Live) -> None:
    wide = strips.causes(live, 120).plain
    assert wide.startswith("limited by ")
    assert " growing ggg random loss rrrr" in wide
    assert wide.endswith("95 % of time")
    assert len(wide) == 120
    assert "growing" not in strips.key(live, 120, with_phases=True).plain


def test_marks_that_stand_alone_are_explained(live: Live) -> None:
    narrow = strips.causes(live, 62).plain
    assert "limited by g growing " in narrow  # where the other lines have their scale
    assert "ggg random loss rrr" in narrow
    slim = strips.causes(live, 50).plain
    assert len(slim) == 50
    assert strips.key(live, 50, with_phases=False).plain == "g growing"


def test_phases_show_recoveries_that_are_shorter_than_a_column(live: Live) -> None:
    line = strips.phases(live, 78).plain
    assert line.startswith("phases     flow 1 of 2")
    assert line.count("r") >= 5
    assert "r recovery" in strips.key(live, 78, with_phases=True).plain


def test_without_a_verdict_there_is_nothing(live: Live) -> None:
    live.report = None
    assert strips.causes(live, 80).plain == strips.phases(live, 80).plain == ""
    assert strips.key(live, 80, with_phases=True).plain == ""
