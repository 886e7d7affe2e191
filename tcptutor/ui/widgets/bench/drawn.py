"""A panel of lines: drawn at its own pace, off the event loop, and only the cells that changed are written.

A whole panel costs 8 KB on the way to a terminal.
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

from tcptutor.ui.widgets.bench import axes, chart
from tcptutor.ui.widgets.bench.lines import Line

DRAW_S = 0.5
"""Seconds between two drawings of what goes on."""

SLICES = 8
"""Parts side by side, which are written one by one."""

SMALLEST = (40, 5)
"""Columns and lines under which nothing is drawn."""

_STYLES = (
    "text", "strong", "muted", "good", "bad", "warn", "axis", "grid", "band", "limit", "course", "forecast", "expected",
    "mean", "you", "before", "block", "mark", "model", "link", "point", "published", "cursor",
    *(chart.flow_style(number) for number in range(len(chart.FLOW_PATTERNS))),
)  # fmt: skip


class Pace:
    """Calls `draw` at once, or as soon as `interval` seconds have passed since the last time, however often asked."""

    def __init__(self, widget: Widget, interval: float, draw: Callable[[], None]) -> None:
        self._widget, self._interval, self._draw = widget, interval, draw
        self._last = 0.0
        self._waiting: Timer | None = None

    def ask(self) -> None:
        if self._waiting is None:
            rest = self._last + self._interval - time.monotonic()
            if rest <= 0:
                self.now()
            else:
                self._waiting = self._widget.set_timer(rest, self.now)

    def now(self) -> None:
        """Draw without waiting: the last state must not be late."""
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        self._last = time.monotonic()
        self._draw()


class DrawnPanel(Widget):
    """Subclasses say which lines it has; they call `draw` when these are others, or `pace.ask` while they move."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"bench--{style}" for style in _STYLES}

    def __init__(self) -> None:
        super().__init__(id="panel")
        self._lines: list[Line] = []
        self._due = self._drawing = False
        self._blank_style: Style | None = None
        self.pace = Pace(self, DRAW_S, self.draw)
        self._slices = [Slice(self, number) for number in range(SLICES)]
        self._cuts = [0] * (SLICES + 1)
        """Where the slices begin, and the end: as they were last cut, which may be a moment after the size changed."""

    # For subclasses

    def waiting(self, width: int, height: int) -> list[Line] | None:
        """What it shows while there is nothing to draw; None once there is."""
        raise NotImplementedError

    def picture(self) -> Callable[[int, int], list[Line]]:
        """What gives its lines for so many columns and lines; called in a thread."""
        raise NotImplementedError

    # The same for all

    def compose(self) -> ComposeResult:
        yield from self._slices

    def on_resize(self) -> None:
        # Not at once: what asks for another size while a layout is being made is not asked again.
        self.call_after_refresh(self._cut)
        self.draw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return len(self.waiting(width, 0) or ())

    @property
    def lines(self) -> list[str]:
        """What it shows, as text."""
        return [line.text for line in self._lines]

    @property
    def settled(self) -> bool:
        """Whether it shows all that it was asked to draw."""
        return not self._drawing

    def draw(self) -> None:
        """Draw anew; what is asked for meanwhile is drawn once that is done."""
        self._due = True
        if not self._drawing and self.is_attached:
            self._drawing = True
            self.run_worker(self._draw_while_due(), group="panel")

    async def _draw_while_due(self) -> None:
        try:
            while self._due:
                self._due = False
                width, height = self.content_size
                waiting = self.waiting(width, height)
                if waiting is not None:
                    self._put(waiting)
                elif width >= SMALLEST[0] and height >= SMALLEST[1]:
                    self._put(await asyncio.to_thread(self.picture(), width, height))
        finally:
            self._drawing = False

    def _put(self, lines: list[Line]) -> None:
        before, self._lines = self._lines, lines
        for part in self._slices:
            if len(before) != len(lines):
                part.refresh()
                continue
            start, end = self._cuts[part.number : part.number + 2]
            for y, line in enumerate(lines):
                if changed := line.changed(before[y], start, end):
                    first, last = changed
                    part.refresh(Region(first - start, y, last - first, 1))

    def _cut(self) -> None:
        self._cuts = _starts(self.content_size.width)
        for part, (start, end) in zip(self._slices, pairwise(self._cuts), strict=True):
            part.styles.width = end - start
            # A slice that is as wide as before may show other columns, and Textual keeps what it drew.
            part.refresh()

    def line_part(self, y: int, number: int) -> Strip:
        """What slice `number` shows of a line."""
        start, end = self._cuts[number : number + 2]
        if y >= len(self._lines):
            return Strip.blank(end - start, self._blank)
        style = self.get_component_rich_style
        pieces = self._lines[y].part(start, end).pieces()
        segments = [Segment(text, style(f"bench--{name}")) for text, name in pieces]
        # It may still be that of another size.
        return Strip(segments).adjust_cell_length(end - start, self._blank)

    @property
    def _blank(self) -> Style:
        """Of cells without a character. Textual works it out from all that is around, which costs as much as a line."""
        if self._blank_style is None:
            self._blank_style = self.rich_style
        return self._blank_style

    def notify_style_update(self) -> None:
        self._blank_style = None
        super().notify_style_update()


class Slice(Widget):
    """Some columns of a panel.

    Textual writes a changed line from its widget's left edge on: the narrower the widget, the fewer the bytes.
    """

    ALLOW_SELECT = False

    def __init__(self, panel: DrawnPanel, number: int) -> None:
        super().__init__()
        self._panel, self.number = panel, number

    def render_line(self, y: int) -> Strip:
        return self._panel.line_part(y, self.number)


def _starts(width: int) -> list[int]:
    """Where the slices begin, and the end: at equal distances on the time axis, and where it ends."""
    across = axes.columns(width)
    return [0, *(axes.GUTTER + across * number // (SLICES - 1) for number in range(1, SLICES)), width]
