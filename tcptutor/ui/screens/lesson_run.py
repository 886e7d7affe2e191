"""Panel of a page's run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
from textual.content import Content
from textual.message import Message

from tcptutor.base import units
from tcptutor.base.errors import JournalError, UnitError
from tcptutor.base.key_names import key_name
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity
from tcptutor.course.measures import MeasureName
from tcptutor.course.setting_line import experiment_line
from tcptutor.run import Environment, Run
from tcptutor.run.change import summarize_changes
from tcptutor.spec import Experiment
from tcptutor.study import background
from tcptutor.study.live import MAX_EARLIER, EarlierRun, Live, figures_of
from tcptutor.ui.messages import RunFinished, RunLoaded, RunUpdated
from tcptutor.ui.screens.side import LOADING, Side
from tcptutor.ui.widgets.chart.scene import OwnPrediction
from tcptutor.ui.widgets.panel import preview
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.widgets.panel.preview import Guess
from tcptutor.ui.workers import start_worker

WHAT_IFS = 3
"""Maximum number of what-ifs in the table of runs."""
_MAX_NAME = 20
"""Maximum width of a what-if's name in the narrowest table."""


class RunSide(Side):
    """Panel of an activity that runs an experiment."""

    activity: RunActivity | ChallengeActivity
    widget: RunPanel
    _shown: Live | None = None
    _what_ifs: Sequence[tuple[str, EarlierRun]] = ()
    """The page's latest what-ifs, oldest first."""

    def make_widget(self) -> RunPanel:
        return RunPanel()

    @property
    def chart(self) -> RunPanel:
        return self.widget

    @property
    def in_progress(self) -> bool:
        live = self.bench.live
        return self.bench.busy and live is not None and self._is_ours(live)

    @property
    def wanted(self) -> Experiment:
        """The experiment to run, with any seed."""
        return self.activity.experiment

    def restore(self) -> None:
        """Show the run in progress or the latest run of this page."""
        live = self.bench.live
        if live is not None and self._is_ours(live):
            self._show(live)
            self._show_after(live, scroll=False)
        elif self.study.run is None and self.study.record.runs:
            self.study.reading = True
            self._show_idle()
        else:
            self._show_idle()
        if self.study.run is None:
            start_worker(self.widget, self._recall)

    @property
    def environment(self) -> Environment | None:
        # Before it starts, a run has no environment.
        return self._shown.run.environment if self._shown and self._shown.run.environment.backend else None

    @property
    def bench_experiment(self) -> Experiment | None:
        if self._shown is not None:
            return self._shown.run.experiment
        # The bench would show predictions before the student has made one.
        return None if self.study.due_before_run else self.activity.experiment

    @property
    def next_experiment(self) -> Experiment | None:
        if self.study.record.whole_runs or self.bench.replays:
            return None
        return msgspec.structs.replace(self.wanted, seed=self._seed(same=False))

    @property
    def line(self) -> Content:
        """Settings before the run, progress during it, result after it."""
        live = self._shown
        if live is None:
            if self.is_loading:
                return Content(LOADING)
            experiment = self.wanted
            guess = self.widget.guess if self.study.due_before_run else None
            if guess is not None and (ruler := preview.one_line(experiment, guess)) is not None:
                before, mark, after = ruler
                return Content.assemble(("you  ", "$text-muted"), before, (mark, "$you bold"), after)
            key = key_name("lesson.run")
            first = f"Predict, then {key}: " if self.study.due_before_run else f"{key} runs "
            first += f"{experiment.total_streams} × " if experiment.total_streams > 1 else ""
            return Content(first + experiment_line(experiment))
        run = live.run
        if live.in_progress:
            status = (
                f"▶ {run.experiment_s:.0f} of {run.experiment.seconds:g} s" if run.samples else "▶ starting"
            )
        elif live.problem:
            status = f"✗ {live.problem}"
        elif live.report is None or live.is_aborted:
            status = f"✂ cut short at {run.experiment_s:.1f} of {run.experiment.seconds:g} s"
        else:
            status = f"measured {units.rate(live.report.throughput_bps)}"
        spread = f"   {live.spread}" if live.spread else ""
        return Content.assemble(
            (f"{key_name('lesson.chart')}: chart   ", "$text-muted"), (status, "bold"), spread
        )

    @property
    def can_repeat(self) -> bool:
        return self.study.run is not None

    def start(self, same: bool = False) -> None:
        """Run with the next seed, or with the seed of the latest complete run if `same`.

        Focuses a due prediction instead. No-op while the bench is busy.
        """
        due = self.study.due_before_run
        if obstacle := self.bench.obstacle:
            self.widget.show_message(obstacle)
        elif due is not None:
            self.page.box(due).demand_response()
        else:
            experiment = msgspec.structs.replace(self.wanted, seed=self._seed(same))
            self.bench.start(self.study.module.id, self.study.step.id, experiment)

    def _seed(self, same: bool) -> int:
        own = self.activity.experiment.seed
        if self.bench.replays:  # there is only one recording
            return own
        if same and self.study.run is not None:
            return self.study.run.experiment.seed
        return self.study.run_seeds(own).next

    def update_after_response(self) -> None:
        """Update the panel, since a due prediction may have been answered."""
        if self._shown is None:
            self._show_idle()
        elif self._shown.awaits_observation:
            self._explain(self._shown, scroll=False)
            self.widget.redraw_changes()

    def bench_changed(self, message: Message) -> None:
        match message:
            case RunUpdated(live=live):
                self._update_run(live)
            case RunFinished(live=live):
                self._finish_run(live)

    def _update_run(self, live: Live) -> None:
        if not self._is_ours(live):
            return
        if live is self._shown:
            self.widget.redraw_changes()
        else:
            self._show(live)

    def _finish_run(self, live: Live) -> None:
        if self._is_ours(live):
            self.study.record_run(live.run)
            self._show(live)
            self._show_after(live, scroll=True)
        elif live.is_what_if_of(self.study.module.id, self.study.step.id):
            self._add_what_if(live)
            if self._shown is not None:
                self._compare(self._shown)

    def _add_what_if(self, live: Live) -> None:
        figures = figures_of(live)
        if figures is not None:
            name = summarize_changes(self.activity.experiment, live.run.experiment)
            name = name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
            self._what_ifs = [*self._what_ifs, (name, figures)][-WHAT_IFS:]

    def turn(self) -> None:
        self.widget.cycle_view()

    async def _recall(self) -> None:
        """Show the latest stored run, and mark responses against the latest complete run."""
        self.study.reading = True
        try:
            with contextlib.suppress(
                JournalError
            ):  # the page's record is read from the journal too, and reports the failure
                await self._recall_from(self.study.run_files())
        finally:
            self.study.reading = False
            if self._shown is None:  # no readable file
                self._show_idle()
                self.widget.post_message(RunLoaded())

    async def _recall_from(self, files: Iterator[str]) -> None:
        run = await background.first_readable(files)
        if run is not None and self._shown is None:
            await self._show_stored(run)
        while run is not None and not run.complete and self.study.record.whole_runs:
            run = await background.first_readable(files)
        if run is not None and run.complete and self.study.run is None:
            self._mark_against(run)
        await self._recall_others(files)

    async def _recall_others(self, files: Iterator[str]) -> None:
        """Load the table's other runs: earlier runs, the comparison page's run, what-ifs."""
        if beside := self.activity.compare_with:
            await self._recall_complete_runs(beside, self.study.run_files(beside), 1)
        await self._recall_complete_runs(self.study.step.id, files, MAX_EARLIER)
        await self._recall_what_ifs()
        if self._shown is not None:
            self._shown.earlier = self.bench.history.before(self._shown)
            self.widget.redraw_changes()
            self._compare(self._shown)

    async def _recall_what_ifs(self) -> None:
        module, step = self.study.module.id, self.study.step.id
        for file, base in reversed([*islice(self.study.what_if_files(), WHAT_IFS)]):
            run, before = [await background.first_readable([each]) for each in (file, base)]
            if run is not None and before is not None and run.complete:
                live = await background.measured(module, step, run)
                live.changed_from = before
                self._add_what_if(live)

    async def _recall_complete_runs(self, step: str, files: Iterator[str], number: int) -> None:
        while number and (run := await background.first_readable(files)) is not None:
            if run.complete:
                number -= 1
                self.bench.history.add(await background.measured(self.study.module.id, step, run))

    async def _show_stored(self, run: Run) -> None:
        live = await background.recall(self.study.module.id, self.study.step.id, run)
        self.bench.history.add(live)
        if self._shown is None:  # a new run may have started
            self._show(live)
            self._show_after(live, scroll=False)

    def _show(self, live: Live) -> None:
        self._shown = live
        live.formula = self.activity.model
        if isinstance(self.activity, RunActivity):
            live.charted = self.activity.chart
        live.said = self._said()
        live.is_enrolled = self.study.is_enrolled
        live.awaits_observation = self.study.due_observation is not None
        self.widget.show(live, self._own_prediction())

    def _show_after(self, live: Live, scroll: bool) -> None:
        if live.state == "ended" and live.run.complete:
            self._mark_against(live.run)
            self._explain(live, scroll)
            self._compare(live)

    def _explain(self, live: Live, scroll: bool) -> None:
        """Show the explanation of the run, or first the observation question."""
        due = self.study.due_observation
        live.awaits_observation = due is not None
        if due is None:
            self.page.show_after(scroll)
        elif scroll:
            self.page.scroll_to_question(due)

    def _compare(self, live: Live) -> None:
        """Show the table of runs, with the run of the comparison page."""
        this = self.bench.history.of(live)
        if this is None:
            return
        rows: list[tuple[str, EarlierRun | None]] = []
        if (number := self._compared_page_number) is not None:
            other = self.bench.history.latest(self.study.module.id, self.activity.compare_with)
            rows.append((f"page {number}", other.figures if other else None))
        own = self.activity.experiment.seed
        rows += [
            (f"run {self.study.run_seeds(own).number(run.seed) or place}", run)
            for place, run in enumerate(live.earlier, 1)
        ]
        rows += self._what_ifs
        rows.append(("this run", this.figures))
        self.page.show_runs(rows, live.spread)

    @property
    def _compared_page_number(self) -> int | None:
        """Number of the page to compare with; None without such a page, or if it is damaged."""
        for number, step in enumerate(self.study.module.steps, 1):
            if self.activity.compare_with and step.id == self.activity.compare_with:
                return number
        return None

    def _mark_against(self, run: Run) -> None:
        self.study.run = run
        self.page.show_run(run)
        self.widget.post_message(RunLoaded())

    def _own_prediction(self) -> OwnPrediction | None:
        """Return the student's prediction if it is a rate, which the chart can show."""
        for predict in self.study.step.activities_of(Predict):
            first = self.study.record_of(predict).first
            if predict.unit == "rate" and first is not None and first.value is not None:
                return OwnPrediction(predict.written(str(first.answer)), first.value)
        return None

    def _said(self) -> tuple[MeasureName, float] | None:
        """Return the student's prediction of a measure other than throughput."""
        for predict in self.study.step.activities_of(Predict):
            first = self.study.record_of(predict).first
            if predict.measure != "throughput" and first is not None and first.value is not None:
                return predict.measure, first.value
        return None

    def _show_idle(self) -> None:
        charted = self.activity.chart if isinstance(self.activity, RunActivity) else "cwnd"
        self.widget.show_idle(self.wanted, self._instruction(), charted=charted, guess=self._guess())

    def update_draft(self) -> None:
        if self._shown is None:
            self.widget.show_guess(self._guess())

    def _guess(self) -> Guess | None:
        """Return the numeric prediction as typed so far; None on a page without a prediction."""
        for box in self.page.boxes:
            if isinstance(predict := box.activity, Predict) and not predict.about_curve:
                first = self.study.record_of(predict).first
                value = first.value if first is not None else None
                # The page may be on its way out.
                if first is None and box.is_attached and box.is_mounted and isinstance(box.draft, str):
                    with contextlib.suppress(UnitError):
                        value = predict.value(box.draft)
                return Guess(predict.measure, value, predict.plain_unit)
        return None

    def _instruction(self) -> str:
        if self.is_loading:
            return LOADING
        seconds = f"{self.wanted.seconds:g} s of TCP on a real kernel"
        key = key_name("lesson.run")
        if self.study.due_before_run:
            does = "plays a recorded run" if self.bench.replays else "runs it"
            return f"Predict first, then {key} {does}: {seconds}."
        return f"Press {key} to {'play a recorded run' if self.bench.replays else 'run it'}: {seconds}."

    def _is_ours(self, live: Live) -> bool:
        return live.is_of(self.study.module.id, self.study.step.id)
