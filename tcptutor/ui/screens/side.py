"""Panel next to a page, for each activity that runs something."""

from __future__ import annotations

from typing import Any

from textual.content import Content
from textual.message import Message

from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.study.study import Study
from tcptutor.ui.bench import Bench
from tcptutor.ui.widgets.chart.line_panel import LinePanel
from tcptutor.ui.widgets.page.page import Page
from tcptutor.ui.widgets.panel.panel import RunPanel

LOADING = "Loading your last run …"


class Side:
    """Panel of an activity: connects the bench, the page and a widget."""

    def __init__(self, activity: Any, study: Study, page: Page, bench: Bench) -> None:
        self.activity, self.study, self.page, self.bench = activity, study, page, bench
        self.widget = self.make_widget()

    def make_widget(self) -> LinePanel:
        raise NotImplementedError

    @property
    def in_progress(self) -> bool:
        """True while the experiment or sweep that r starts is in progress."""
        return False

    def restore(self) -> None:
        """Show the panel's last state."""

    @property
    def is_loading(self) -> bool:
        """True while an earlier run is being loaded."""
        return self.study.reading and self.study.record.runs > 0

    @property
    def chart(self) -> RunPanel | None:
        """Chart with a cursor; None if the panel has no chart of a run."""
        return None

    @property
    def bench_experiment(self) -> Experiment | None:
        """Settings of the run shown, or of the next run; None while a prediction is due."""
        return None

    @property
    def next_experiment(self) -> Experiment | None:
        """The first run's experiment and seed, for prefetching; None if it ran before or is unknown."""
        return None

    @property
    def environment(self) -> Environment | None:
        """Environment of the run or sweep shown; None before the first run."""
        return None

    @property
    def line(self) -> Content:
        """State in a line, for when the panel is hidden."""
        return Content("")

    @property
    def can_repeat(self) -> bool:
        """True if an earlier run can be repeated with its seed."""
        return False

    def start(self, same: bool = False) -> None:
        """Start a run with a new seed, or with the `same` seed."""

    def update_after_response(self) -> None:
        """Update after a response on the page."""

    def update_draft(self) -> None:
        """Update after a key in a field of the page."""

    def bench_changed(self, message: Message) -> None:
        """Update after a message of the bench about any page."""

    def turn(self) -> None:
        """Show the next view."""
