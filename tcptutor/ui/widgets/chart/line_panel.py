"""Widget that shows lines rendered off the event loop, at a limited rate."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar

from rich.style import Style
from textual.geometry import Size
from textual.timer import Timer
from textual.widget import Widget

from tcptutor.figures.lines import ACK, BAD, DATA, FRAME, OTHER, QUEUE, RTT, TEXT, Line, paragraph
from tcptutor.ui.line_meter import LineMeter
from tcptutor.ui.widgets.chart import axes, chart, edge, strips, warmup
from tcptutor.ui.widgets.chart.edge import EdgeKeys
from tcptutor.ui.widgets.slices import SlicedLines
from tcptutor.ui.workers import start_worker

DRAW_INTERVAL_S = 0.5
"""Minimum seconds between two drawings of a live run."""

SLICES = 8
"""Number of vertical slices, each redrawn separately."""

MIN_SIZE = (40, 5)
"""Columns and lines below which no picture is drawn."""

_STYLES = (
    "text", "strong", "muted", "good", "bad", "warn", "axis", "grid", "band", "limit", "trajectory", "forecast",
    "expected", "mean", "you", "before", "block", "mark", "model", "link", "point", "published", "cursor",
    DATA, OTHER, ACK, QUEUE, RTT, FRAME, "range", "forecast-range", "warm-up",
    *(f"{style}{strips.AREA}" for style in (DATA, RTT, QUEUE, BAD)),
    *(chart.flow_style(number) for number in range(len(chart.FLOW_PATTERNS))),
)  # fmt: skip


class Pace:
    """Rate limiter: calls `draw` at once, or when `interval` has passed and the line has room for a frame."""

    def __init__(self, widget: Widget, interval: float, draw: Callable[[], None]) -> None:
        self._widget, self._interval, self._draw = widget, interval, draw
        self.line: LineMeter | None = None
        """Measures the line to the terminal; None to draw regardless of its rate."""
        self._last = 0.0
        self._waiting: Timer | None = None

    def request(self) -> None:
        if self._waiting is None:
            remaining = self._last + self._interval - time.monotonic()
            remaining = max(remaining, self.line.pause_s if self.line else 0.0)
            if remaining <= 0:
                self.draw_now()
            else:
                self._waiting = self._widget.set_timer(remaining, self._draw_if_free)

    def _draw_if_free(self) -> None:
        self._waiting = None
        self.request()

    def draw_now(self) -> None:
        """Draw without waiting, for a final state."""
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        self._last = time.monotonic()
        if self.line is not None:
            self.line.ask()
        self._draw()


class LinePanel(SlicedLines):
    """Base of line panels; subclasses provide the lines and call `draw`, or `pace.request` while data changes."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"bench--{style}" for style in _STYLES}
    STYLE_PREFIX = "bench--"

    def __init__(self) -> None:
        super().__init__(SLICES, id="panel")
        self._requested = self._drawing = False
        self.pace = Pace(self, DRAW_INTERVAL_S, self.draw)
        self.edge_keys: Callable[[], EdgeKeys | None] = lambda: None
        """Returns the keys for the edges of the panel's parts; set by screens with such keys."""

    def cell_style(self, name: str) -> Style:
        base = warmup.base_style(name)
        style = super().cell_style(base)
        return style if base == name else style + Style(bgcolor=super().cell_style("warm-up").bgcolor)

    # For subclasses

    def waiting(self, width: int, height: int) -> list[Line] | None:
        """Return lines to show before the first picture; None once a picture exists."""
        raise NotImplementedError

    def picture(self) -> Callable[[int, int], list[Line]]:
        """Return a function from columns and lines to the picture; it runs in a thread."""
        raise NotImplementedError

    @property
    def has_views(self) -> bool:
        """True if other views have content."""
        return False

    # Shared

    @property
    def shows_keys(self) -> bool:
        """True if the panel's edges show the screen's keys."""
        return self.content_size.height >= edge.MIN_HEIGHT and self.edge_keys() is not None

    def slice_borders(self, width: int) -> list[int]:
        across = axes.columns(width)
        return [0, *(axes.GUTTER + across * number // (SLICES - 1) for number in range(1, SLICES)), width]

    def on_mount(self) -> None:
        self.pace.line = getattr(self.app, "line", None)

    def on_resize(self) -> None:
        # Textual calls the handler of the base class, too.
        self.draw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return len(self.waiting(width, 0) or ())

    @property
    def is_idle(self) -> bool:
        """Whether all requested drawing is done."""
        return not self._drawing

    def draw(self) -> None:
        """Draw again; requests made meanwhile are drawn afterwards."""
        self._requested = True
        if not self._drawing and self.is_attached:
            self._drawing = True
            start_worker(self, self._draw_while_due, group="panel")

    async def _draw_while_due(self) -> None:
        try:
            while self._requested:
                self._requested = False
                width, height = self.content_size
                waiting = self.waiting(width, height)
                if waiting is not None:
                    self.show_lines(waiting)
                elif width >= MIN_SIZE[0] and height >= MIN_SIZE[1]:
                    self.show_lines(await asyncio.to_thread(self.picture(), width, height))
                else:
                    needed = "A chart needs a terminal of 80 x 24."
                    self.show_lines(paragraph("", TEXT, needed, max(width, 1))[:height])
        finally:
            self._drawing = False
