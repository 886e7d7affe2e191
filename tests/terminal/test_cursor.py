"""What a cursor in a run costs the terminal: the worst run, eight flows in eight hues."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import patience
from tests.benchmarks.pty_app import PtyApp

pytestmark = pytest.mark.terminal

RUN = Path(__file__).parents[2] / "assets/recorded/parallel-streams/eight-flows-one-link.tcprun"
STEP, PANEL = 1 / 3, 0.85
"""Bytes of a step, and of a panel that shows another time, over those of the chart without a cursor."""

QUIET = 0.25
"""Seconds without a byte after which a key has been answered."""


@pytest.fixture(params=[(80, 24), (120, 36)], ids=["80x24", "120x36"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PtyApp]:
    command = (sys.executable, "-m", "tcptutor", "show", str(RUN))
    with PtyApp(tmp_path, command=command, size=request.param) as app:
        app.wait_for("why: ")
        app.read(patience.seconds(1.0))
        yield app
        app.close()


def pressed(app: PtyApp, key: str) -> int:
    """Bytes that a key makes the app write."""
    before, deadline = len(app.output), patience.Deadline(2)
    app.key(key)
    size = before
    while True:
        app.read(0.005 if size == before else patience.seconds(QUIET))
        if len(app.output) == size and (size > before or not deadline.left):
            return size - before
        size = len(app.output)


def settled(app: PtyApp, key: str) -> int:
    """Bytes that a key makes the app write, with what is worked out after it."""
    before = len(app.output)
    pressed(app, key)
    app.read(patience.seconds(0.5))
    return len(app.output) - before


def test_a_step_sends_what_changes(app: PtyApp) -> None:
    settled(app, "i")
    steps = [pressed(app, key) for key in "..,.>.l.j..."]
    whole = settled(app, "i")
    assert max(steps) <= STEP * whole
    assert min(steps) > 0


def test_a_zoom_and_the_way_back_send_less_than_the_chart_itself(app: PtyApp) -> None:
    settled(app, "i")
    sizes = [settled(app, key) for key in "lzZzzZ"]
    assert max(sizes) <= PANEL * settled(app, "i")
    assert min(sizes) > 0
