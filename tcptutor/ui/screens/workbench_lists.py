"""Lists of the bench: runs to compare, experiments to start from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tcptutor.base import units
from tcptutor.base.errors import JournalError, TutorError
from tcptutor.course.experiments import short_name
from tcptutor.journal.benches import Benches, SavedBench
from tcptutor.run import Run, load
from tcptutor.ui import background
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.screens.choose import Choice, ChooseScreen
from tcptutor.ui.widgets.bench.comparison import comparison_run, setting_differences
from tcptutor.ui.workbench import MAX_COMPARISONS, Workbench

MAX_FILES = 60
"""Maximum number of listed runs, latest first."""

_KEPT, _EXPERIMENT = "kept:", "experiment:"


class ComparisonList:
    """The student's runs, latest first; ticked runs are drawn for comparison. Calls `changed` after a choice."""

    def __init__(
        self, screen: TutorScreen, bench: Workbench, benches: Benches, changed: Callable[[], None]
    ) -> None:
        self._screen, self._bench, self._benches = screen, bench, benches
        self._changed = changed
        self._loading: set[str] = set()
        """Ids of runs being loaded."""

    def open(self) -> None:
        """Show the list and fill it as runs are loaded."""
        title = f"Runs to compare, up to {MAX_COMPARISONS}"
        listing = ChooseScreen(title, "looking for your runs …", tick=lambda id: self._tick(id, listing))
        self._screen.app.push_screen(listing)
        self._screen.run_worker(self._fill(listing), group="lists")

    async def _fill(self, listing: ChooseScreen) -> None:
        folder, names = self._screen.tutor.journal.runs.folder, self._names()
        files = sorted(folder.glob("*.tcprun"), reverse=True)[:MAX_FILES] if folder else []
        found = 0
        for file in files:
            run = await asyncio.to_thread(_readable, file)
            if run is None:
                continue
            if not listing.is_attached and found:
                return
            found += 1
            listing.put([Choice(run.id, self._line(run, names), self._bench.is_compared(run.id))])
        if not found:
            listing.say("No saved runs yet: press r to make one.")

    def _names(self) -> dict[str, str]:
        try:
            return {each.run: each.name for each in self._benches.all()}
        except JournalError as error:
            self._screen.notify(str(error), severity="warning", timeout=10, markup=False)
            return {}

    def _line(self, run: Run, names: dict[str, str]) -> str:
        came = units.rate(sum(flow.throughput_bps for flow in run.flows)) if run.flows else "cut short"
        name = names.get(run.id) or short_name(run.experiment.name)
        differences = setting_differences(run.experiment, self._bench.experiment)
        return f"{_when(run.started)}  {name}  {came:>12}  {differences}"

    def _tick(self, id: str, listing: ChooseScreen) -> str:
        if self._bench.is_compared(id):
            self._bench.remove_comparison(id)
            self._changed()
        elif id in self._loading:
            return "still loading"
        elif len(self._bench.comparisons) + len(self._loading) >= MAX_COMPARISONS:
            return f"already comparing {MAX_COMPARISONS} runs: remove one first"
        else:
            self._loading.add(id)
            self._screen.run_worker(self._put(id, listing), group="lists")
        return ""

    async def _put(self, id: str, listing: ChooseScreen) -> None:
        file = self._screen.tutor.journal.runs.file(id)
        run = await asyncio.to_thread(_readable, file) if file else None
        if run is None:
            listing.untick(id, "its file is missing or still being written")
        elif not self._bench.add_comparison(await background.in_thread(comparison_run, run)):
            listing.untick(id, f"already comparing {MAX_COMPARISONS} runs: remove one first")
        self._loading.discard(id)
        self._changed()


class StartList:
    """Saved settings, then the course's experiments. Calls `changed` after a choice."""

    def __init__(
        self, screen: TutorScreen, bench: Workbench, benches: Benches, changed: Callable[[], None]
    ) -> None:
        self._screen, self._bench, self._benches = screen, bench, benches
        self._changed = changed

    def open(self) -> None:
        """Show the list."""
        listing = ChooseScreen("Begin from", "reading the course …", take_out=self._remove)
        self._screen.app.push_screen(listing, self._start_from)
        self._screen.run_worker(self._fill(listing), group="lists")

    async def _fill(self, listing: ChooseScreen) -> None:
        kept: tuple[SavedBench, ...] = ()
        problem = ""
        try:
            kept = await asyncio.to_thread(self._benches.all)
        except JournalError as error:
            problem = str(error)
        listing.put([Choice(_KEPT + each.name, _line(each), removable=True) for each in kept])
        names = await asyncio.to_thread(self._bench.experiment_titles)
        listing.put([Choice(_EXPERIMENT + name, f"{name}  {title}") for name, title in names])
        listing.say(problem)

    def _start_from(self, id: str | None) -> None:
        if not id:
            return
        try:
            if id.startswith(_EXPERIMENT):
                self._bench.use_experiment(id.removeprefix(_EXPERIMENT))
            else:
                name = id.removeprefix(_KEPT)
                self._bench.recall(next(each for each in self._benches.all() if each.name == name))
        except (TutorError, StopIteration) as error:
            self._screen.notify(str(error) or "it no longer exists", severity="error", timeout=10)
            return
        self._changed()

    def _remove(self, id: str) -> str:
        try:
            self._benches.remove(id.removeprefix(_KEPT))
        except JournalError as error:
            return str(error)
        return ""


def _line(bench: SavedBench) -> str:
    given = [*(f"{name} {text}" for name, text in bench.settings.items()), f"seed {bench.seed}"]
    return f"{bench.name}: {short_name(bench.experiment)}, {', '.join(given)}"


def _when(started: str) -> str:
    try:
        return f"{datetime.fromisoformat(started).astimezone():%d %b %H:%M}"
    except ValueError:
        return started[:16]


def _readable(file: Path) -> Run | None:
    try:
        return load(file)
    except TutorError:
        return None  # in progress or damaged: `tcptutor runs` reports it
