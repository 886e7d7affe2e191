"""`tcptutor class`: what a class did, in the terminal."""

from __future__ import annotations

import asyncio
import os

from textual.screen import Screen

from tcptutor.grading.survey import Survey
from tcptutor.ui import glyphs, shutdown
from tcptutor.ui.frame import Frame
from tcptutor.ui.screens.classroom import ClassScreen


class ClassApp(Frame):
    """tcptutor, showing a class."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, found: Survey, *, anonymous: bool = False) -> None:
        super().__init__()
        self._found, self._anonymous = found, anonymous

    def get_default_screen(self) -> Screen[None]:
        return ClassScreen(self._found, hidden=self._anonymous)


def show_class(found: Survey, *, anonymous: bool = False) -> int:
    """Show it until the teacher leaves; the exit code."""
    app = ClassApp(found, anonymous=anonymous)
    app.glyphs = glyphs.for_terminal(os.environ)
    shutdown.signals.catch()
    asyncio.run(app.run_async())
    return app.return_code or 0
