"""Lists of the bench: runs to compare, experiments to start from."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.base import places
from tcptutor.base.errors import JournalError, TutorError
from tcptutor.base.key_names import key_name
from tcptutor.course.experiments import short_name
from tcptutor.history.listing import ListedRun
from tcptutor.journal.saved import Benches, SavedBench
from tcptutor.run import Run, load
from tcptutor.study import background
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.history_state import HistoryState
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.bars import KeyBar
from tcptutor.ui.widgets.chart.comparison import comparison_run
from tcptutor.ui.widgets.history.run_table import results, settings_of, title, when
from tcptutor.ui.workbench import MAX_COMPARISONS, Workbench
from tcptutor.ui.workers import start_worker

_SAVED, _EXPERIMENT = "saved:", "experiment:"


class ComparisonList:
    """The student's runs, latest first; ticked runs are drawn for comparison. Calls `changed` after a choice."""

    def __init__(self, screen: TutorScreen, bench: Workbench, changed: Callable[[], None]) -> None:
        self._screen, self._bench = screen, bench
        self._changed = changed
        self._loading: set[str] = set()
        """Ids of runs being loaded."""

    def open(self) -> None:
        """Show the list and fill it as runs are loaded."""
        title = f"Runs to compare, up to {MAX_COMPARISONS}"
        listing = ChooseScreen(title, "loading your runs …", tick=lambda id: self._tick(id, listing))
        shown = self._screen.app.push_screen(listing)
        start_worker(self._screen, self._fill, listing, shown, group="lists")

    async def _fill(self, listing: ChooseScreen, shown: Awaitable[None]) -> None:
        await shown
        tutor = self._screen.tutor
        folder = tutor.journal.run_folder
        if folder is None:
            listing.say(f"No saved runs yet: press {key_name('workbench.run')} to make one.")
            return
        history = HistoryState(folder, tutor.course.root or places.lessons(), tutor.course)
        for notice in await asyncio.to_thread(history.read, {}):
            self._screen.notify(notice, severity="warning", timeout=10)
        runs = list(history.all)
        known = list(takewhile(history.is_current, runs))
        listing.put([self._choice(run) for run in known])
        for run in runs[len(known) :]:
            if not listing.is_attached:
                break
            found = await background.in_thread(history.summarize, run)
            if not found.problem:  # else it is damaged: the list of runs reports it
                listing.put([self._choice(found)])
        if not runs:
            listing.say(f"No saved runs yet: press {key_name('workbench.run')} to make one.")
        await asyncio.to_thread(history.save)

    def _choice(self, run: ListedRun) -> Choice:
        rate, _, _ = results(run)
        line = f"{when(run)}  {title(run)}  {rate:>12}  {settings_of(run)}"
        return Choice(run.id, line, self._bench.is_compared(run.id))

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
            start_worker(self._screen, self._put, id, listing, group="lists")
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
        listing = ChooseScreen("Start from", "loading the course …", remove=self._remove)
        self._screen.app.push_screen(listing, self._start_from)
        start_worker(self._screen, self._fill, listing, group="lists")

    async def _fill(self, listing: ChooseScreen) -> None:
        kept: tuple[SavedBench, ...] = ()
        problem = ""
        try:
            kept = await asyncio.to_thread(self._benches.all)
        except JournalError as error:
            problem = str(error)
        listing.put([Choice(_SAVED + each.name, _line(each), removable=True) for each in kept])
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
                name = id.removeprefix(_SAVED)
                self._bench.recall(next(each for each in self._benches.all() if each.name == name))
        except (TutorError, StopIteration) as error:
            self._screen.notify(str(error) or "it no longer exists", severity="error", timeout=10)
            return
        self._changed()

    def _remove(self, id: str) -> str:
        try:
            self._benches.remove(id.removeprefix(_SAVED))
        except JournalError as error:
            return str(error)
        return ""


