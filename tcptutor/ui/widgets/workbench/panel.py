"""The two sides of the bench: its knobs, and its chart, which shows what is expected until something was run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual import events

from tcptutor.ui.background import Forecast
from tcptutor.ui.live import ComparisonRun, Live
from tcptutor.ui.widgets.bench.line_panel import LinePanel
from tcptutor.ui.widgets.bench.lines import TEXT, Line, paragraph
from tcptutor.ui.widgets.bench.panel import RunPanel
from tcptutor.ui.widgets.bench.scene import OwnPrediction
from tcptutor.ui.widgets.workbench.knobs import KnobLine, across, down
from tcptutor.ui.widgets.workbench.picture import picture
from tcptutor.ui.workbench import Workbench


class KnobPanel(LinePanel):
    """The knobs of a bench; a click takes one in hand."""

    def __init__(self, bench: Workbench, chosen: Callable[[str], None]) -> None:
        super().__init__()
        self._bench, self._chosen = bench, chosen
        self._rows: list[KnobLine] = []

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if not self._bench.ready:
            return []
        stacked = self.screen.has_class("-wide")
        self._rows = down(self._bench, width, height) if stacked else across(self._bench, width)
        # As many lines each time: only cells that changed are then written.
        return [row.line for row in self._rows] + [Line()] * (height - len(self._rows))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        row = int(event.screen_y) - self.content_region.y
        if 0 <= row < len(self._rows) and self._rows[row].knob:
            self._chosen(self._rows[row].knob)


class WorkbenchPanel(RunPanel):
    """A run's panel that may show a forecast in place of a run."""

    def __init__(self) -> None:
        super().__init__()
        self._forecast: Forecast | None = None
        self._beside: tuple[ComparisonRun, ...] = ()
        self._stale = self._ahead = False
        self._aside = ""

    @property
    def ahead(self) -> bool:
        """Whether it shows what is expected, and no run."""
        return self._ahead

    @property
    def forecast(self) -> Forecast | None:
        """What is expected, whether it is shown or not."""
        return self._forecast

    def look_ahead(self, forecast: Forecast | None, beside: tuple[ComparisonRun, ...], stale: bool) -> None:
        """Show what is expected. None: what was expected before stays until there is something new."""
        self._forecast = forecast or self._forecast
        self._beside, self._stale, self._aside = beside, stale, ""
        if not self._ahead:
            self._ahead = True
            self._end_inspection()
            self.changed()
        self.draw()

    def turn_on(self) -> bool:
        """To the next view of the run; False after the last one."""
        self.turn()
        return self._view != "chart"

    def say(self, text: str) -> None:
        self._aside = text
        super().say(text)

    def show(self, live: Live, own: OwnPrediction | None) -> None:
        self._ahead, self._aside = False, ""
        super().show(live, own)

    @property
    def shown(self) -> Live | None:
        return None if self._ahead else super().shown

    @property
    def can_inspect(self) -> bool:
        return not self._ahead and super().can_inspect

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if not self._ahead:
            return super().waiting(width, height)
        return None if self._forecast else paragraph("", TEXT, self._aside, width)

    def picture(self) -> Callable[[int, int], list[Line]]:
        if not self._ahead:
            return super().picture()
        assert self._forecast is not None
        return partial(picture, self._forecast, self._beside, self._stale, self._aside)
