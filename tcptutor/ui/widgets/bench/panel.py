"""The run's side of the screen: what is set up, the chart, the numbers, and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content, Span
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tcptutor.spec import Experiment
from tcptutor.ui import words
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import comparison, legend, network, result, sparklines, strips
from tcptutor.ui.widgets.bench.chart import LEAST, Chart

DRAW_S = 0.5
"""Seconds between two drawings of a run that goes on."""


PARTS = (
    "setup", "network", "title", "legend", "throughput", "rtt", "causes", "phases", "marks", "status", "comparison",
    "why",
)  # fmt: skip
"""From top to bottom; the chart stands under its legend."""


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


class RunPanel(Vertical):
    """Draws one `Live`; told when it moved, it draws at its own pace."""

    def __init__(self) -> None:
        super().__init__(id="panel")
        self._live: Live | None = None
        self._own: comparison.OwnPrediction | None = None
        self._small = False
        # Kept, not looked up: what is told to a panel that is just being closed must not find its parts gone.
        self._parts = {name: Static(id=name, markup=False) for name in PARTS}
        self._chart = Chart()
        self._texts: dict[str, tuple[str, tuple[Span, ...]]] = {}
        self._pace = Pace(self, DRAW_S, self._draw)

    def compose(self) -> ComposeResult:
        for name, part in self._parts.items():
            yield part
            if name == "legend":
                yield self._chart

    def idle(self, experiment: Experiment, instruction: str) -> None:
        """Nothing was run yet: say what would be, and how to start it."""
        self._live = None
        self.set_class(False, "-live")
        self._text("setup", _setup(experiment))
        self._text("network", network.drawing(experiment), layout=True)
        self._text("status", Content(instruction))

    def show(self, live: Live, own: comparison.OwnPrediction | None) -> None:
        """Show this run now; nothing when the page was left meanwhile."""
        if not self.is_attached:
            return
        self._live, self._own = live, own
        self.set_class(True, "-live")
        self.set_class(live.state == "ended", "-ended")
        self.set_class(live.state == "ended" and live.run.complete and not live.problem, "-whole")
        self._text("setup", _setup(live.run.experiment))
        self.call_after_refresh(self._pace.now)

    def say(self, text: str) -> None:
        """A word about running, where its state stands."""
        self._text("status", Content(text), layout=True)

    def moved(self) -> None:
        """The run on show has new data."""
        self._pace.ask()

    def show_small(self, small: bool) -> None:
        """Whether there are too few lines for the table."""
        self._small = small
        # Not at once, as on_resize: it is told while the layout for the new size is being made.
        self.call_after_refresh(self._pace.ask)

    def on_resize(self) -> None:
        # Not at once: what asks for another height while a layout is being made is not asked again.
        self.call_after_refresh(self._lines)

    def _draw(self) -> None:
        if self._live:
            self._chart.show(self._live)
            self._lines()

    def _lines(self) -> None:
        live = self._live
        if live is None:
            return
        width = self.content_size.width
        self._text("title", legend.title(live, width))
        self._text("legend", legend.legend(live, width))
        self._text("throughput", sparklines.throughput(live, width))
        self._text("rtt", sparklines.rtt(live, width))
        self._text("status", result.status(live), layout=live.state == "ended")
        self._strips(live, width)
        if live.state != "ended":
            return
        self._text("why", result.why(live, width), layout=True)
        compared = Content("")
        if live.report:
            told = live.report, self._own, width
            compared = comparison.line(*told) if self._small else comparison.table(*told, self._room())
        self._text("comparison", compared, layout=True)

    def _room(self) -> int:
        """Lines that the comparison may have, so that the chart keeps enough.

        By what the parts say, not by their heights: this drawing is not laid out yet.
        """
        room = self.content_size.height - self._chart.styles.margin.height - LEAST
        for name, part in self._parts.items():
            if part.display:
                room -= part.styles.margin.height
                if name == "setup":  # wrapped where it stands
                    room -= part.size.height
                elif name != "comparison":
                    room -= len(self._texts[name][0].split("\n")) if name in self._texts else 0
        return room

    def _strips(self, live: Live, width: int) -> None:
        """What limited it over time; the phases where there are lines enough."""
        texts = {"causes": strips.causes(live, width)}
        if not self._small:
            texts["phases"] = strips.phases(live, width)
        texts["marks"] = strips.key(live, width, full=not self._small)
        for name, text in texts.items():
            self._text(name, text, layout=name == "marks")
        self._show_strips([name for name, text in texts.items() if text.plain])

    def _show_strips(self, names: Collection[str]) -> None:
        for name in ("causes", "phases", "marks"):
            self._parts[name].display = name in names

    def _text(self, name: str, content: Content, layout: bool = False) -> None:
        # Drawing what has not changed, or a layout where no height changes, costs bytes and shows nothing.
        key = content.plain, tuple(content.spans)
        if self._texts.get(name) != key:
            self._texts[name] = key
            self._parts[name].update(content, layout=layout)


def _setup(experiment: Experiment) -> Content:
    return Content(words.experiment_line(experiment))