def _line(bench: SavedBench) -> str:
    given = [*(f"{name} {text}" for name, text in bench.settings.items()), f"seed {bench.seed}"]
    return f"{bench.name}: {short_name(bench.experiment)}, {', '.join(given)}"


def _readable(file: Path) -> Run | None:
    try:
        return load(file)
    except TutorError:
        return None  # in progress or damaged: `tcptutor runs` reports it


TICKED, OPEN = "[x] ", "[ ] "


class Choice(NamedTuple):
    """An entry of the list."""

    id: str
    text: str
    ticked: bool | None = None
    """None if choosing the entry closes the list."""
    removable: bool = False
    """True if x removes the entry for good."""


class ChooseScreen(ModalScreen[str]):
    """A list of choices, dismissed with the id of the chosen entry, or "" if closed.

    `tick` and `remove` are called with an id and return an error message, or an empty string on success.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "tick", show=False, id="choose.tick"),
        Binding("x", "remove", "remove", show=False, id="choose.remove"),
        Binding("escape", "dismiss('')", "close", id="choose.close"),
    ]

    def __init__(
        self,
        title: str,
        empty: str,
        *,
        tick: Callable[[str], str] | None = None,
        remove: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__()
        self._title, self._empty = title, empty
        self._tick, self._remove = tick, remove
        self._choices: list[Choice] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="choose") as box:
            box.border_title = self._title
            yield OptionList(compact=True, markup=False)
            yield Static(self._empty, id="choose-said", markup=False)
            enter = "tick" if self._tick else "choose"
            entries = [
                FooterKey((("↑", "up"), ("↓", "down")), "move"),
                FooterKey((("Enter", "enter"),), enter),
            ]
            if self._remove:
                entries.append(FooterKey((("x", "x"),), "delete saved"))
            yield KeyBar(*entries, FooterKey((("Esc", "escape"),), "close"))

    def put(self, choices: Sequence[Choice]) -> None:
        """Append choices that are not in the list yet."""
        known = {each.id for each in self._choices}
        # Two files may hold the same run.
        choices = [each for each in {each.id: each for each in choices}.values() if each.id not in known]
        if not self.is_attached or not choices:
            return
        self._choices += choices
        listing = self.query_one(OptionList)
        listing.add_options([Option(_prompt(each), id=each.id) for each in choices])
        self._say("")
        if listing.highlighted is None:
            listing.highlighted = 0

    def say(self, text: str) -> None:
        """Show a line below the list."""
        if self.is_attached:
            self._say(text)

    def _say(self, text: str) -> None:
        self.query_one("#choose-said", Static).update(Content(text))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        choice = self._choices[event.option_index]
        if choice.ticked is None:
            self.dismiss(choice.id)
        else:
            self._toggle(event.option_index)

    def action_tick(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and self._choices[at].ticked is not None:
            self._toggle(at)

    def untick(self, id: str, why: str) -> None:
        """Untick a choice that could not be loaded."""
        at = next((at for at, each in enumerate(self._choices) if each.id == id), None)
        if at is not None and self.is_attached:
            self._mark(at, False)
            self._say(why)

    def _toggle(self, at: int) -> None:
        choice = self._choices[at]
        assert self._tick is not None
        refused = self._tick(choice.id)
        self._say(refused)
        if not refused:
            self._mark(at, not choice.ticked)

    def _mark(self, at: int, ticked: bool) -> None:
        self._choices[at] = self._choices[at]._replace(ticked=ticked)
        self.query_one(OptionList).replace_option_prompt_at_index(at, _prompt(self._choices[at]))

    def action_remove(self) -> None:
        listing = self.query_one(OptionList)
        at = listing.highlighted
        if at is not None and self._remove is not None and self._choices[at].removable:
            refused = self._remove(self._choices[at].id)
            self._say(refused)
            if not refused:
                del self._choices[at]
                listing.remove_option_at_index(at)


def _prompt(choice: Choice) -> Content:
    mark = "" if choice.ticked is None else TICKED if choice.ticked else OPEN
    return Content(mark + choice.text)
