"""App whose settings the student chooses; screens follow at once, later sessions start with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial

from tcptutor.base.errors import JournalError
from tcptutor.journal.saved import Settings
from tcptutor.ui import themes
from tcptutor.ui.frame import Frame
from tcptutor.ui.motion import MotionChoice
from tcptutor.ui.screens.base import TutorScreen


class ChoosingApp(Frame):
    """App with the student's settings. A choice applies at once, and is saved unless the configuration file sets it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.motion = MotionChoice(os.environ, self.settings, self.line)

    def choose_motion(self, on: bool) -> None:
        """Turn the motion of figures on or off."""
        if problem := self.motion.choose(on):
            self.notify(problem, severity="warning")
        self._point_at_file("motion")

    def choose_words(self, in_words: bool) -> None:
        """Describe figures in words, or draw them, now and in later sessions."""
        from tcptutor.ui.widgets.prose.figure import FigureView  # noqa: PLC0415  # not for the first frame

        self._keep(partial(self.settings.set_figures_in_words, in_words))
        self._point_at_file("figures_in_words")
        for screen in self.screen_stack:
            for figure in screen.query(FigureView):
                figure.show_in_words(in_words)
            if isinstance(screen, TutorScreen):
                screen.schedule_keys()

    def choose_daily_minutes(self, minutes: int) -> None:
        """Set the goal of a day, in minutes; 0 for none."""
        self._keep(partial(self.settings.set_daily_minutes, minutes))
        self._point_at_file("daily_minutes")
        for screen in self.mounted_screens():
            screen.goal_changed()

    def choose_bell(self, rings: bool) -> None:
        """Ring the terminal's bell at the end of a long run, or not, now and in later sessions."""
        self._keep(partial(self.settings.set_bell, rings))
        self._point_at_file("bell")

    def choose_theme(self, name: str) -> None:
        """Show all in a theme of `themes.LOOKS`, now and in later sessions."""
        self.theme = themes.named(name).name
        self._keep(partial(self.settings.set_theme, name))
        self._point_at_file("theme")

    def _point_at_file(self, setting: str) -> None:
        """Say that a choice does not last if the user's configuration file has the setting."""
        file = self.configuration.own
        if setting in file.lines:
            self.notify(f"Until you quit: {file.path}:{file.lines[setting]} sets {setting}.", timeout=10)

    def _keep(self, store: Callable[[], None]) -> None:
        try:
            store()
        except JournalError as error:
            self.notify(str(error), severity="warning")

    def mounted_screens(self) -> Iterable[TutorScreen]:
        """Yield the screens that can be changed now, the bottom first."""
        if self.is_leaving or not self.is_running:
            return
        for screen in self.screen_stack:
            if isinstance(screen, TutorScreen) and screen.is_mounted:
                yield screen
