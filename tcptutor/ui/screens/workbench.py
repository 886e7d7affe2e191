"""The bench: knobs, and the forecast or run for their settings.

Lists of runs and experiments are in `tcptutor.ui.screens.workbench_lists`.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static
from textual.widgets.input import Selection

from tcptutor.base.errors import TutorError
from tcptutor.course.experiments import same_settings, short_name
from tcptutor.journal.saved import Benches
from tcptutor.run import Environment
from tcptutor.study import background
from tcptutor.study.live import Live
from tcptutor.ui.bindings import FooterKey, priority
from tcptutor.ui.messages import RunFinished, RunUpdated
from tcptutor.ui.screens.chart_screen import ARROWS, ChartScreen
from tcptutor.ui.screens.dialogs import CommandLineScreen
from tcptutor.ui.screens.workbench_lists import ComparisonList, StartList
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.page.entries import Entry
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.widgets.workbench.panel import KnobPanel, WorkbenchPanel
from tcptutor.ui.workbench import PLACE, Workbench
from tcptutor.ui.workers import start_worker

_TYPING = (FooterKey((("Enter", "enter"),), "accept"), FooterKey((("Esc", "escape"),), "leave field"))
_TYPED = ("move", "turn", "group", "type", "compare", "save", "start_from", "command", "back")
"""Actions bound to letters, digits or arrows, which a field takes as input."""


def _key(keys: str, action: str, label: str, id: str, tooltip: str) -> Binding:
    return priority(keys, action, label, f"workbench.{id}", tooltip)


_BINDINGS: list[BindingType] = [
    _key("up", "move(-1)", "previous knob", "up", "the previous knob"),
    _key("down", "move(1)", "next knob", "down", "the next knob"),
    *ARROWS,
    _key("left,minus", "turn(-1)", "turn back", "less", "turn the knob back by a step"),
    _key("right,plus,equals_sign", "turn(1)", "turn on", "more", "turn the knob on by a step"),
    _key("tab", "group(1)", "next group", "group", "go to the next group of knobs; Shift+Tab goes back"),
    Binding("shift+tab", "group(-1)", show=False, priority=True, id="workbench.previous-group"),
    _key("enter", "type", "type", "type", "type a value with its unit; empty resets it"),
    _key("d", "reset", "reset", "reset", "reset the knob to the experiment's file"),
    _key("D", "reset_all", "reset all", "reset-all", "reset all knobs to the experiment's file"),
    _key("r", "run", "run", "run", "run these settings with this seed"),
    _key("s", "stop", "stop", "stop", "stop the run, keeping its data"),
    _key("v", "view", "view", "view", "cycle through forecast, chart, all models, each flow, delays"),
    _key("c", "compare", "compare", "compare", "choose up to five earlier runs to compare"),
    _key("k", "save", "save", "save", "save these settings and their run under a name"),
    _key("f", "start_from", "from", "from", "start from saved settings or an experiment of the course"),
    _key("a", "command", "as a command", "command", "the shell command that runs the same"),
    _key("escape,e", "back", "back", "back", "back; the knobs stay as they are"),
]

_FOOTER = (
    ("workbench.up workbench.down", "knob"),
    ("workbench.less workbench.more", "turn"),
    ("workbench.run", "run"),
    ("workbench.stop", "stop"),
    ("workbench.view", "view"),
    ("workbench.compare", "compare"),
    ("workbench.save", "save"),
    ("app.keys", "keys"),
    ("workbench.back", "back"),
    ("workbench.command", "command"),
    ("workbench.type", "type"),
    ("workbench.group", "group"),
    ("cursor.toggle", "look"),
    ("app.what-if", "what if"),
    ("workbench.from", "from"),
    ("app.commands", "find"),
)

NAME = "name"
"""Value of `_typed` while a name is being typed."""


class WorkbenchScreen(ChartScreen):
    """The bench. Its state is in `Workbench`, which outlives the screen."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = _BINDINGS
    FOOTER = _FOOTER

    def __init__(self, bench: Workbench, benches: Benches) -> None:
        super().__init__()
        self._workbench, self._benches = bench, benches
        self._panel = WorkbenchPanel()
        self.connect(self._panel)
        self._knobs = KnobPanel(bench, self._select)
        self._entry = Entry("", self._submit_entry, self._close_entry)
        self._typed = ""
        """The knob being typed, or NAME; empty if no field is open."""
        self._due = self._working = False
        self._resettable = (False, False)
        """(selected knob can be reset, any knob can be reset) when the footer was last drawn."""

    def compose(self) -> ComposeResult:
        yield TopBar()
        with Container(id="bench"):
            with Vertical(id="knobs"):
                yield self._knobs
                with Container(classes="entry"):
                    yield Static(classes="label", markup=False)
                    yield self._entry
            with Container(id="ahead"):
                yield self._panel
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self._entry.parent.display = False  # type: ignore[union-attr]
        live = self.tutor.bench.live
        if live is not None and live.is_of(*PLACE):
            self._workbench.live = live
            self._store_named_run(live)
        live = self._workbench.live
        if live is not None and (
            live.in_progress or same_settings(live.run.experiment, self._workbench.experiment)
        ):
            self._show(live)
        else:
            self._panel.show_forecast(None, self._workbench.comparisons, False)
        self.update_forecast()
        self._show_place()
        self.call_after_refresh(
            background.freeze_gc
        )  # so that turning a knob does not wait for a collection over the whole course

    def fit(self, wide: bool, tall: bool) -> None:
        super().fit(wide, tall)
        self._knobs.draw()

    # Keys

    @property
    def _typing(self) -> bool:
        return bool(self._typed)

    async def take(self, event: events.Key | events.Paste) -> bool:
        return await self._entry.take(event) if self._typing else False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable keys that would have no effect, and letters while a field is open."""
        works: bool | None = self.check_chart_action(action, parameters)
        match action:
            case "run":
                works = not self.tutor.bench.obstacle
            case "stop":
                works = self.tutor.bench.busy
            case "reset":
                works = self._workbench.is_changed(self._workbench.selected)
            case "reset_all":
                works = bool(self._workbench.settings)
            case "view":
                works = self._workbench.live is not None
        return works is not False and not (self._typing and (works is not None or action in _TYPED))

    def footer_keys(self) -> tuple[FooterKey, ...]:
        return _TYPING if self._typing else super().footer_keys()

    def action_move(self, by: int) -> None:
        self._workbench.move(by)
        self._draw_knobs()

    def action_group(self, by: int) -> None:
        self._workbench.move_group(by)
        self._draw_knobs()

    def _select(self, knob: str) -> None:
        if not self._typing:
            self._workbench.selected = knob
            self._draw_knobs()

    def action_turn(self, by: int) -> None:
        here = self._environment
        if self._workbench.turn(self._workbench.selected, by, here.algorithms if here else ()):
            self.settings_changed()

    def action_reset(self) -> None:
        self._workbench.reset(self._workbench.selected)
        self.settings_changed()

    def action_reset_all(self) -> None:
        self._workbench.reset_all()
        self.settings_changed()

    def action_type(self) -> None:
        self._ask(
            self._workbench.selected,
            f"{self._workbench.selected}: ",
            self._workbench.text(self._workbench.selected),
        )

    def action_save(self) -> None:
        if self._workbench.problem is not None:
            self._look_ahead()
            self._panel.show_message("✗ Not saved: these settings cannot be run.")
        else:
            self._ask(
                NAME, "save as: ", self._workbench.saved_as or short_name(self._workbench.original.name)
            )

    def _ask(self, what: str, label: str, text: str) -> None:
        self._typed = what
        row = self._entry.parent
        row.display = True  # type: ignore[union-attr]
        self.query_one(".entry .label", Static).update(Content(label))
        self._entry.value = text
        # The first key replaces the old value; an arrow or End edits it.
        self._entry.selection = Selection(0, len(text))
        self.set_focus(self._entry)
        self.keys_changed()

    def _close_entry(self) -> None:
        self._typed = ""
        self._entry.parent.display = False  # type: ignore[union-attr]
        self.set_focus(None)
        self.keys_changed()

    def _submit_entry(self) -> None:
        what, text = self._typed, self._entry.value
        self._close_entry()
        if what == NAME:
            self._save(text)
        else:
            self._workbench.set(what, text)
            self.settings_changed()

    def action_back(self) -> None:
        if self.has_cursor:
            self.action_close_cursor()
        else:
            self.dismiss()

    def action_command(self) -> None:
        problem = self._workbench.problem
        self.app.push_screen(
            CommandLineScreen(self._workbench.command, f"✗ {problem.reason}" if problem else "")
        )

    def action_compare(self) -> None:
        ComparisonList(self, self._workbench, self.comparisons_changed).open()

    def action_start_from(self) -> None:
        StartList(self, self._workbench, self._benches, self.settings_changed).open()

    def action_view(self) -> None:
        if self._panel.shows_forecast and self._workbench.live is not None:
            self._show(self._workbench.live)
        elif not self._panel.next_view():
            self._look_ahead()

    # Running

    def action_run(self) -> None:
        problem = self._workbench.problem
        if obstacle := self.tutor.bench.obstacle:
            self._panel.show_message(obstacle)
        elif problem is not None:
            self._look_ahead()
            self._panel.show_message("✗ Not started: these settings cannot be run.")
        else:
            self.tutor.bench.start(*PLACE, self._workbench.experiment)
            self.keys_changed()

    def action_stop(self) -> None:
        self.tutor.bench.stop()

    def bench_changed(self, message: Message) -> None:
        super().bench_changed(message)
        match message:
            case RunUpdated(live=live) if live.is_of(*PLACE):
                self._update_run(live)
            case RunFinished(live=live):
                if live.is_of(*PLACE):
                    self._finish_run(live)
                self.keys_changed()

    def _update_run(self, live: Live) -> None:
        if live is not self._workbench.live:
            self._workbench.live = live
            self._show(live)
            self.keys_changed()
        else:
            self._panel.redraw_changes()

    def _finish_run(self, live: Live) -> None:
        self._workbench.live = live
        if not self._panel.shows_forecast:
            self._show(live)
        self._store_named_run(live)

    def _store_named_run(self, live: Live) -> None:
        """Store a run under the name of its settings, even if it ended off screen."""
        if (
            self._workbench.saved_as
            and not live.in_progress
            and same_settings(live.run.experiment, self._workbench.experiment)
        ):
            self._save(self._workbench.saved_as)

    def _show(self, live: Live) -> None:
        live.comparisons = tuple(run for run in self._workbench.comparisons if run.id != live.run.id)
        self._panel.show(live, None)

    # Forecast

    @property
    def chart(self) -> RunPanel:
        return self._panel

    @property
    def _environment(self) -> Environment | None:
        return self.tutor.bench.state.environment

    def show_lab(self) -> None:
        super().show_lab()
        latest = self._panel.forecast
        if latest is not None and latest.seconds is None and self._environment is not None:
            self.update_forecast()  # the time of a run is known now

    def settings_changed(self) -> None:
        """Update the forecast after a change of the knobs."""
        self._draw_knobs()
        if self._workbench.problem is not None:
            self._look_ahead()
        else:
            self.update_forecast(to_front=True)

    def comparisons_changed(self) -> None:
        """Redraw after a change of the compared runs."""
        live = self._workbench.live
        if self._panel.shows_forecast or live is None:
            self._look_ahead()
        else:
            self._show(live)

    def _look_ahead(self) -> None:
        self._panel.show_forecast(None, self._workbench.comparisons, self._workbench.problem is not None)

    def update_forecast(self, *, to_front: bool = False) -> None:
        """Compute the forecast in a thread, again if the knobs change meanwhile."""
        self._due, self._to_front = True, to_front
        if not self._working and self._workbench.ready:
            self._working = True
            start_worker(self, self._forecast_while_due, group="forecast")

    async def _forecast_while_due(self) -> None:
        try:
            while self._due:
                self._due = False
                latest = await background.forecast(self._workbench.experiment, self._environment)
                if self._due:
                    continue  # the knobs have changed
                if self._to_front or self._panel.shows_forecast:
                    self._panel.show_forecast(
                        latest, self._workbench.comparisons, self._workbench.problem is not None
                    )
        finally:
            self._working = False

    # Saving

    def _save(self, name: str) -> None:
        try:
            self._benches.save(self._workbench.saved_bench(name))
        except TutorError as error:
            self.notify(str(error), severity="error", timeout=10)
            return
        self._workbench.saved_as = name.strip()
        self._show_place()

    def _draw_knobs(self) -> None:
        self._knobs.draw()
        self._show_place()
        # Finding the enabled keys is slow, so do it only on change.
        offered = self._workbench.is_changed(self._workbench.selected), bool(self._workbench.settings)
        if offered != self._resettable:
            self._resettable = offered
            self.keys_changed()

    def _show_place(self) -> None:
        own = self._workbench
        name = f"{own.saved_as} · " if own.saved_as else ""
        self.query_one(TopBar).show_place(f"Bench · {name}{own.original.name}")
