"""A what-if: a run repeated with a single change, compared with its base run."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tcptutor.base.columns import table
from tcptutor.run import Environment, Run
from tcptutor.run.change import describe_changes
from tcptutor.spec import Experiment
from tcptutor.study import background
from tcptutor.study.live import Live
from tcptutor.ui.bench import Bench, needs_rerun
from tcptutor.ui.messages import RunFinished, RunUpdated
from tcptutor.ui.screens.base import WhatIfBase
from tcptutor.ui.screens.chart_screen import ChartScreen
from tcptutor.ui.screens.what_if_ask import AskWhatIf
from tcptutor.ui.widgets.bars import KeyBar, TopBar
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.workbench import PLACE
from tcptutor.ui.workers import start_worker


def ask(app: App[Any], bench: Bench, base: WhatIfBase) -> None:
    """Ask for the change, and run the experiment with it."""
    here, run = bench.state.environment, base.live.run
    if bench.busy:
        app.notify(bench.obstacle)
        return
    if here is not None and here.backend == "replay":
        app.notify(
            "This lab only replays recorded runs: `tcptutor doctor` shows what is missing.",
            severity="warning",
            markup=False,
        )
        return

    def start(wanted: Experiment | None) -> None:
        if wanted is not None:
            app.push_screen(WhatIfScreen(*_page_of(base.live), run, wanted))

    notes = [_notes(base.live, here)]
    if bench.session.in_progress:
        notes.append("The terminal will be closed; its runs are saved.")
    app.push_screen(AskWhatIf(run, base.at, " ".join(each for each in notes if each)), start)


def _page_of(live: Live) -> tuple[str, str]:
    """Return module and step to store the run under: its base run's, or the bench's if no page owns it."""
    own = live.is_repeatable or live.changed_from is not None
    return (live.module, live.step) if own else PLACE


def _notes(base: Live, here: Environment | None) -> str:
    """Return the guarantees of the seed for this pair of runs."""
    if here is None:
        return ""
    if here.clock != "virtual":
        return "Same seed, real clock: runs don't repeat exactly, so the two may differ from the start."
    if base.from_shell:
        return "You started this run by hand: it is repeated first, so that both runs start alike."
    if needs_rerun(base.run.environment, here):
        return "Your run is from another build of the lab: it is repeated first, so that both runs are comparable."
    return "Same seed, virtual clock: both runs are identical up to the change."


class WhatIfScreen(ChartScreen):
    """A changed run, started when the screen opens. Leaving the screen does not stop the run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "figures", "figures", id="what-if.figures", tooltip="both in numbers, or the chart"),
        Binding(
            "v",
            "turn",
            "view",
            id="what-if.turn",
            tooltip="cycle through chart, all models, each flow, delays",
        ),
        Binding("s", "stop", "stop", id="what-if.stop", tooltip="stop the run, keeping its data"),
        Binding("escape", "back", "page", id="what-if.back", tooltip="back to the page"),
    ]
    OTHER_KEYS = (("↑ ↓", "scroll the figures"),)
    FOOTER = (
        ("what-if.figures", "figures / chart"),
        ("app.what-if", "what if"),
        ("what-if.stop", "stop"),
        ("cursor.toggle", "look"),
        ("what-if.turn", "view"),
        ("app.keys", "keys"),
        ("what-if.back", "page"),
    )

    def __init__(self, module: str, step: str, base: Run, experiment: Experiment) -> None:
        super().__init__()
        self._module, self._step = module, step
        self._base, self._experiment = base, experiment
        self._live: Live | None = None
        self._base_rerun: Live | None = None
        self._panel = RunPanel()
        self.connect(self._panel)

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
        self._panel.show_idle(self._experiment, "")
        self._say("")
        self.tutor.bench.start_what_if(self._module, self._step, self._base, self._experiment)

    # Runs

    def bench_changed(self, message: Message) -> None:
        super().bench_changed(message)
        match message:
            case RunUpdated(live=live):
                self._update_run(live)
            case RunFinished(live=live) if self._belongs_here(live):
                self._finish_run(live)

    def _update_run(self, live: Live) -> None:
        if live is self._live or live is self._base_rerun:
            self._panel.redraw_changes()
        elif self._belongs_here(live):
            if live.changed_from is not None:
                self._live, self._base = live, live.changed_from
                self._say("")
            else:
                self._base_rerun = live
                self._say("Repeating your run first, so that both runs are from the same build of the lab.")
            self._panel.show(live, None)
            self.keys_changed()

    def _finish_run(self, live: Live) -> None:
        self._update_run(live)
        self._panel.show(live, None)
        if live is self._live:
            start_worker(self, self._compare, live)
        elif not live.run.complete:
            why = f": {live.problem}" if live.problem else ""
            self._say(f"Your run could not be repeated{why}. Esc goes back.")
        self.keys_changed()

    def _belongs_here(self, live: Live) -> bool:
        wanted = self._experiment if live.changed_from is not None else self._base.experiment
        return live.run.experiment == wanted and (live.module, live.step) == (self._module, self._step)

    async def _compare(self, live: Live) -> None:
        if not live.has_samples:
            self._say("Nothing was measured.")
            return
        comparison = await background.compared(self._base, live.run)
        if self.is_attached:
            self._say(comparison.sentence)
            self.query_one("#figure-table", Static).update(_figures(comparison))

    # Text

    def _say(self, sentence: str) -> None:
        line = Content.assemble(
            (f"What if: {describe_changes(self._base.experiment, self._experiment)}", "bold"),
            f"   the same seed, {self._experiment.seed}\n",
            sentence,
        )
        self.query_one("#facts", Static).update(line)

    @property
    def chart(self) -> RunPanel:
        return self._panel

    @property
    def chart_visible(self) -> bool:
        return self.has_class("-wide") or not self.has_class("-figures")

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        live, busy = self._live, self.tutor.bench.busy
        match action:
            case "stop":
                return busy
            case "figures":
                return not self.has_class("-wide") and live is not None and not live.in_progress
            case _:
                return super().check_action(action, parameters)

    def action_toggle_cursor(self) -> None:
        self.remove_class("-figures")
        super().action_toggle_cursor()

    def action_figures(self) -> None:
        self.toggle_class("-figures")
        self.keys_changed()

    def action_turn(self) -> None:
        self.remove_class("-figures")
        self._panel.cycle_view()

    def action_stop(self) -> None:
        self.tutor.bench.stop()

    @property
    def bench_experiment(self) -> Experiment | None:
        return self._experiment

    def action_back(self) -> None:
        if self.has_cursor:
            self.action_close_cursor()
        else:
            self.dismiss()


def _figures(comparison: background.ComparedRuns) -> Content:
    """Return tables of figures, first since the runs differ, then for the measured period."""
    head = ("", "before", "what if", "")
    parts = []
    if comparison.since and comparison.differs_at is not None:
        parts.append(
            (
                f"From {comparison.differs_at:.2f} s on",
                table([head, *comparison.since], indent=0, right=_RIGHT),
            )
        )
    whole = [head, *comparison.whole, comparison.limits]
    parts.append(("In all measured time", table(whole, indent=0, right=_RIGHT)))
    texts = [Content.assemble((title, "bold"), "\n", "\n".join(lines)) for title, lines in parts]
    return Content("\n\n").join(texts)


_RIGHT = (False, True, True, True)
