"""The sweep's side of the screen, in whatever room it has: the curve, or the table of its runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal

from textual.actions import SkipAction
from textual.binding import Binding, BindingType

from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.sweep import SweepActivity
from tcptutor.ui import words
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.ui.widgets.bench import network
from tcptutor.ui.widgets.bench.line_panel import LinePanel
from tcptutor.ui.widgets.bench.lines import TEXT, Line, paragraph
from tcptutor.ui.widgets.sweep.picture import picture
from tcptutor.ui.widgets.sweep.table import table


class SweepPanel(LinePanel, can_focus=True):
    """Draws one `LiveSweep`; in its table a run can be chosen."""

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
        self._said = ""
        self._view: Literal["chart", "table"] = "chart"
        self._cursor = 0
        self.wanted: Callable[[int], None] = lambda _at: None
        """Called with the index of the value whose run is to be opened. The page's screen sets it."""
        self.can_focus = False

    def stand(self, instruction: str) -> None:
        """Nothing was run yet: say what would be, and how to start it."""
        self._live, self._said = None, instruction
        self.refresh(layout=True)
        self.draw()

    def show(self, live: LiveSweep, guess: tuple[str, float] | None) -> None:
        """Show this sweep, beside what the student predicted; nothing when the page was left meanwhile."""
        if self.is_attached:
            self._live, self._guess, self._said = live, guess, ""
            self.call_after_refresh(self.pace.draw_now)

    def say(self, text: str) -> None:
        """A word about running, where its state stands."""
        self._said = text
        self.draw()

    def moved(self) -> None:
        """The sweep on show has something new."""
        self._said = ""
        self.pace.draw_now()

    def turn(self) -> None:
        """The other view: the chart, the table of runs."""
        if self._live is None:
            return
        self._view = "chart" if self._view == "table" else "table"
        self.can_focus = self.choosing
        self.draw()

    @property
    def choosing(self) -> bool:
        """Whether it shows the table, in which a run can be chosen."""
        return self._view == "table"

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if self._live is not None:
            return None
        experiment = self._activity.experiments[0]
        drawn = network.drawing(experiment)
        instruction = paragraph("", TEXT, self._said, width)
        if height >= len(drawn) + len(instruction) + 2:
            return [*drawn, Line(), Line(), *instruction]
        return [*paragraph("", TEXT, words.experiment_line(experiment), width), *instruction]

    def picture(self) -> Callable[[int, int], list[Line]]:
        assert self._live is not None
        if self.choosing:
            return partial(table, self._live, self._cursor if self.has_focus else None)
        return partial(picture, self._live, self._predict, self._guess, self._said)

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.draw()

    def action_move(self, by: int) -> None:
        if not self.choosing:
            raise SkipAction
        self._cursor = min(max(0, self._cursor + by), len(self._activity.values) - 1)
        self.draw()

    def action_open(self) -> None:
        if not self.choosing:
            raise SkipAction
        self.wanted(self._cursor)
