"""Widget that shows lines: rendered off the event loop at a limited rate, redrawing only changed cells.

A full redraw costs 8 KB of output to the terminal.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tcptutor.figures.lines import Line
from tcptutor.ui.widgets.chart import axes, chart

DRAW_INTERVAL_S = 0.5
"""Minimum seconds between two drawings of a live run."""

SLICES = 8
"""Number of vertical slices, each redrawn separately."""

MIN_SIZE = (40, 5)
"""Columns and lines below which no picture is drawn."""

_STYLES = (
    "text", "strong", "muted", "good", "bad", "warn", "axis", "grid", "band", "limit", "trajectory", "forecast",
    "expected", "mean", "you", "before", "block", "mark", "model", "link", "point", "published", "cursor",
    *(chart.flow_style(number) for number in range(len(chart.FLOW_PATTERNS))),
)  # fmt: skip


class Pace:
    """Rate limiter: calls `draw` at once, or when `interval` seconds have passed since the last call."""

    def __init__(self, widget: Widget, interval: float, draw: Callable[[], None]) -> None:
        self._widget, self._interval, self._draw = widget, interval, draw
        self._last = 0.0
        self._waiting: Timer | None = None

    def request(self) -> None:
        if self._waiting is None:
            remaining = self._last + self._interval - time.monotonic()
            if remaining <= 0:
                self.draw_now()
            else:
                self._waiting = self._widget.set_timer(remaining, self.draw_now)

    def draw_now(self) -> None:
        """Draw without waiting, for a final state."""
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        self._last = time.monotonic()
        self._draw()


class LinePanel(Widget):
    """Base of line panels; subclasses provide the lines and call `draw`, or `pace.request` while data changes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"bench--{style}" for style in _STYLES}

    def __init__(self) -> None:
        super().__init__(id="panel")
        self._lines: list[Line] = []
        self._requested = self._drawing = False
        self._blank_style: Style | None = None
        self.pace = Pace(self, DRAW_INTERVAL_S, self.draw)
        self._slices = [Slice(self, number) for number in range(SLICES)]
        self._borders = [0] * (SLICES + 1)
        """Columns of the slice borders as last laid out, which may lag behind a change of size."""

    # For subclasses

    def waiting(self, width: int, height: int) -> list[Line] | None:
        """Return lines to show before the first picture; None once there is a picture."""
        raise NotImplementedError

    def picture(self) -> Callable[[int, int], list[Line]]:
        """Return a function from columns and lines to the picture; it runs in a thread."""
        raise NotImplementedError

    # Shared

    def compose(self) -> ComposeResult:
        yield from self._slices

    def on_resize(self) -> None:
        # Deferred: a size requested during a layout would be ignored.
        self.call_after_refresh(self._lay_out_slices)
        self.draw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return len(self.waiting(width, 0) or ())

    @property
    def lines(self) -> list[str]:
        """Lines on display, as text."""
        return [line.text for line in self._lines]

    @property
    def is_idle(self) -> bool:
        """Whether all requested drawing is done."""
        return not self._drawing

    def draw(self) -> None:
        """Draw again; requests made meanwhile are drawn afterwards."""
        self._requested = True
        if not self._drawing and self.is_attached:
            self._drawing = True
            # A function: a coroutine would never be awaited if the app ends before the worker starts.
            self.run_worker(self._draw_while_due, group="panel")  # type: ignore[arg-type]

    async def _draw_while_due(self) -> None:
        try:
            while self._requested:
                self._requested = False
                width, height = self.content_size
                waiting = self.waiting(width, height)
                if waiting is not None:
                    self._show_lines(waiting)
                elif width >= MIN_SIZE[0] and height >= MIN_SIZE[1]:
                    self._show_lines(await asyncio.to_thread(self.picture(), width, height))
        finally:
            self._drawing = False

    def _show_lines(self, lines: list[Line]) -> None:
        before, self._lines = self._lines, lines
        for part in self._slices:
            if len(before) != len(lines):
                part.refresh()
                continue
            start, end = self._borders[part.number : part.number + 2]
            for y, line in enumerate(lines):
                if changed := line.changed_range(before[y], start, end):
                    first, last = changed
                    part.refresh(Region(first - start, y, last - first, 1))

    def _lay_out_slices(self) -> None:
        self._borders = _slice_borders(self.content_size.width)
        for part, (start, end) in zip(self._slices, pairwise(self._borders), strict=True):
            part.styles.width = end - start
            # A slice of the same width may show other columns, and Textual caches its lines.
            part.refresh()

    def line_part(self, y: int, number: int) -> Strip:
        """Return the part of a line that slice `number` shows."""
        start, end = self._borders[number : number + 2]
        if y >= len(self._lines):
            return Strip.blank(end - start, self._blank)
        style = self.get_component_rich_style
        pieces = self._lines[y].part(start, end).pieces()
        segments = [Segment(text, style(f"bench--{name}")) for text, name in pieces]
        # The line may still be of another size.
        return Strip(segments).adjust_cell_length(end - start, self._blank)

    @property
    def _blank(self) -> Style:
        """Style of empty cells, cached: Textual derives it from all ancestors, at the cost of a line."""
        if self._blank_style is None:
            self._blank_style = self.rich_style
        return self._blank_style

    def notify_style_update(self) -> None:
        self._blank_style = None
        super().notify_style_update()


class Slice(Widget):
    """Some columns of a panel.

    Textual rewrites a changed line from the left edge of its widget: narrow widgets need fewer bytes.
    """

    ALLOW_SELECT = False

    def __init__(self, panel: LinePanel, number: int) -> None:
        super().__init__()
        self._panel, self.number = panel, number

    def render_line(self, y: int) -> Strip:
        return self._panel.line_part(y, self.number)


def _slice_borders(width: int) -> list[int]:
    across = axes.columns(width)
    return [0, *(axes.GUTTER + across * number // (SLICES - 1) for number in range(1, SLICES)), width]
