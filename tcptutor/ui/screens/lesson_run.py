"""The run of a page: when it may start, and which run is shown."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tcptutor.errors import JournalError
from tcptutor.ui import reading
from tcptutor.ui.live import Live
from tcptutor.ui.study import Study
from tcptutor.ui.widgets.bench.panel import RunPanel
from tcptutor.ui.widgets.page.page import Page

if TYPE_CHECKING:
    from tcptutor.ui.app import TutorApp


class Running:
    """Between the bench and the panel, for one step with an experiment."""

    def __init__(self, app: TutorApp, study: Study, page: Page, panel: RunPanel) -> None:
        step = study.step
        assert step.experiment is not None
        self._app, self._study, self._page, self._panel = app, study, page, panel
        self._experiment = step.experiment.experiment
        self._own_is_rate = step.predict is None or step.predict.unit == "rate"
        self._shown: Live | None = None

    @property
    def going_on(self) -> bool:
        """Whether this page's own run goes on."""
        live = self._app.bench.live
        return self._app.bench.busy and live is not None and self._is_ours(live)

    def restore(self) -> None:
        """Show the run that goes on, else the last one of this page."""
        live = self._app.bench.live
        if live is not None and self._is_ours(live):
            self._show(live)
            self._show_after(live, scroll=False)
            return
        self._idle()
        self._panel.run_worker(self._recall())

    def start(self) -> None:
        """Run it, unless a prediction is due first or the lab is at work for another page."""
        bench = self._app.bench
        if bench.busy:
            self._panel.say("Another page's run goes on: s stops it.")
        elif self._study.must_predict:
            box = self._page.predict_box
            assert box is not None
            box.ask_first()
        else:
            bench.start(self._study.module.id, self._study.step.id, self._experiment)

    def predicted(self) -> None:
        """The prediction was locked."""
        if self._shown is None:
            self._idle()

    def moved(self, live: Live) -> None:
        """A run has new data; it may be another page's."""
        if not self._is_ours(live):
            return
        if live is self._shown:
            self._panel.moved()
        else:
            self._show(live)

    def ended(self, live: Live) -> None:
        """A run has ended."""
        if self._is_ours(live):
            self._show(live)
            self._show_after(live, scroll=True)

    async def _recall(self) -> None:
        run = None
        with contextlib.suppress(JournalError):  # what else the journal is asked says so
            run = await reading.first_readable(
                self._app.journal.run_files(self._study.module.id, self._study.step.id)
            )
        if run is None:
            return
        live = await reading.recall(self._study.module.id, self._study.step.id, run)
        if self._shown is None:  # a new run may have begun meanwhile
            self._show(live)
            self._show_after(live, scroll=False)

    def _show(self, live: Live) -> None:
        self._shown = live
        self._panel.show(live, self._study.prediction, self._own_is_rate)

    def _show_after(self, live: Live, scroll: bool) -> None:
        if live.state == "ended" and live.run.complete:
            self._page.show_after(scroll)

    def _idle(self) -> None:
        seconds = f"{self._experiment.seconds:g} s of TCP on a real kernel"
        here = self._app.bench.state.environment
        replayed = here is not None and here.backend == "replay"
        if self._study.must_predict:
            said = f"Predict first, then r {'plays a recorded run' if replayed else 'runs it'}: {seconds}."
        else:
            said = f"Press r to {'play a recorded run' if replayed else 'run it'}: {seconds}."
        self._panel.idle(self._experiment, said)

    def _is_ours(self, live: Live) -> bool:
        return live.is_of(self._study.module.id, self._study.step.id)
