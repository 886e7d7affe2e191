"""What stands on the screen, as a student reads it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual import events
from textual.app import App
from textual.pilot import Pilot
from textual.widget import Widget

from tcptutor.ui.frame import Frame
from tcptutor.ui.widgets.page.track import PageTrack
from tests import patience

# On a busy machine it takes longer than Textual waits for a screen to be drawn.
Pilot._wait_for_screen.__defaults__ = (600.0,)

_LOOKS = 10
"""Looks at a screen until all of it is rendered again, also when nothing was drawn."""
_drawings = 0
"""How often any app has drawn something in this process."""


def _counted(display: Callable[..., None]) -> Callable[..., None]:
    def count(*args: Any) -> None:
        global _drawings
        _drawings += 1
        display(*args)

    return count


App._display = _counted(App._display)  # type: ignore[method-assign]


@asynccontextmanager
async def _left_when_whole(app: Frame, **how: Any) -> AsyncIterator[Pilot[None]]:
    """Leave an app as its keys do: not before the page that was opened last is whole."""
    async with App.run_test(app, **how) as pilot:
        yield pilot
        deadline = patience.Deadline(10)
        while app.is_running and app._is_half_mounted() and deadline.left:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


Frame.run_test = _left_when_whole  # type: ignore[method-assign, assignment]

CHARACTERS = {"space": " ", "slash": "/", "full_stop": "."}


def text(app: App[Any]) -> str:
    """All lines of the screen."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


def part(app: App[Any], kind: type[Widget]) -> str:
    """The lines of a widget of the screen."""
    region = app.screen.query_one(kind).region
    lines = text(app).split("\n")[region.y : region.bottom]
    return "\n".join(line[region.x : region.right] for line in lines)


def page_states(app: App[Any]) -> list[str]:
    """States of the module's pages, as the line of pages shows them, with the current page in brackets."""
    track = app.screen.query_one(PageTrack)
    return [f"[{state}]" if at == track.here else state for at, state in enumerate(track.states)]


class Watched:
    """The text of a screen while a test waits: rendering all lines for each look takes a tenth of a processor."""

    def __init__(self, app: App[Any]) -> None:
        self._app, self._text = app, ""
        self._drawings = -1
        self._looks = 0

    def __call__(self) -> str:
        """Return the text as of the last drawing."""
        self._looks += 1
        if self._drawings != _drawings or self._looks % _LOOKS == 0:
            self._drawings = _drawings
            self._text = text(self._app)
        return self._text


async def until(pilot: Pilot[Any], condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait until it holds; fail with the screen if it never does."""
    deadline = patience.Deadline(seconds)
    while not condition():
        assert deadline.left, f"never came true; on the screen:\n{text(pilot.app)}"
        await pilot.pause(0.02)


async def until_text(pilot: Pilot[Any], wanted: str, seconds: float = 10) -> None:
    """Wait until `wanted` stands on the screen."""
    watched = Watched(pilot.app)
    await until(pilot, lambda: wanted in watched(), seconds)


async def settled(pilot: Pilot[Any], still: float = 0.15, seconds: float = 10) -> None:
    """Wait until nothing more is drawn: no worker runs, and the screen stays the same for `still` seconds."""
    deadline, since, before = patience.Deadline(seconds), time.monotonic(), ""
    watched = Watched(pilot.app)
    while time.monotonic() < since + patience.seconds(still):
        assert deadline.left, f"never stands still; on the screen:\n{before}"
        await pilot.pause(0.02)
        if (now := watched()) != before or any(not worker.is_finished for worker in pilot.app.workers):
            since, before = time.monotonic(), now


def press_at_once(app: App[Any], *names: str) -> None:
    """Keys that are all there before the first is handled: over a slow line, from a script, or by a quick hand."""
    for name in names:
        app.post_message(events.Key(name, CHARACTERS.get(name, name if len(name) == 1 else None)))


def keys(words: str) -> list[str]:
    """The keys that type `words`."""
    names = {character: name for name, character in CHARACTERS.items()}
    return [names.get(letter, letter) for letter in words]


async def click(pilot: Pilot[Any], wanted: str) -> None:
    """Click where that text stands."""
    lines = text(pilot.app).split("\n")
    y = next(number for number, line in enumerate(lines) if wanted in line)
    await pilot.click(offset=(lines[y].index(wanted), y))
