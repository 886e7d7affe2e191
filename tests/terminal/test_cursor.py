"""What a cursor in a run costs the terminal, and how soon it is there: the worst run, eight flows in eight hues."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

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
    app = PtyApp(tmp_path, command=command, size=request.param)
    app.wait_for("why: ")
    app.read(patience.seconds(1.0))
    yield app
    app.close()


def pressed(app: PtyApp, key: str) -> tuple[int, float]:
    """Bytes that a key makes the app write, and the seconds until the first of them."""
    before, began = len(app.output), time.monotonic()
    app.key(key)
    first = 0.0
    size = before
    while True:
        app.read(0.005 if not first else patience.seconds(QUIET))
        if len(app.output) == size:
            if first or time.monotonic() - began > patience.seconds(2):
                return size - before, first
            continue
        first = first or time.monotonic() - began
        size = len(app.output)


def settled(app: PtyApp, key: str) -> int:
    """Bytes that a key makes the app write, with what is worked out after it."""
    before = len(app.output)
    pressed(app, key)
    app.read(patience.seconds(0.5))
    return len(app.output) - before


def test_a_step_sends_what_changes_and_is_there_at_once(app: PtyApp) -> None:
    settled(app, "i")
    steps = [pressed(app, key) for key in "..,.>.l.j..."]
    whole = settled(app, "i")
    assert max(size for size, _ in steps) <= STEP * whole
    assert min(size for size, _ in steps) > 0
    assert median(after for _, after in steps) <= patience.seconds(0.05)


def test_a_zoom_and_the_way_back_send_less_than_the_chart_itself(app: PtyApp) -> None:
    settled(app, "i")
    sizes = [settled(app, key) for key in "lzZzzZ"]
    assert max(sizes) <= PANEL * settled(app, "i")
    assert min(sizes) > 0
