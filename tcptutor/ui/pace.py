"""Draws at the screen's own pace, however often something asks for it."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget


class Pace:
    """Calls `draw` at once, or as soon as `interval` seconds have passed since the last time."""

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
