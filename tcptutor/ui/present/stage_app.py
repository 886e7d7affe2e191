"""The app of a presenting or watching terminal."""

from __future__ import annotations

import asyncio
import os
from pathlib import PurePath
from typing import Any, ClassVar

from textual._compositor import CompositorUpdate
from textual.screen import Screen

from tcptutor.base import glyphs, places
from tcptutor.course.outline import Course
from tcptutor.journal.saved import Settings
from tcptutor.room.client import Interrupted
from tcptutor.room.protocol import CommandRefused, RunBegins, RunEvent, Shows, Welcome
from tcptutor.ui import shutdown
from tcptutor.ui.frame import SCREEN_STYLES, START_STYLES
from tcptutor.ui.motion import MotionChoice
from tcptutor.ui.present import text_sizing
from tcptutor.ui.present.lecture_app import LectureApp, LectureConnection
from tcptutor.ui.present.stage_screen import StageScreen
from tcptutor.ui.present.stage_view import StageView

STAGE_STYLES = places.assets() / "ui" / "present.tcss"


class PresentApp(LectureApp):
    """Shows a lecture to the room."""

    CSS_PATH: ClassVar[list[str | PurePath]] = [START_STYLES, SCREEN_STYLES, STAGE_STYLES]

    def __init__(
        self,
        connection: LectureConnection,
        course: Course,
        *,
        is_watching: bool = False,
        scales_text: bool = False,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(connection, settings)
        self._course, self.scales_text, self._is_watching = course, scales_text, is_watching
        self._motion = MotionChoice(os.environ, self.settings, self.line)
        self._stage = StageScreen(
            self.send, self._motion, self.settings, is_watching=is_watching, is_scaled=scales_text
        )

    @property
    def come_back(self) -> str:
        return f"tcptutor present {'--watch' if self._is_watching else '--resume'}"

    def get_default_screen(self) -> Screen[None]:
        return self._stage

    def take_message(self, message: Any) -> None:
        match message:
            case Welcome(lecture=lecture, seed=seed):
                self._stage.show_lecture(lecture, self._course, seed)
            case Shows(talk=talk):
                self._stage.show_talk(talk)
            case CommandRefused(reason=reason):
                self._stage.show_refusal(reason)
            case RunBegins():
                self._stage.begin_run(message)
            case RunEvent():
                self._stage.take_event(message)
            case Interrupted(problem=problem):
                self._stage.show_problem(problem)
            case _:
                pass

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if self.scales_text and isinstance(renderable, CompositorUpdate) and self.screen is self._stage:
            renderable = _UpdateWithScaledText(renderable, self._scaled_text())
        super()._display(screen, renderable)

    def _scaled_text(self) -> str:
        """Return the sequences that draw all scaled texts over the blank cells of the frame."""
        if self._stage.talk.is_black:
            return ""
        parts = []
        for view in self._stage.query(StageView):
            for each in view.scaled if view.is_on_screen else ():
                column, row = view.region.x + each.column, view.region.y + each.row
                text = text_sizing.sequence(each.text, each.scale)
                style = view.blank + view.cell_style(each.style)
                drawn = style.render(text, color_system=self.console._color_system)
                parts.append(f"\x1b[{row + 1};{column + 1}H{drawn}")
        return "".join(parts)


class _UpdateWithScaledText(CompositorUpdate):
    def __init__(self, update: CompositorUpdate, scaled: str) -> None:
        self._update, self._scaled = update, scaled

    def render_segments(self, console: Any) -> str:
        return self._update.render_segments(console) + self._scaled


def show_stage(connection: LectureConnection, course: Course, *, is_watching: bool = False) -> int:
    """Show a lecture until it ends or the terminal leaves, and return the exit code."""
    scales = text_sizing.is_supported(os.environ)
    app = PresentApp(connection, course, is_watching=is_watching, scales_text=scales)
    app.glyphs = glyphs.for_terminal(os.environ)
    shutdown.signals.catch()
    asyncio.run(app.run_async())
    return app.return_code or 0
