"""The run's side of the screen, in whatever room it has: the chart, the strips under it, the ruler, and why.

It draws lines in a thread and writes only the cells that changed, since a whole panel costs 8 KB.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tcptutor.spec import Experiment
from tcptutor.ui import words
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import axes, chart, layout, network
from tcptutor.ui.widgets.bench.history import History
from tcptutor.ui.widgets.bench.lines import TEXT, Line, paragraph
from tcptutor.ui.widgets.bench.scene import OwnPrediction

DRAW_S = 0.5
"""Seconds between two drawings of a run that goes on."""

SLICES = 8
"""Parts side by side, which are written one by one."""

SMALLEST = (40, 5)
"""Columns and lines under which nothing is drawn."""

_STYLES = (
    "text", "strong", "muted", "good", "bad", "warn", "axis", "grid", "band", "limit", "course", "expected", "mean",
    "you", "before", "block", "mark", "model", "link",
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


class RunPanel(Widget):
    """Draws one `Live`; told when it moved, it draws at its own pace."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"bench--{style}" for style in _STYLES}

    def __init__(self) -> None:
        super().__init__(id="panel")
        self._live: Live | None = None
        self._history: History | None = None
        self._own: OwnPrediction | None = None
        self._experiment: Experiment | None = None
        self._said = ""
        self._view: layout.View = "chart"
        self._lines: list[Line] = []
        self._due = self._drawing = False
        self._pace = Pace(self, DRAW_S, self._draw)
        self._slices = [Slice(self, number) for number in range(SLICES)]
        self._cuts = [0] * (SLICES + 1)
        """Where the slices begin, and the end: as they were last cut, which may be a moment after the size changed."""

    def compose(self) -> ComposeResult:
        yield from self._slices

    def idle(self, experiment: Experiment, instruction: str) -> None:
        """Nothing was run yet: say what would be, and how to start it."""
        self._live, self._history = None, None
        self._experiment, self._said = experiment, instruction
        self.set_class(False, "-live")
        self.refresh(layout=True)
        self._draw()

    def show(self, live: Live, own: OwnPrediction | None) -> None:
        """Show this run now; nothing when the page was left meanwhile."""
        if not self.is_attached:
            return
        if live is not self._live:
            self._live, self._history = live, History(live.run.experiment.seconds)
            self._view = "chart"
        self._own, self._said = own, ""
        self.set_class(True, "-live")
        self.set_class(live.state == "ended", "-ended")
        self.call_after_refresh(self._pace.now)

    def say(self, text: str) -> None:
        """A word about running, where its state stands."""
        self._said = text
        self._draw()

    def moved(self) -> None:
        """The run on show has new data."""
        if self._live is not None:
            self._said = ""
        self._pace.ask()

    def turn(self) -> None:
        """The next view: the chart, the table of models, each flow by itself."""
        if self._live is None:
            return
        there = layout.views(self._live)
        at = there.index(self._view) if self._view in there else 0
        self._view = there[(at + 1) % len(there)]
        self._draw()

    def on_resize(self) -> None:
        # Not at once: what asks for another size while a layout is being made is not asked again.
        self.call_after_refresh(self._cut)
        self._draw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return len(self._idle(width, 0))

    @property
    def lines(self) -> list[str]:
        """What it shows, as text."""
        return [line.text for line in self._lines]

    def _idle(self, width: int, height: int) -> list[Line]:
        if self._experiment is None:
            return []
        drawn = network.drawing(self._experiment)
        instruction = paragraph("", TEXT, self._said, width)
        if height >= len(drawn) + len(instruction) + 2:
            return [*drawn, Line(), Line(), *instruction]
        return [*paragraph("", TEXT, words.experiment_line(self._experiment), width), *instruction]

    def _draw(self) -> None:
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
                live, history = self._live, self._history
                if live is None or history is None:
                    self._put(self._idle(width, height))
                elif width >= SMALLEST[0] and height >= SMALLEST[1]:
                    view: layout.View = self._view if self._view in layout.views(live) else "chart"
                    asked = live, history, self._own, self._said, view, width, height
                    self._put(await asyncio.to_thread(_drawn, *asked))
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
            return Strip.blank(end - start, self.rich_style)
        style = self.get_component_rich_style
        pieces = self._lines[y].part(start, end).pieces()
        segments = [Segment(text, style(f"bench--{name}")) for text, name in pieces]
        # It may still be that of another size.
        return Strip(segments).adjust_cell_length(end - start, self.rich_style)


class Slice(Widget):
    """Some columns of a panel.

    Textual writes a changed line from its widget's left edge on: the narrower the widget, the fewer the bytes.
    """

    ALLOW_SELECT = False

    def __init__(self, panel: RunPanel, number: int) -> None:
        super().__init__()
        self._panel, self.number = panel, number

    def render_line(self, y: int) -> Strip:
        return self._panel.line_part(y, self.number)


def _starts(width: int) -> list[int]:
    """Where the slices begin, and the end: at equal distances on the time axis, and where it ends."""
    across = axes.columns(width)
    return [0, *(axes.GUTTER + across * number // (SLICES - 1) for number in range(1, SLICES)), width]


def _drawn(
    live: Live,
    history: History,
    own: OwnPrediction | None,
    said: str,
    view: layout.View,
    width: int,
    height: int,
) -> list[Line]:
    """Called in a thread."""
    history.follow(live.run)
    return layout.picture(live, history, own, said, view, width, height)
