"""The list of 1,000 runs: from the key that opens it to its rows, and from a letter of a filter to what matches.

The journal has 10,000 events. The clock is the processor time of the program, all its threads together.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from textual import events
from textual.strip import Strip

from tcptutor.backends.lab import Lab
from tcptutor.base import places
from tcptutor.course import load
from tcptutor.history import index
from tcptutor.history.index import RunIndex
from tcptutor.journal import Journal
from tcptutor.journal.events import JournalEvent, RunEnded, RunStarted, Visited
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.history import HistoryScreen
from tcptutor.ui.widgets.history.run_table import RunTable
from tests.journal.made import fill, stored

_RUNS, _EVENTS, _KINDS = 1_000, 10_000, 20
_OPENINGS = 60
_PATIENCE = 30.0
"""Seconds after which the app has failed."""
_WORDS = ("random loss", "bottleneck", "streams 4", "window", "nothing like it")


class Latencies(NamedTuple):
    """Processor seconds."""

    openings: list[float]
    """The first one reads the index."""
    letters: list[float]


def measure(size: tuple[int, int] = (120, 36)) -> Latencies:
    """Open the list and type filters."""
    with tempfile.TemporaryDirectory() as folder:
        _make(Path(folder))
        return asyncio.run(_measure(Path(folder), size))


def _make(folder: Path) -> None:
    """Make the runs, their index and the journal: copies of a few runs, which are analyzed once."""
    runs = folder / "runs"
    runs.mkdir()
    recorded = (places.assets() / "recorded").rglob("*.tcprun")
    kinds = sorted(recorded, key=lambda file: file.stat().st_size)[:_KINDS]
    latest = datetime(2026, 3, 1, 12, tzinfo=UTC)
    files = []
    for number in range(_RUNS):
        started = latest - timedelta(minutes=number)
        files.append(runs / f"{started:%Y%m%d-%H%M%S}-{number:06x}.tcprun")
        shutil.copy(kinds[number % _KINDS], files[-1])
    found = RunIndex(runs, places.lessons())
    found.read()
    for file in files[:_KINDS]:
        found.summary(file)
    found.save()
    entries = json.loads((runs / index.NAME).read_text())
    for number, file in enumerate(files):
        stat = file.stat()
        entry = entries["runs"][files[number % _KINDS].name]
        entries["runs"][file.name] = {**entry, "size": stat.st_size, "changed_ns": stat.st_mtime_ns}
    (runs / index.NAME).write_text(json.dumps(entries))
    fill(folder / "journal.db", stored(_actions(files)))


def _actions(files: list[Path]) -> list[JournalEvent]:
    at = "2026-01-01T00:00:00.000+00:00"
    pages = [(module.id, step) for module in load().modules for step in module.step_ids]
    actions: list[JournalEvent] = []
    for number, file in enumerate(files):
        page = pages[number % len(pages)]
        actions += [Visited(at, *page)] * (_EVENTS // _RUNS - 2)
        actions.append(RunStarted(at, *page, file.stem, "tcp-basics/two-segments", file.name, 1, ""))
        actions.append(RunEnded(at, file.stem, True, "", file.name, ""))
    return actions


class _Watch:
    """Notes when the list is first drawn in a wanted state."""

    def __init__(self, app: TutorApp) -> None:
        self._app = app
        self._holds: Callable[[], bool] = lambda: False
        self._drawn = asyncio.Event()
        self._at = 0.0
        self._render = RunTable.render_line
        cast("Any", RunTable).render_line = lambda table, y: self._timed(table, y)

    def stop(self) -> None:
        cast("Any", RunTable).render_line = self._render

    def _timed(self, table: RunTable, y: int) -> Strip:
        strip = self._render(table, y)
        if not self._drawn.is_set() and self._holds():
            self._at = time.process_time()
            self._drawn.set()
        return strip

    async def press(self, key: str, holds: Callable[[], bool]) -> float:
        """Return the processor time from a key to the first line drawn while `holds` is true."""
        self._drawn.clear()
        self._holds = holds
        pressed = time.process_time()
        self._app.post_message(events.Key(key, " " if key == "space" else key))
        async with asyncio.timeout(_PATIENCE):
            await self._drawn.wait()
        return self._at - pressed


async def _measure(folder: Path, size: tuple[int, int]) -> Latencies:
    journal = Journal.open(folder / "journal.db")
    app = TutorApp(load(), journal, lambda: Lab("replay"))
    openings, letters = [], []
    async with app.run_test(size=size) as pilot:
        watch = _Watch(app)
        await pilot.pause(3)
        for number in range(_OPENINGS):
            openings.append(await watch.press("H", lambda: _has_rows(app)))
            await pilot.pause(0.1 if number else 1)
            await pilot.press("escape")
            await pilot.pause(0.1)
        await pilot.press("H")
        await pilot.pause(0.5)
        for words in _WORDS:
            await pilot.press("slash")
            await pilot.pause(0.1)
            for end, letter in enumerate(words, 1):
                key = {" ": "space"}.get(letter, letter)
                letters.append(await watch.press(key, partial(_is_filtered, app, words[:end])))
                await pilot.pause(0.05)
            await pilot.press("escape", "escape")
            await pilot.pause(0.1)
        watch.stop()
    journal.close()
    return Latencies(openings, letters)


def _has_rows(app: TutorApp) -> bool:
    return isinstance(app.screen, HistoryScreen) and any(table.row for table in app.screen.query(RunTable))


def _is_filtered(app: TutorApp, words: str) -> bool:
    return app.run_history is not None and app.run_history.words == words
