"""The chart of congestion windows: redraws only the cells that changed, since a whole one costs 6 KB.

It is drawn in a thread: sixteen flows take plotext a quarter of a second.
"""

from __future__ import annotations

import asyncio
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
        self._due = self._drawing = False

    def show(self, live: Live | None) -> None:
        """Draw the run as it stands now."""
        self._live = live
        self._redraw()

    def on_resize(self) -> None:
        self._redraw()

    def _redraw(self) -> None:
        """Draw anew; what is asked for meanwhile is drawn once that is done."""
        self._due = True
        if not self._drawing and self.is_attached:
            self._drawing = True
            self.run_worker(self._draw_while_due(), group="chart")

    async def _draw_while_due(self) -> None:
        try:
            while self._due:
                self._due = False
                size = self.size
                lines = await asyncio.to_thread(_draw, self._live, size.width, size.height)
                self._put(lines)
        finally:
            self._drawing = False

    def _put(self, lines: list[plot.Line]) -> None:
        before, self._lines = self._lines, lines
        if [len(line.text) for line in before] != [len(line.text) for line in lines]:
            self.refresh()
            return
        for y, line in enumerate(lines):
            if changed := line.changed(before[y]):
                start, end = changed
                self.refresh(Region(start, y, end - start, 1))

    def render_line(self, y: int) -> Strip:
        if y >= len(self._lines):
            return Strip.blank(self.size.width, self.rich_style)
        style = self.get_component_rich_style
        line = self._lines[y]
        segments = [Segment(text, style(f"chart--{kind}")) for kind, text in line.pieces()]
        # It may still be that of another size.
        return Strip(segments, len(line.text)).adjust_cell_length(self.size.width, self.rich_style)


def _draw(live: Live | None, width: int, height: int) -> list[plot.Line]:
    """The picture of a run in that many cells; none where there is nothing to show or no room. Called in a thread."""
    if live is None or width < SMALLEST[0] or height < SMALLEST[1]:
        return []
    experiment, samples = live.run.experiment, live.drawn
    expected = live.expectation.cwnd_segments if live.expectation else None
    upper = traces.top(samples, experiment.flows.warmup, expected)
    flows = traces.traces(samples, experiment.seconds, width * 2)
    course = traces.course(live.expectation, experiment.seconds, width)
    return plot.draw(list(flows.values()), (width, height), experiment.seconds, upper, expected, course)
