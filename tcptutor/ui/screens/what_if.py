"""A run with one thing changed: run with the same seed, drawn over the one before, and both in numbers."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tcptutor.changed import told
from tcptutor.columns import table
from tcptutor.errors import LabUnavailable
from tcptutor.run import Environment, Run
from tcptutor.spec import Experiment
from tcptutor.ui import keys, reading
from tcptutor.ui.bench import Bench
from tcptutor.ui.keys import FooterKey
from tcptutor.ui.live import Live
from tcptutor.ui.screens.looking import LookingScreen, with_cursor
from tcptutor.ui.screens.what_if_ask import AskWhatIf, WantedWhatIf
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.bench import axes
from tcptutor.ui.widgets.bench.panel import RunPanel

_SNAPSHOT = "snapshot"
"""Among the versions of an environment: what a run in a guest began from."""


def ask(app: App[object], bench: Bench, module: str, step: str, run: Run, at: float | None = None) -> None:
    """Ask what is to be another in that run of a page, and run it; `at`: where the cursor stands, s."""
    here = bench.state.environment
    if bench.busy:
        app.notify("Something runs already: s stops it.")
        return
    if here is not None and here.backend == "replay":
        app.notify(
            "Recorded runs are played here, and nothing new can be run: `tcptutor doctor` says what is missing.",
            severity="warning",
        )
        return

    def asked(wanted: WantedWhatIf | None) -> None:
        if wanted is not None:
            app.push_screen(WhatIfScreen(module, step, run, wanted.experiment))

    app.push_screen(AskWhatIf(run, at, _notes(run.environment, here)), asked)


def _notes(base: Environment, here: Environment | None) -> str:
    """What is to be expected of the same seed."""
    if here is None:
        return ""
    if here.clock != "virtual":
        return "The same seed, on the real clock: no run repeats exactly there, so both may differ from the start."
    if stale(base, here):
        return "Your run is of another build of the lab: it is run once more first, so that both are of one."
    return "The same seed, on the virtual clock: what is not changed repeats exactly."


def stale(base: Environment, here: Environment) -> bool:
    """Whether the seed of a run that was made in `base` gives another history in `here`, where it could repeat it."""
    there = base.backend, base.clock, base.versions.get(_SNAPSHOT)
    return here.clock == "virtual" and there != (here.backend, here.clock, here.versions.get(_SNAPSHOT))


class WhatIfScreen(LookingScreen):
    """Runs it when it is opened. Leaving it lets the run go on; it is kept either way."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "w", "what_if", "what if", id="what-if.again", tooltip="change one thing more, from this run"
        ),
        Binding("f", "figures", "figures", id="what-if.figures", tooltip="both in numbers, or the chart"),
        Binding("v", "turn", "view", id="what-if.turn", tooltip="the chart, all models, each flow's course"),
        Binding("s", "stop", "stop", id="what-if.stop", tooltip="stop the run; what arrived is kept"),
        Binding("escape", "back", "page", id="what-if.back", tooltip="back to the page"),
    ]
    OTHER_KEYS = (("↑ ↓", "scroll the figures"),)
    FOOTER = (
        ("what-if.figures", "figures / chart"),
        ("what-if.again", "what if"),
        ("what-if.stop", "stop"),
        ("look.look", "look"),
        ("what-if.turn", "view"),
        ("app.keys", "keys"),
        ("what-if.back", "page"),
    )

    def __init__(self, module: str, step: str, base: Run, experiment: Experiment) -> None:
        super().__init__()
        self._module, self._step = module, step
        self._base, self._experiment = base, experiment
        self._live: Live | None = None
        """The what-if, once it has begun."""
        self._panel = RunPanel()
        self._panel.changed = self.keys_changed

    def compose(self) -> ComposeResult:
        yield TopBar()
        yield Static(id="facts", markup=False)
        with Container(id="body"):
            yield self._panel
            with VerticalScroll(id="figures"):
                yield Static(id="figure-table", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(TopBar).show_place("What if")
        self._panel.idle(self._experiment, "")
        self._say("")
        self.run_worker(self._run_both())

    # The runs

    async def _run_both(self) -> None:
        bench = self.tutor.bench
        try:
            here = bench.state.environment or await bench.warm()
        except LabUnavailable as error:
            self._say(f"No lab here: {error}")
            return
        await asyncio.to_thread(axes.preload)
        if stale(self._base.environment, here) and not await self._again():
            return
        base = await reading.measured(self._module, self._step, self._base)
        self._say("")
        bench.start(self._module, self._step, self._experiment, base)
        await bench.over()
        self.keys_changed()

    async def _again(self) -> bool:
        """The run before once more, in the lab that is here; whether it came to its end."""
        self._say(
            "The run before is of another build of the lab: it is run once more, so that both are of one."
        )
        bench = self.tutor.bench
        bench.start(self._module, self._step, self._base.experiment)
        await bench.over()
        if bench.live is None or not bench.live.run.complete:
            why = bench.live.problem if bench.live else ""
            self._say(
                f"The run before was not run once more to its end{f': {why}' if why else ''}. Esc leads back."
            )
            return False
        self._base = bench.live.run
        return True

    def run_moved(self, live: Live) -> None:
        super().run_moved(live)
        if live is self._live:
            self._panel.moved()
        elif self._is_of_this(live):
            self._live = live if live.changed_from is not None else None
            self._panel.show(live, None)
            self.keys_changed()

    def run_ended(self, live: Live) -> None:
        super().run_ended(live)
        self.run_moved(live)
        if live is self._live or self._is_of_this(live):
            self._panel.show(live, None)
        if live is self._live:
            self.run_worker(self._compare(live))

    def _is_of_this(self, live: Live) -> bool:
        wanted = self._experiment if live.changed_from is not None else self._base.experiment
        return live.run.experiment == wanted and (live.module, live.step) == (self._module, self._step)

    async def _compare(self, live: Live) -> None:
        if not live.measuring:
            self._say("Nothing was measured.")
            return
        found = await reading.compared(self._base, live.run)
        if self.is_attached:
            self._say(found.sentence)
            self.query_one("#figure-table", Static).update(_figures(found))

    # What is told

    def _say(self, sentence: str) -> None:
        line = Content.assemble(
            (f"What if: {told(self._base.experiment, self._experiment)}", "bold $primary"),
            f"   the same seed, {self._experiment.seed}\n",
            sentence,
        )
        self.query_one("#facts", Static).update(line)

    def footer_keys(self) -> tuple[FooterKey, ...]:
        return keys.line(self, with_cursor(self.FOOTER) if self.looks else self.FOOTER)

    @property
    def chart(self) -> RunPanel:
        return self._panel

    @property
    def chart_seen(self) -> bool:
        return self.has_class("-wide") or not self.has_class("-figures")

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        live, busy = self._live, self.tutor.bench.busy
        match action:
            case "stop":
                return busy
            case "what_if":
                return not busy and live is not None and live.run.complete
            case "figures":
                return not self.has_class("-wide") and live is not None and not live.going_on
            case _:
                return super().check_action(action, parameters)

    def action_look(self) -> None:
        self.remove_class("-figures")
        super().action_look()

    def action_figures(self) -> None:
        self.toggle_class("-figures")
        self.keys_changed()

    def action_turn(self) -> None:
        self.remove_class("-figures")
        self._panel.turn()

    def action_stop(self) -> None:
        self.tutor.bench.stop()

    def action_what_if(self) -> None:
        if self._live is not None:
            cursor = self._panel.cursor if self.looks else None
            at = cursor.t if cursor else None
            ask(self.app, self.tutor.bench, self._module, self._step, self._live.run, at)

    def action_back(self) -> None:
        if self.looks:
            self.action_stop_looking()
        else:
            self.dismiss()


def _figures(found: reading.ComparedRuns) -> Content:
    """Of the time from which they differ, then of all measured time."""
    head = ("", "before", "what if", "")
    parts = []
    if found.since and found.differs_at is not None:
        parts.append(
            (f"From {found.differs_at:.2f} s on", table([head, *found.since], indent=0, right=_RIGHT))
        )
    whole = [head, *found.whole, found.limits]
    parts.append(("In all measured time", table(whole, indent=0, right=_RIGHT)))
    texts = [Content.assemble((title, "bold $primary"), "\n", "\n".join(lines)) for title, lines in parts]
    return Content("\n\n").join(texts)


_RIGHT = (False, True, True, True)
