"""Panel of a page's sweep."""

from __future__ import annotations

import contextlib

from textual.content import Content
from textual.message import Message

from tcptutor.base.errors import JournalError, UnitError
from tcptutor.base.key_names import key_name
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import SweepActivity
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.study import background
from tcptutor.study.live_sweep import LiveSweep, recall_sweep
from tcptutor.ui.messages import RunLoaded, SweepEnded, SweepUpdated
from tcptutor.ui.screens.side import LOADING, Side
from tcptutor.ui.screens.stored import CellScreen
from tcptutor.ui.widgets.sweep.panel import SweepPanel, progress
from tcptutor.ui.workers import start_worker


class SweepSide(Side):
    """Panel of a sweep."""

    activity: SweepActivity
    widget: SweepPanel
    _live: LiveSweep | None = None

    def make_widget(self) -> SweepPanel:
        panel = SweepPanel(self.activity, self._predict)
        panel.open_handler = self._open_latest_run
        return panel

    @property
    def _predict(self) -> Predict | None:
        return next(iter(self.study.step.activities_of(Predict)), None)

    @property
    def in_progress(self) -> bool:
        return self._live is not None and self._live.in_progress

    def restore(self) -> None:
        """Show the current or the stored sweep."""
        sweep = self.bench.sweep
        if sweep is not None and self._is_ours(sweep):
            self._show(sweep)
            self._mark_if_complete(scroll=False)
        else:
            self.study.reading = True
            self._show_idle()
            start_worker(self.widget, self._recall)

    @property
    def environment(self) -> Environment | None:
        return self._live.environment if self._live else None

    @property
    def bench_experiment(self) -> Experiment | None:
        return None if self.study.due_before_run else self.activity.experiments[0]

    @property
    def line(self) -> Content:
        live = self._live
        if live is None and self.is_loading:
            return Content(LOADING)
        if live is None:
            key = key_name("lesson.run")
            first = f"Predict, then {key}: " if self.study.due_before_run else f"{key}: "
            return Content(f"{first}{self._description}")
        if live.in_progress:
            status = f"▶ {progress(live)}"
        elif live.problem:
            status = f"✗ {live.problem}"
        elif live.done < live.total:
            status = f"✂ {progress(live)}, {key_name('lesson.run')} continues"
        else:
            status = f"✓ {self._description}"
        return Content.assemble((f"{key_name('lesson.chart')}: chart   ", "$text-muted"), (status, "bold"))

    @property
    def _description(self) -> str:
        return f"{self.activity.title}, {len(self.activity.cells())} runs"

    def start(self, same: bool = False) -> None:  # noqa: ARG002  # a sweep is never repeated unchanged
        """Run the missing points; if the sweep is complete, run a further round.

        Focuses a due prediction instead. No-op while the bench is busy.
        """
        due, live = self.study.due_before_run, self._live
        if obstacle := self.bench.obstacle:
            self.widget.show_message(obstacle)
        elif due is not None:
            self.page.box(due).demand_response()
        else:
            if live is None or live.replayed or self.bench.replays:  # each sweep has a single recording
                live = self._new_sweep()
            elif live.done >= live.total and not live.suspect:
                live.rounds += 1
            self.bench.start_sweep(live)
            self._show(live)

    def update_after_response(self) -> None:
        if self._live is None:
            self._show_idle()
        elif self.study.curve is not None:
            self._explain(scroll=False)

    def bench_changed(self, message: Message) -> None:
        match message:
            case SweepUpdated(sweep=sweep) if self._is_ours(sweep):
                if sweep is self._live:
                    self.widget.redraw_changes()
                else:
                    self._show(sweep)
            case SweepEnded(sweep=sweep) if self._is_ours(sweep):
                self._show(sweep)
                self._mark_if_complete(scroll=True)

    def turn(self) -> None:
        self.widget.cycle_view()
        self.page.screen.set_focus(
            self.widget if self.widget.shows_table else self.page, scroll_visible=False
        )

    def _new_sweep(self) -> LiveSweep:
        asked = self._predict.at if self._predict else ""
        return LiveSweep(self.study.module.id, self.study.step.id, self.activity, asked)

    def _show(self, live: LiveSweep) -> None:
        self._live = live
        self.widget.show(live, self._own_prediction())

    def _mark_if_complete(self, scroll: bool) -> None:
        """Mark responses once every value is measured, and reveal questions about the sweep."""
        live = self._live
        curve = live.curve if live is not None else None
        if curve is None:
            return
        self.study.curve = curve
        if self.study.record_of(self.activity).right is None:
            self.study.respond(self.activity, ())
        self._explain(scroll)
        self.widget.post_message(RunLoaded())

    def _explain(self, scroll: bool) -> None:
        """Show the explanation of the sweep, or first the observation question."""
        due = self.study.due_observation
        if due is None:
            self.page.show_after(scroll)
        elif scroll:
            self.page.scroll_to_question(due)

    async def _recall(self) -> None:
        """Load the sweep from an earlier session."""
        live = self._new_sweep()
        self.study.reading = True
        try:
            with contextlib.suppress(
                JournalError
            ):  # the page's record is read from the journal too, and reports the failure
                async for _ in recall_sweep(live, self.study.run_files()):
                    if self._live is None and live.state == "ended":
                        self._show(live)
        finally:
            self.study.reading = False
            if self._live is None:
                self._show_idle()
                self.widget.post_message(RunLoaded())
        if self._live is live:
            self._mark_if_complete(scroll=False)

    def _open_latest_run(self, at: int) -> None:
        live = self._live
        cells = live.cells_at(at) if live is not None else []
        if live is None or not cells:
            self.widget.show_message("No run at this value yet.")
            return
        start_worker(
            self.widget, self._open_run, live, live.counted_cells(at)[-1].run, self.activity.values[at]
        )

    async def _open_run(self, live: LiveSweep, id: str, value: str) -> None:
        run = live.runs.get(id) or await background.first_readable([live.files.get(id, "")])
        if run is None:
            self.widget.show_message(
                f"The file of this run is missing: press {key_name('lesson.run')} to measure it again."
            )
        elif self.widget.is_attached:
            name = f"{self.activity.axis.replace('_', ' ')} {value}"
            self.widget.app.push_screen(CellScreen(run, name))

    def _own_prediction(self) -> tuple[str, float] | None:
        predict = self._predict
        first = self.study.record_of(predict).first if predict else None
        if predict is None or first is None or first.value is None:
            return None
        with contextlib.suppress(UnitError):
            return predict.written(str(first.answer)), first.value
        return None

    def _show_idle(self) -> None:
        if self.is_loading:
            self.widget.show_idle(LOADING)
            return
        number = f"{len(self.activity.cells())} {'recorded ' if self.bench.replays else ''}runs"
        key = key_name("lesson.run")
        if self.study.due_before_run:
            start = f"Predict first, then {key} {'plays' if self.bench.replays else 'makes'} {number}"
        else:
            start = f"Press {key} to {'play' if self.bench.replays else 'make'} {number}"
        axis = self.activity.axis.replace("_", " ")
        self.widget.show_idle(f"{start}: {axis} {self.activity.values_in_words()}.")

    def _is_ours(self, sweep: LiveSweep) -> bool:
        here = sweep.is_of(self.study.module.id, self.study.step.id)
        return here and sweep.activity == self.activity
