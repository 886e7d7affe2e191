"""Player of a page's moving figures: plays a single visible figure, within a budget of output."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from textual.timer import Timer
from textual.widget import Widget

from tcptutor.base.key_names import key_name
from tcptutor.ui.motion import MotionChoice
from tcptutor.ui.widgets.prose.moving import MovingView
from tcptutor.ui.widgets.prose.pace import FRAME_S, LONGEST_FRAME_S, FramePace
from tcptutor.ui.widgets.prose.playback import Playback

_LOOK_S = 0.25
"""Seconds between checks for visible figures while no figure plays."""
_HIDDEN_LINES = 2
"""Lines that may be off the screen for a figure to count as shown."""


class FigurePlayer:
    """Player of the moving figures in `page`, a widget that scrolls."""

    def __init__(self, page: Widget) -> None:
        self._page = page
        self._views: list[MovingView] = []
        self._motion: MotionChoice | None = None
        self._changed: Callable[[], None] = lambda: None
        self._clicked: MovingView | None = None
        """Figure that was clicked last, which keeps the keys while it is shown."""
        self._seen: tuple[MovingView | None, bool] = None, False
        """The current figure at the last look, and whether it played."""
        self._timer: Timer | None = None
        self._last_look = 0.0
        self._pace = FramePace()

    def start(self, motion: MotionChoice, changed: Callable[[], None]) -> None:
        """Watch the page's figures, once all of them are mounted.

        Args:
            motion: Whether figures may move.
            changed: Called when the current figure changes, or when a figure starts or stops playing.
        """
        self._motion, self._changed = motion, changed
        self._views = list(self._page.query(MovingView))
        if self._views:
            self._look()

    @property
    def current(self) -> MovingView | None:
        """Figure that keys act on: the playing figure, the figure clicked last, or the topmost, in this order."""
        drawn = [view for view in self._views if not view.is_in_words]
        playing = next((view for view in drawn if view.playback.playing), None)
        if playing is not None and 2 * self._lines_on_screen(playing) >= self._most_lines(playing):
            return playing
        shown = [view for view in drawn if self._is_shown(view)]
        return self._clicked if self._clicked in shown else min(shown, key=_top, default=None)

    @property
    def can_change_speed(self) -> bool:
        return self.current is not None and not self._off_because

    # Actions

    def toggle(self, view: MovingView | None = None) -> None:
        """Play or pause a figure, by default the current one; go to its next stop if figures may not move."""
        self._clicked = view or self._clicked
        self._act(lambda playback: playback.step(1) if self._off_because else playback.toggle(), view)

    def step(self, by: int) -> None:
        """Show the next (1) or previous (-1) stop."""
        self._act(lambda playback: playback.step(by))

    def change_speed(self, by: int) -> None:
        """Play faster (1) or slower (-1)."""
        self._act(lambda playback: playback.change_speed(by))

    def _act(self, change: Callable[[Playback], Playback], view: MovingView | None = None) -> None:
        view = view or self.current
        if view is not None:
            self._show(view, change(view.playback))
            self._last_look = time.monotonic()
            self._pace = replace(self._pace, wait=FRAME_S)
            self._look_after(FRAME_S)

    # Time

    def _look(self) -> None:
        now = time.monotonic()
        elapsed, self._last_look = now - self._last_look, now
        wait = _LOOK_S
        if self._page.is_attached and self._page.screen.is_current and self._page.app.app_focus:
            wait = self._rest_all() if self._off_because else self._advance(elapsed)
            self._update_hints()
        self._look_after(wait)

    def _advance(self, elapsed: float) -> float:
        """Move the current figure on, and return the seconds until the next frame."""
        view = self.current
        if view is None:
            return _LOOK_S
        if not view.has_played:
            self._show(view, view.playback.toggle())
            self._pace = replace(self._pace, wait=FRAME_S)
        elif view.playback.playing:
            if self._motion and (pause := self._motion.wait_for_line()):
                return pause
            written = self._show(view, view.playback.advance(min(elapsed, LONGEST_FRAME_S)))
            self._pace = self._pace.after(elapsed, written)
            return self._pace.wait
        return FRAME_S if view.playback.playing else _LOOK_S

    def _rest_all(self) -> float:
        for view in self._views:
            if view.playback.playing:
                self._show(view, view.playback.rest())
        return _LOOK_S

    def _look_after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.stop()
        if self._page.is_attached:
            self._timer = self._page.set_timer(seconds, self._look)

    # Display

    def _show(self, view: MovingView, playback: Playback) -> int:
        view.has_played |= playback != view.playback
        for other in self._views:
            if playback.playing and other is not view and other.playback.playing:
                other.show(other.playback.toggle())
        return view.show(playback)

    def _update_hints(self) -> None:
        current = self.current
        key = key_name("figure.play")
        for view in self._views:
            if reason := self._off_because:
                view.hint(f"{key} steps ({reason})" if view is current else f"a click steps ({reason})")
            else:
                view.hint(f"{key} plays" if view is current else "a click plays")
        seen = current, current is not None and current.playback.playing
        if seen != self._seen:
            self._seen = seen
            self._changed()

    @property
    def _off_because(self) -> str:
        return self._motion.off_because if self._motion else "motion is off"

    def _is_shown(self, view: MovingView) -> bool:
        """Return whether (almost) all lines of the figure are on the screen, or as many as fit."""
        lines = self._lines_on_screen(view)
        return lines > 0 and lines >= self._most_lines(view) - _HIDDEN_LINES

    def _most_lines(self, view: MovingView) -> int:
        """Return how many lines of the figure fit on the screen."""
        return min(view.region.height, self._page.region.height)

    def _lines_on_screen(self, view: MovingView) -> int:
        return self._page.region.intersection(view.region).height if view.is_on_screen else 0


def _top(view: MovingView) -> int:
    return view.region.y
