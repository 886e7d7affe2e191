"""A terminal in a page: opened, typed into, left and ended, and what comes of it in the chart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.pilot import Pilot

from tcptutor.lab.protocol import Finished
from tcptutor.run import Fidelity
from tcptutor.spec import Experiment
from tcptutor.ui.app import TutorApp
from tcptutor.ui.widgets.terminal.pane import TerminalPane
from tests.journal.conftest import latest_run

from .fakes import FakeLab, FakeSession, recorded
from .screen import keys, text, until, until_text

STEP = ("one-flow", "one-lossy-flow")
pytestmark = pytest.mark.usefixtures("without_state")


@asynccontextmanager
async def opened(
    make_app, lab: FakeLab, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[Pilot, FakeSession]]:
    app: TutorApp = make_app("one-flow")
    async with app.run_test(size=size) as pilot:
        await pilot.press("n")
        await until_text(pilot, "One lossy flow")
        await pilot.press("t")
        await until_text(pilot, "h1:~#", 1)
        assert lab.hands is not None
        yield pilot, lab.hands
        await app.bench.close()


async def test_what_is_typed_goes_to_the_shell_and_what_it_says_is_shown(make_app, lab) -> None:
    async with opened(make_app, lab) as (pilot, hands):
        await pilot.press(
            *keys("ping h2"), "enter", "ctrl+c", "up", "tab", "q", "ctrl+q", "question_mark", "escape"
        )
        shell = hands.shells["h1"]
        await until(pilot, lambda: shell.typed == b"ping h2\r\x03\x1b[A\tq\x11?\x1b")
        shell.says("\x1b[31mPING\x1b[0m h2 \x1b]0;title\x07\x1b[2;5Hthere")
        await until_text(pilot, "there")
        shell.says("\x1b[?1h\x1b[?2004h")
        pilot.app.post_message(events.Paste("one\ntwo"))
        await until(pilot, lambda: shell.typed.endswith(b"\x1b[200~one\rtwo\x1b[201~"))
        await pilot.press("up")
        await until(pilot, lambda: shell.typed.endswith(b"\x1bOA"))
        assert "One lossy flow" in text(pilot.app), "the page stands beside it"
