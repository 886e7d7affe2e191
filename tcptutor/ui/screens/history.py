"""The student's runs: filter, open, name, delete with undo, compare two, draw several over each other, export."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static
from textual.widgets.input import Selection

from tcptutor.base.errors import JournalError, TutorError
from tcptutor.base.key_names import key_name
from tcptutor.history.listing import ListedRun
from tcptutor.run import Run, load
from tcptutor.study import background
from tcptutor.ui import bindings
from tcptutor.ui.bindings import FooterKey, priority
from tcptutor.ui.history_state import HistoryState
from tcptutor.ui.messages import RunFinished
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.screens.history_views import ComparisonScreen, ExportScreen, OverlayScreen
from tcptutor.ui.screens.stored import OpenedRunScreen
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.history.run_table import RunTable, about, title, when
from tcptutor.ui.widgets.page.entries import Entry
from tcptutor.ui.workers import start_worker

_SAVE_EVERY = 25
"""New summaries between two writings of the index."""
_DELETION = "deletion"
"""Group of workers that delete and restore."""
_FILTER, _NAME = "filter", "name"
_TYPING = (
    FooterKey((("Enter", "enter"),), "accept", is_next=True),
    FooterKey((("Esc", "escape"),), "leave field"),
)
_ON_ROW = ("open", "name", "delete", "tick", "export", "move")
"""Actions on the run at the cursor."""
_TYPED = ("open", "name", "delete", "tick", "export", "filter", "compare", "overlay", "restore", "back")
"""Actions bound to keys that a field takes as input."""


class HistoryScreen(TutorScreen):
    """The list. Its state is in `HistoryState`, which outlives the screen."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        priority("up", "move(-1)", "up", "history.up", "the run above"),
        priority("down", "move(1)", "down", "history.down", "the run below"),
        Binding("pageup", "page(-1)", "page up", priority=True, show=False, id="history.page-up"),
        Binding("pagedown", "page(1)", "page down", priority=True, show=False, id="history.page-down"),
        Binding("home", "end(0)", "first", priority=True, show=False, id="history.first"),
        Binding("end", "end(1)", "last", priority=True, show=False, id="history.last"),
        priority("enter", "open", "open", "history.open", "open the run: chart, figures, flows"),
        priority(
            "slash",
            "filter",
            "filter",
            "history.filter",
            "only runs with these words: experiment, verdict, name",
        ),
        priority("space", "tick", "tick", "history.tick", "tick runs to compare, draw or export"),
        priority(
            "c", "compare", "compare", "history.compare", "compare two ticked runs: settings and results"
        ),
        priority(
            "o", "overlay", "overlay", "history.overlay", "draw up to eight ticked runs over each other"
        ),
        priority("e", "name", "name", "history.name", "give the run a name; an empty name removes it"),
        priority("d", "delete", "delete", "history.delete", "delete the run; u brings it back"),
        priority("u", "restore", "undo", "history.restore", "bring the last deleted run back"),
        priority(
            "x",
            "export",
            "export",
            "history.export",
            "copy the ticked runs, or this run, into the current folder",
        ),
        priority("escape", "back", "back", "history.back", "clear the filter, or go back"),
    ]
    FOOTER = (
        ("history.open", "open"),
        ("history.filter", "filter"),
        ("history.tick", "tick"),
        ("history.compare", "compare"),
        ("history.overlay", "overlay"),
        ("history.name", "name"),
        ("history.delete", "delete"),
        ("history.restore", "undo"),
        ("history.export", "export"),
        ("app.keys", "keys"),
        ("history.back", "back"),
    )
    OTHER_KEYS = (("PgUp PgDn Home End", "a screenful, the first and the last run"),)

    def __init__(self, history: HistoryState) -> None:
        super().__init__()
        self._history = history
        self._table = RunTable()
        self._entry = Entry("", self._submit_entry, self._close_entry)
        # Held rather than queried: runs may be read while the screen is being left.
        self._counts, self._heads = Static(id="run-count", markup=False), Static(id="run-heads", markup=False)
        self._details, self._message = (
            Static(id="run-about", markup=False),
            Static(id="run-said", markup=False),
        )
        self._label = Static(classes="label", markup=False)
        self._field = Horizontal(self._label, self._entry, classes="entry")
        self._field.display = False
        self._typed = ""
        """_FILTER or _NAME while a field is open."""
        self._named = ""
        """Id of the run being named."""
        self._deleting: set[str] = set()

    def compose(self) -> ComposeResult:
        yield TopBar()
        with Vertical(id="history"):
            yield self._counts
            yield self._heads
            yield self._table
            yield self._details
            yield self._field
            yield self._message
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(TopBar).show_place("Your runs")
        self._table.can_focus = False
        self._show()  # what was listed before, until it is read again

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        # A run may have been made, or deleted by another program, meanwhile. Known runs are drawn first.
        self.call_after_refresh(self._read)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.call_after_refresh(self._show)

    # Reading

    def _read(self) -> None:
        try:
            places = self.tutor.journal.pages_of_runs()
        except JournalError as error:
            places = {}
            self._say(str(error))
        self._start(partial(self._fill, places), "read")

    async def _fill(self, places: dict[str, tuple[str, str]]) -> None:
        """Show the index, then compute missing and outdated entries."""
        is_first = not self._history.has_read
        notices = await asyncio.to_thread(self._history.read, places)
        for notice in notices:
            self.notify(notice, severity="warning", timeout=10)
        self._show()
        if is_first:
            # So that the list does not wait for a collection over the whole course.
            self.call_after_refresh(background.freeze_gc)
        try:
            for number, run in enumerate(self._history.outdated(), 1):
                self._history.update(await background.in_thread(self._history.summarize, run))
                self._show()
                if number % _SAVE_EVERY == 0:
                    await asyncio.to_thread(self._history.save)
        finally:
            self._history.save()

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]], group: str) -> None:
        """Start a worker that replaces its group's workers; deletions run in sequence."""
        start_worker(self, work, group=group, exclusive=group != _DELETION)

    def bench_changed(self, message: Message) -> None:
        super().bench_changed(message)
        if isinstance(message, RunFinished):
            self._read()

    # Drawing

    def _show(self) -> None:
        if not self.is_attached:
            return
        history = self._history
        rows = history.rows()
        self._table.show(rows, history.ticked, history.cursor)
        self._heads.update(Content.styled(self._table.head(), "$text-muted") if rows else "")
        self._counts.update(self._count(len(rows)))
        self.refresh_bindings()
        self.schedule_keys()

    def _count(self, matching: int) -> Content:
        total, words = len(self._history.all), self._history.words
        if not total:
            return Content(
                f"No runs yet: press {key_name('lesson.run')} on a page."
                if self._history.has_read
                else "Reading your runs …"
            )
        runs = f"{total} run{'' if total == 1 else 's'}"
        ticked = f", {len(self._history.ticked)} ticked" if self._history.ticked else ""
        if not words:
            return Content.assemble((runs, "bold"), ticked)
        found = f"{matching} of {runs}" if matching else f"None of {runs}"
        return Content.assemble(
            (found, "bold"), f" with “{words}”{ticked}   ", ("Esc shows all", "$text-muted")
        )

    @on(RunTable.Chosen)
    def _chosen(self) -> None:
        self._history.cursor = self._table.cursor
        run = self._table.row
        self._details.update(about(run) if run else "")

    def _say(self, text: str, style: str = "") -> None:
        self._message.update(Content.styled(text, style))

    # Typing

    async def take(self, event: events.Key | events.Paste) -> bool:
        return await self._entry.take(event) if self._typed else False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable keys that would have no effect, and letters while a field is open."""
        if self._typed and action in _TYPED:
            return False
        ticked = len(self._history.ticked)
        works = {
            "filter": bool(self._history.all),
            "compare": ticked == 2,
            "overlay": ticked >= 2,
            "restore": self._history.can_restore,
            **dict.fromkeys(_ON_ROW, self._table.row is not None),
        }
        return works[action] if action in works else super().check_action(action, parameters)

    def footer_keys(self) -> tuple[FooterKey, ...]:
        if self._typed:
            return _TYPING
        following = {0: "", 1: "", 2: "history.compare"}.get(len(self._history.ticked), "history.overlay")
        return bindings.footer_entries(self, self.FOOTER, following)

    def action_filter(self) -> None:
        self._ask(_FILTER, "filter: ", self._history.words)

    def action_name(self) -> None:
        if run := self._table.row:
            self._named = run.id
            self._ask(_NAME, "name: ", run.name)

    def _ask(self, what: str, label: str, text: str) -> None:
        self._typed = what
        self._field.display = True
        self._label.update(Content(label))
        self._entry.value = text
        self._entry.selection = Selection(0, len(text))
        self.set_focus(self._entry)
        self._say("")
        self.schedule_keys()

    def on_input_changed(self) -> None:
        if self._typed == _FILTER and self._entry.value != self._history.words:
            self._history.words, self._history.cursor = self._entry.value, 0
            self._show()

    def _close_entry(self) -> None:
        self._typed = ""
        self._field.display = False
        self.set_focus(None)
        self._show()

    def _submit_entry(self) -> None:
        what, text = self._typed, self._entry.value
        if what == _FILTER:
            self._history.words = text.strip()
        elif run := self._history.run(self._named):
            try:
                self._history.give_name(run.id, text)
            except TutorError as error:
                self._say(f"✗ {error}", "$error")
                return
            self._say(f"Named “{text.strip()}”." if text.strip() else "It has no name now.")
        self._close_entry()

    # Keys

    def action_move(self, by: int) -> None:
        self._table.move_to(self._table.cursor + by)

    def action_page(self, by: int) -> None:
        self._table.move_to(self._table.cursor + by * self._table.page_rows)

    def action_end(self, last: int) -> None:
        self._table.move_to(len(self._history.all) if last else 0)

    def action_tick(self) -> None:
        if run := self._table.row:
            self._say(self._history.toggle(run.id))
            self._show()

    @on(RunTable.Opened)
    def action_open(self) -> None:
        if run := self._table.row:
            self._start(partial(self._open, run), "open")

    async def _open(self, listed: ListedRun) -> None:
        if loaded := await self._load([listed]):
            self.app.push_screen(OpenedRunScreen(loaded[0], f"Your runs · {title(listed)}"))

    async def _load(self, listed: list[ListedRun]) -> list[Run] | None:
        """Load the runs; show a message and return None if a run cannot be read."""
        found = []
        for each in listed:
            try:
                found.append(await asyncio.to_thread(load, each.file))
            except TutorError as error:
                self._say(f"✗ {error}", "$error")
                return None
        return found

    @property
    def _ticked(self) -> list[ListedRun]:
        return [run for run in map(self._history.run, self._history.ticked) if run is not None]

    def action_compare(self) -> None:
        self._start(partial(self._compare, self._ticked), "open")

    async def _compare(self, listed: list[ListedRun]) -> None:
        if loaded := await self._load(listed):
            one, other = loaded
            self.app.push_screen(ComparisonScreen((one, other), (_label(listed[0]), _label(listed[1]))))

    def action_overlay(self) -> None:
        self._start(partial(self._overlay, self._ticked), "open")

    async def _overlay(self, listed: list[ListedRun]) -> None:
        if loaded := await self._load(listed):
            self.app.push_screen(OverlayScreen(loaded, [each.name for each in listed]))

    def action_delete(self) -> None:
        run = self._table.row
        if run and run.id not in self._deleting:
            self._deleting.add(run.id)
            self._start(partial(self._delete, run), _DELETION)

    async def _delete(self, run: ListedRun) -> None:
        try:
            if run.page is not None:
                journal_events = list(self.tutor.journal.events())
                if await asyncio.to_thread(self._history.needs, run.page, run, journal_events):
                    page = run.page.number or f"{run.page.module}/{run.page.step}"
                    self._say(f"✗ It stays: page {page} is marked by this run.", "$warning")
                    return
            await asyncio.to_thread(self._history.delete, run)
        except TutorError as error:
            self._say(f"✗ {error}", "$error")
            return
        finally:
            self._deleting.discard(run.id)
        self._say(
            f"Deleted: {title(run)} of {when(run)}. {key_name('history.restore')} brings it back, for a day."
        )
        self._show()

    def action_restore(self) -> None:
        self._start(self._restore, _DELETION)

    async def _restore(self) -> None:
        try:
            await asyncio.to_thread(self._history.restore)
        except TutorError as error:
            self._say(f"✗ {error}", "$error")
            return
        self._say("It is back.")
        self._read()

    def action_export(self) -> None:
        listed = self._ticked or [run for run in [self._table.row] if run]

        def said(text: str | None) -> None:
            if text:
                self._say(text)

        self.app.push_screen(ExportScreen(listed, Path.cwd()), said)

    def action_back(self) -> None:
        if self._history.words:
            self._history.words = ""
            self._show()
        else:
            self.dismiss()


def _label(run: ListedRun) -> str:
    return f"{when(run)}  {title(run)}"
