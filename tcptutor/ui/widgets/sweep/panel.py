"""Panel of a sweep: its curve, or the table of its runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal

from textual.actions import SkipAction
from textual.binding import Binding, BindingType

from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import SweepActivity
from tcptutor.ui import words
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.ui.widgets.chart.line_panel import LinePanel
from tcptutor.ui.widgets.chart.lines import TEXT, Line, paragraph
from tcptutor.ui.widgets.panel import network
from tcptutor.ui.widgets.sweep.picture import render, table


class SweepPanel(LinePanel, can_focus=True):
    """View of a `LiveSweep`; its table lets the student choose a run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False, priority=True, id="sweep.up"),
        Binding("down", "move(1)", "down", show=False, priority=True, id="sweep.down"),
        Binding("enter", "open", "open", show=False, priority=True, id="sweep.open"),
    ]

    def __init__(self, activity: SweepActivity, predict: Predict | None) -> None:
        super().__init__()
        self._activity, self._predict = activity, predict
        self._live: LiveSweep | None = None
        self._guess: tuple[str, float] | None = None
        self._message = ""
        self._view: Literal["chart", "table"] = "chart"
        self._cursor = 0
        self.open_handler: Callable[[int], None] = lambda _at: None
        """Called with the index of a value to open its run; set by the screen."""
        self.can_focus = False

    def show_idle(self, instruction: str) -> None:
        """Show the network and how to start, before any run."""
        self._live, self._message = None, instruction
        self.refresh(layout=True)
        self.draw()

    def show(self, live: LiveSweep, guess: tuple[str, float] | None) -> None:
        """Show a sweep and the student's prediction; no-op if the page was left meanwhile."""
        if self.is_attached:
            self._live, self._guess, self._message = live, guess, ""
            self.call_after_refresh(self.pace.draw_now)

    def show_message(self, text: str) -> None:
        """Show a message in place of the sweep's status."""
        self._message = text
        self.draw()

    def redraw_changes(self) -> None:
        """Redraw for new data of the sweep."""
        self._message = ""
        self.pace.draw_now()

    def cycle_view(self) -> None:
        """Switch between chart and table."""
        if self._live is None:
            return
        self._view = "chart" if self._view == "table" else "table"
        self.can_focus = self.shows_table
        self.draw()

    @property
    def shows_table(self) -> bool:
        """Whether the table is shown."""
        return self._view == "table"

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if self._live is not None:
            return None
        experiment = self._activity.experiments[0]
        drawing = network.drawing(experiment)
        instruction = paragraph("", TEXT, self._message, width)
        if height >= len(drawing) + len(instruction) + 2:
            return [*drawing, Line(), Line(), *instruction]
        return [*paragraph("", TEXT, words.experiment_line(experiment), width), *instruction]

    def picture(self) -> Callable[[int, int], list[Line]]:
        assert self._live is not None
        if self.shows_table:
            return partial(table, self._live, self._cursor if self.has_focus else None)
        return partial(render, self._live, self._predict, self._guess, self._message)

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.draw()

    def action_move(self, by: int) -> None:
        if not self.shows_table:
            raise SkipAction
        self._cursor = min(max(0, self._cursor + by), len(self._activity.values) - 1)
        self.draw()

    def action_open(self) -> None:
        if not self.shows_table:
            raise SkipAction
        self.open_handler(self._cursor)
