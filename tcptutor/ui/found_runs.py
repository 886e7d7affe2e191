"""The student's runs in the find box: name, experiment, result, settings and page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from itertools import islice

from tcptutor.base import places
from tcptutor.base.errors import JournalError, TutorError
from tcptutor.history.listing import ListedRun
from tcptutor.run import load
from tcptutor.study.matching import IndexedEntry, PaletteEntry, indexed
from tcptutor.ui.history_state import HistoryState
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.history.run_table import results, settings_of, title
from tcptutor.ui.workers import start_worker

_MOST_SUMMARIZED = 20
"""Runs to summarize before the others are found, 0.1 s each."""


async def find_runs(screen: TutorScreen) -> list[IndexedEntry]:
    """Index the student's runs; empty if none is stored. Summarizes the newest that are not summarized yet."""
    tutor = screen.tutor
    folder = tutor.journal.run_folder
    if folder is None:
        return []
    history = HistoryState(folder, tutor.course.root or places.lessons(), tutor.course)
    with contextlib.suppress(JournalError):  # other parts of the app report it
        for notice in await asyncio.to_thread(history.read, tutor.journal.pages_of_runs()):
            screen.notify(notice, severity="warning", timeout=10)
    await asyncio.to_thread(_summarize_newest, history)
    return await asyncio.to_thread(run_entries, screen, history.all)


def _summarize_newest(history: HistoryState) -> None:
    for run in islice(history.outdated(), _MOST_SUMMARIZED):
        history.update(history.summarize(run))
    history.save()


def run_entries(screen: TutorScreen, runs: Sequence[ListedRun]) -> list[IndexedEntry]:
    """Return the entries of runs, newest first."""
    modules = screen.tutor.course.modules
    titles = {(module.id, step.id): step.title for module in modules for step in module.steps}
    return [indexed(_entry(screen, run, titles)) for run in runs]


def _entry(screen: TutorScreen, run: ListedRun, titles: dict[tuple[str, str], str]) -> PaletteEntry:
    rate, cause, _ = results(run) if run.summary else ("", "", "")
    page = run.page and f"page {run.page.number} {titles.get((run.page.module, run.page.step), '')}".strip()
    facts = [rate, cause, settings_of(run), page or "on no page"]
    started = f"{run.started:%-d %b %H:%M}" if run.started else ""
    return PaletteEntry(
        "runs", title(run), f"run {started}", " · ".join(filter(None, facts)), partial(_open, screen, run)
    )


def _open(screen: TutorScreen, run: ListedRun) -> None:
    start_worker(screen.app, _load_and_show, screen, run)


async def _load_and_show(screen: TutorScreen, run: ListedRun) -> None:
    from tcptutor.ui.screens.stored import OpenedRunScreen  # noqa: PLC0415  # only on Enter

    try:
        loaded = await asyncio.to_thread(load, run.file)
    except TutorError as error:
        screen.notify(str(error), severity="error", markup=False)
    else:
        await screen.app.push_screen(OpenedRunScreen(loaded, f"Your runs · {title(run)}"))
