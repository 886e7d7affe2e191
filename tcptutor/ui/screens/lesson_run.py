"""The run of a page: when it may start, and which run is shown."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from textual.widget import Widget

from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity
from tcptutor.errors import JournalError
from tcptutor.run import Run
from tcptutor.ui import reading
from tcptutor.ui.live import Live
from tcptutor.ui.messages import RunRecalled
from tcptutor.ui.screens.side import Side
from tcptutor.ui.widgets.bench.panel import RunPanel
from tcptutor.ui.widgets.bench.scene import OwnPrediction


class RunSide(Side):
    """Between the bench and the panel, for one step with an experiment."""

    activity: RunActivity
    widget: RunPanel
    _shown: Live | None = None

    def make_widget(self) -> Widget:
        return RunPanel()

    @property
    def going_on(self) -> bool:
        """Whether this page's own run goes on."""
        live = self.bench.live
        return self.bench.busy and live is not None and self._is_ours(live)

    def restore(self) -> None:
        """Show the run that goes on, else the last one of this page."""
        live = self.bench.live
        if live is not None and self._is_ours(live):
            self._show(live)
            self._show_after(live, scroll=False)
        else:
            self._idle()
        if self.study.run is None:
            self.widget.run_worker(self._recall())

    def start(self) -> None:
        """Run it, unless a prediction is due first or the lab is at work for another page."""
        due = self.study.due_before_run
        if self.bench.busy:
            self.widget.say("Another page's run goes on: s stops it.")
        elif due is not None:
            self.page.box(due).enter()
        else:
            self.bench.start(self.study.module.id, self.study.step.id, self.activity.experiment)

    def responded(self) -> None:
        """It may have been the prediction that was due."""
        if self._shown is None:
            self._idle()

    def moved(self, live: Live) -> None:
        if not self._is_ours(live):
            return
        if live is self._shown:
            self.widget.moved()
        else:
            self._show(live)

    def ended(self, live: Live) -> None:
        if self._is_ours(live):
            self.study.ran(live.run)
            self._show(live)
            self._show_after(live, scroll=True)

    def turn(self) -> None:
        self.widget.turn()

    async def _recall(self) -> None:
        """Show the latest run that is kept; where it was cut short, a whole one before it is what is marked against."""
        self.study.reading = True
        try:
            with contextlib.suppress(JournalError):  # the page's record comes from it too, and says so
                await self._recall_from(self.study.run_files())
        finally:
            self.study.reading = False

    async def _recall_from(self, files: Iterator[str]) -> None:
        run = await reading.first_readable(files)
        if run is not None and self._shown is None:
            await self._show_kept(run)
        while run is not None and not run.complete and self.study.record.whole_runs:
            run = await reading.first_readable(files)
        if run is not None and run.complete and self.study.run is None:
            self._mark_against(run)

    async def _show_kept(self, run: Run) -> None:
        live = await reading.recall(self.study.module.id, self.study.step.id, run)
        if self._shown is None:  # a new run may have begun meanwhile
            self._show(live)
            self._show_after(live, scroll=False)

    def _show(self, live: Live) -> None:
        self._shown = live
        self.widget.show(live, self._own())

    def _show_after(self, live: Live, scroll: bool) -> None:
        if live.state == "ended" and live.run.complete:
            self._mark_against(live.run)
            self.page.show_after(scroll)

    def _mark_against(self, run: Run) -> None:
        self.study.run = run
        self.page.saw_run(run)
        self.widget.post_message(RunRecalled())

    def _own(self) -> OwnPrediction | None:
        """The student's prediction, if it can stand beside the throughput."""
        for predict in self.study.step.of(Predict):
            first = self.study.record_of(predict).first
            if predict.unit == "rate" and first is not None and first.value is not None:
                return OwnPrediction(str(first.given), first.value)
        return None

    def _idle(self) -> None:
        seconds = f"{self.activity.experiment.seconds:g} s of TCP on a real kernel"
        here = self.bench.state.environment
        replayed = here is not None and here.backend == "replay"
        if self.study.due_before_run:
            instruction = (
                f"Predict first, then r {'plays a recorded run' if replayed else 'runs it'}: {seconds}."
            )
        else:
            instruction = f"Press r to {'play a recorded run' if replayed else 'run it'}: {seconds}."
        self.widget.idle(self.activity.experiment, instruction)

    def _is_ours(self, live: Live) -> bool:
        return live.is_of(self.study.module.id, self.study.step.id)
