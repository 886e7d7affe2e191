"""Panels of the workbench: knobs, and a chart that shows the forecast until a run."""

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
from tcptutor.ui.widgets.workbench.knobs import KnobLine, lay_out_narrow, lay_out_wide
from tcptutor.ui.widgets.workbench.picture import render
from tcptutor.ui.workbench import Workbench


class KnobPanel(LinePanel):
    """Knobs of a workbench; a click selects a knob."""

    def __init__(self, bench: Workbench, chosen: Callable[[str], None]) -> None:
        super().__init__()
        self._bench, self._chosen = bench, chosen
        self._rows: list[KnobLine] = []

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if not self._bench.ready:
            return []
        stacked = self.screen.has_class("-wide")
        self._rows = (
            lay_out_narrow(self._bench, width, height) if stacked else lay_out_wide(self._bench, width)
        )
        # A constant number of lines: only changed cells are written.
        return [row.line for row in self._rows] + [Line()] * (height - len(self._rows))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        row = int(event.screen_y) - self.content_region.y
        if 0 <= row < len(self._rows) and self._rows[row].knob:
            self._chosen(self._rows[row].knob)


class WorkbenchPanel(RunPanel):
    """Panel of a run that can show a forecast instead."""

    def __init__(self) -> None:
        super().__init__()
        self._forecast: Forecast | None = None
        self._comparisons: tuple[ComparisonRun, ...] = ()
        self._is_stale = self._shows_forecast = False
        self._forecast_message = ""

    @property
    def shows_forecast(self) -> bool:
        """Whether the forecast is shown instead of a run."""
        return self._shows_forecast

    @property
    def forecast(self) -> Forecast | None:
        """Latest forecast, shown or not."""
        return self._forecast

    def show_forecast(
        self, forecast: Forecast | None, comparisons: tuple[ComparisonRun, ...], is_stale: bool
    ) -> None:
        """Show the forecast; None leaves the previous forecast on display until the next."""
        self._forecast = forecast or self._forecast
        self._comparisons, self._is_stale, self._forecast_message = comparisons, is_stale, ""
        if not self._shows_forecast:
            self._shows_forecast = True
            self._end_inspection()
            self.changed()
        self.draw()

    def next_view(self) -> bool:
        """Show the next view of the run; return False after the last view."""
        self.cycle_view()
        return self._view != "chart"

    def show_message(self, text: str) -> None:
        self._forecast_message = text
        super().show_message(text)

    def show(self, live: Live, own: OwnPrediction | None) -> None:
        self._shows_forecast, self._forecast_message = False, ""
        super().show(live, own)

    @property
    def displayed_run(self) -> Live | None:
        return None if self._shows_forecast else super().displayed_run

    @property
    def can_inspect(self) -> bool:
        return not self._shows_forecast and super().can_inspect

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if not self._shows_forecast:
            return super().waiting(width, height)
        return None if self._forecast else paragraph("", TEXT, self._forecast_message, width)

    def picture(self) -> Callable[[int, int], list[Line]]:
        if not self._shows_forecast:
            return super().picture()
        assert self._forecast is not None
        return partial(render, self._forecast, self._comparisons, self._is_stale, self._forecast_message)
