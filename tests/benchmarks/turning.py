"""Processor time of a page turn: from the key to title and text on the screen, and to the complete page.

The clock counts all threads of the program, and not what other programs take of the machine.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from textual import events

from tcptutor.backends.lab import Lab
from tcptutor.course import load
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.widgets.page.box import ActivityBox

_QUIET = 0.15
"""Seconds without work after which the page counts as complete."""


class Turn(NamedTuple):
    """Processor seconds of one turn."""

    page: str
    boxes: int
    to_text: float
    to_complete: float


def turns(size: tuple[int, int] = (120, 36), pages: int = 20) -> list[Turn]:
    """Leaf through the first pages of the course."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_turns(Path(folder), size, pages))


def share_to_text(found: list[Turn]) -> float:
    """Return the median share of a turn's processor time after which title and text are on the screen.

    Pages without a question do not count: they have nothing to show later.
    """
    return statistics.median(turn.to_text / turn.to_complete for turn in found if turn.boxes)


async def _turns(folder: Path, size: tuple[int, int], pages: int) -> list[Turn]:
    journal = Journal.open(folder / "journal.db")
    course = load()
    app = TutorApp(course, journal, lambda: Lab("replay"), module=course.modules[0].id)
    async with app.run_test(size=size) as pilot:
        await _quiet(app)
        await pilot.pause(2)
        found = [await _turn(app) for _ in range(pages)]
    journal.close()
    return found


async def _turn(app: TutorApp) -> Turn:
    before, pressed = app.screen, time.process_time()
    app.post_message(events.Key("right", None))
    while app.screen is before or not isinstance(app.screen, LessonScreen) or not app.screen.is_seen:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    to_text = time.process_time() - pressed
    to_complete = await _quiet(app) - pressed
    return Turn(app.screen.step.id, len(app.screen.query(ActivityBox)), to_text, to_complete)


async def _quiet(app: TutorApp) -> float:
    """Return the processor time, s, at which the program last did something."""
    last, since = time.process_time(), time.monotonic()
    while time.monotonic() - since < _QUIET:
        await asyncio.sleep(0.005)
        now = time.process_time()
        # A look takes about 0.1 ms itself.
        if now - last > 0.002:
            last, since = now, time.monotonic()
    return last
