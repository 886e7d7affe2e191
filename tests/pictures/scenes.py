"""The screens of the README: which page, what the student does there, and when it is drawn."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from textual.pilot import Pilot

from tcptutor.course import load
from tcptutor.ui import themes
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.packet_steps_screen import PacketStepsScreen
from tcptutor.ui.widgets.home.last_run import LastRun
from tcptutor.ui.widgets.prose import player
from tcptutor.ui.widgets.prose.moving import MovingView
from tcptutor.ui.widgets.prose.playback import Playback
from tests.pictures import svg
from tests.pictures.student import student
from tests.ui.fakes import FakeLab
from tests.ui.screen import settled, until, until_text

TITLE = "tcptutor"
LOOK = svg.Look(themes.DARK.foreground or "", themes.DARK.background or "", "#4a5665")
FRAMES_PER_S = 8
_END_S = 1.5
"""Time for which the end of the animation stays."""

_LOSSY = "parallel-streams/one-lossy-flow"
_TRACED = "congestion-algorithms/slow-start"
_PIPE = "tcp-basics/the-path-as-a-pipe"
_HOME_DAYS = [
    """tcp-basics/a-file-in-pieces tcp-basics/two-segments-at-a-time tcp-basics/the-lab-and-its-sources
    tcp-basics/a-connection-in-a-capture tcp-basics/where-the-time-goes tcp-basics/a-larger-window
    tcp-basics/the-path-as-a-pipe tcp-basics/how-much-is-enough tcp-basics/more-than-the-pipe-holds
    tcp-basics/who-says-how-much tcp-basics/at-the-senders-end""".split(),
    """tcp-basics/a-buffer-that-grows tcp-basics/what-the-tools-tell tcp-basics/what-the-tools-hide
    tcp-basics/recap congestion-algorithms/what-the-sender-does-not-know congestion-algorithms/slow-start
    congestion-algorithms/the-sawtooth congestion-algorithms/duplicate-acks""".split(),
]
_PREDICTIONS = {
    "tcp-basics/two-segments-at-a-time": "200 kbit/s",
    "tcp-basics/a-larger-window": "8.5 Mbit/s",
    "tcp-basics/at-the-senders-end": "12 Mbit/s",
    "tcp-basics/a-buffer-that-grows": "20 Mbit/s",
    "congestion-algorithms/the-sawtooth": "18 Mbit/s",
    _LOSSY: "12 Mbit/s",
}


class Scene(NamedTuple):
    """A picture of the README."""

    size: tuple[int, int]
    days: list[list[str]]
    """MODULE/PAGE of each day's pages; the last one is open."""
    page: str
    """MODULE/PAGE to open; empty for the home screen."""
    draw: Callable[[Pilot[Any]], Awaitable[str]]


async def draw(name: str) -> str:
    """Return a picture as SVG."""
    scene = SCENES[name]
    async with _app(scene) as pilot:
        return await scene.draw(pilot)


@asynccontextmanager
async def _app(scene: Scene) -> AsyncIterator[Pilot[Any]]:
    course, module = load(), scene.page.partition("/")[0] or None
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict("os.environ", {"NO_MOTION": "", "XDG_DATA_HOME": folder}),
        # Time in figures passes by the frames of the picture, not by the clock.
        mock.patch.object(player.FigurePlayer, "_advance", lambda *_: 0.25),
        student(course, Path(folder) / "tcptutor", scene.days, _PREDICTIONS) as journal,
    ):
        lab: Any = FakeLab()
        app = TutorApp(course, journal, lambda: lab, module=module)
        app.theme = themes.DARK.name  # whatever the terminal shows
        async with app.run_test(size=scene.size) as pilot:
            await until_text(pilot, "eady", 60)
            await asyncio.sleep(1)  # what is shown for a moment is gone
            await settled(pilot, 0.5, 60)
            yield pilot
            await app.bench.close()


async def _still(pilot: Pilot[Any]) -> str:
    await settled(pilot, 0.5, 60)
    return svg.picture(TITLE, LOOK, svg.screen(pilot.app, LOOK))


async def _home(pilot: Pilot[Any]) -> str:
    await until(pilot, lambda: pilot.app.screen.query_one(LastRun).display, 60)
    return await _still(pilot)


async def _finished_run(pilot: Pilot[Any]) -> str:
    await until_text(pilot, "why:", 60)
    return await _still(pilot)


async def _step_view(pilot: Pilot[Any]) -> str:
    await until_text(pilot, "why:", 60)
    await pilot.press("i")
    await until_text(pilot, "packets", 60)
    await pilot.press("k")
    await until(pilot, lambda: isinstance(pilot.app.screen, PacketStepsScreen), 60)
    await pilot.press("j")  # to the loss before
    return await _still(pilot)


async def _figure(pilot: Pilot[Any]) -> str:
    view = pilot.app.screen.query(MovingView).first()
    motion = view.playback.motion
    count = round(motion.watch * FRAMES_PER_S)
    times = [motion.seconds * number / count for number in range(count + 1)]
    screens = []
    for t in times:
        view.show(Playback(motion, t, playing=t < motion.seconds, resting=False))
        await pilot.pause()
        screens.append(svg.screen(pilot.app, LOOK))
    screens += screens[-1:] * round(_END_S * FRAMES_PER_S)
    rest = min(range(len(times)), key=lambda number: abs(times[number] - motion.rest))
    return svg.animation(TITLE, LOOK, screens, 1 / FRAMES_PER_S, rest)


SCENES = {
    "home": Scene((120, 36), _HOME_DAYS, "", _home),
    "moving-figure": Scene((84, 30), [[_PIPE]], _PIPE, _figure),
    "finished-run": Scene((120, 36), [[_LOSSY, _LOSSY]], _LOSSY, _finished_run),
    "step-view": Scene((120, 36), [[_TRACED, _TRACED]], _TRACED, _step_view),
}
