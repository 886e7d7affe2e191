"""Apps with a single screen: a stored run for `tcptutor show`, a class for `tcptutor class`."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from tcptutor.base import glyphs
from tcptutor.run import Run
from tcptutor.ui import shutdown
from tcptutor.ui.frame import Frame

if TYPE_CHECKING:
    from tcptutor.grading.survey import Survey


class ShowApp(Frame):
    """Viewer of a stored run."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, run: Run, file: Path) -> None:
        super().__init__()
        self._stored, self._file = run, file

    def get_default_screen(self) -> Screen[None]:
        from tcptutor.ui.screens.stored import StoredScreen  # noqa: PLC0415  # the class viewer needs no charts

        return StoredScreen(self._stored, self._file.name, self._file)


class ClassApp(Frame):
    """Viewer of a class's results."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, survey: Survey, *, anonymous: bool = False) -> None:
        super().__init__()
        self._survey, self._anonymous = survey, anonymous

    def get_default_screen(self) -> Screen[None]:
        from tcptutor.ui.screens.classroom import ClassScreen  # noqa: PLC0415  # the run viewer needs no tables

        return ClassScreen(self._survey, hidden=self._anonymous)


def show_run(run: Run, file: Path) -> int:
    """Show `run`, stored in `file`, and return the exit code."""
    return _show(ShowApp(run, file))


def show_class(survey: Survey, *, anonymous: bool = False) -> int:
    """Show the class and return the exit code."""
    return _show(ClassApp(survey, anonymous=anonymous))


def _show(app: Frame) -> int:
    app.glyphs = glyphs.for_terminal(os.environ)
    shutdown.signals.catch()
    asyncio.run(app.run_async())
    return app.return_code or 0
