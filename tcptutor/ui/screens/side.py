"""What stands beside the page while an activity is used: a chart, later a terminal or a sandbox."""

from __future__ import annotations

from typing import Any

from textual.content import Content
from textual.widget import Widget

from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.ui.bench import Bench
from tcptutor.ui.live import Live
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.ui.study import Study
from tcptutor.ui.widgets.bench.panel import RunPanel
from tcptutor.ui.widgets.page.page import Page

LOADING = "Loading your last run …"


class Side:
    """Between the bench and a widget, for one activity of a page."""

    def __init__(self, activity: Any, study: Study, page: Page, bench: Bench) -> None:
        self.activity, self.study, self.page, self.bench = activity, study, page, bench
        self.widget = self.make_widget()

    def make_widget(self) -> Widget:
        raise NotImplementedError

    @property
    def in_progress(self) -> bool:
        """Whether what r starts goes on."""
        return False

    def restore(self) -> None:
        """Show how it was left."""

    @property
    def is_loading(self) -> bool:
        """Whether a run that was made here before is being read from its file."""
        return self.study.reading and self.study.record.runs > 0

    @property
    def chart(self) -> RunPanel | None:
        """What there is to look into; None where it is no chart of a run."""
        return None

    @property
    def bench_experiment(self) -> Experiment | None:
        """The run that is shown, else what r would run. None while that is to be predicted."""
        return None

    @property
    def next_experiment(self) -> Experiment | None:
        """What r will run the first time, as it stands; None where it ran before or cannot be foreseen."""
        return None

    @property
    def environment(self) -> Environment | None:
        """Where the run or sweep that is shown took place; None without one."""
        return None

    @property
    def line(self) -> Content:
        """It in a line, for where there is no room beside the page."""
        return Content("")

    @property
    def can_repeat(self) -> bool:
        """Whether there is something to repeat as it was."""
        return False

    def start(self, same: bool = False) -> None:
        """The student asks for it to start: anew, or the same once more."""

    def responded(self) -> None:
        """Something on the page was answered."""

    def run_updated(self, live: Live) -> None:
        """A run has new data; it may be another page's."""

    def run_ended(self, live: Live) -> None:
        """A run has ended; it may be another page's."""

    def sweep_updated(self, sweep: LiveSweep) -> None:
        """A sweep has something new; it may be another page's."""

    def sweep_ended(self, sweep: LiveSweep) -> None:
        """A sweep has ended; it may be another page's."""

    def turn(self) -> None:
        """The student asks for the next view of it."""
