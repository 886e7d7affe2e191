"""The chart of congestion windows: redraws only the cells that changed, since a whole one costs 6 KB."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import plot, traces

LEAST = 8
"""Lines that are left to it beside all that is written."""

SMALLEST = (24, 5)
"""Columns and lines under which a chart says nothing."""


class Chart(Widget):
    """cwnd of every flow over the run's whole time, so old columns never move."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "chart--axis",
        "chart--flow",
        "chart--faint",
        "chart--expected",
        "chart--course",
    }

    def __init__(self) -> None:
        super().__init__()
        self._live: Live | None = None
        self._lines: list[plot.Line] = []

    def show(self, live: Live | None) -> None:
        """Draw the run as it stands now."""
        self._live = live
        before, self._lines = self._lines, self._draw()
        if len(before) != len(self._lines):
            self.refresh()
            return
        for y, line in enumerate(self._lines):
            if changed := line.changed(before[y]):
                start, end = changed
                self.refresh(Region(start, y, end - start, 1))

    def on_resize(self) -> None:
        self._lines = self._draw()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        if y >= len(self._lines):
            return Strip.blank(self.size.width, self.rich_style)
        style = self.get_component_rich_style
        segments = [Segment(text, style(f"chart--{kind}")) for kind, text in self._lines[y].pieces()]
        return Strip(segments, self.size.width)

    def _draw(self) -> list[plot.Line]:
        width, height = self.size
        live = self._live
        if live is None or width < SMALLEST[0] or height < SMALLEST[1]:
            return []
        experiment, samples = live.run.experiment, live.drawn
        expected = live.expectation.cwnd_segments if live.expectation else None
        upper = traces.top(samples, experiment.flows.warmup, expected)
        flows = traces.traces(samples, experiment.seconds, width * 2)
        course = traces.course(live.expectation, experiment.seconds, width)
        return plot.draw(list(flows.values()), (width, height), experiment.seconds, upper, expected, course)
