"""`tcptutor show`: one stored run in the terminal."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from textual.screen import Screen

from tcptutor.run import Run
from tcptutor.ui import glyphs, shutdown
from tcptutor.ui.frame import Frame
from tcptutor.ui.screens.stored import StoredScreen


class ShowApp(Frame):
    """tcptutor, showing a file."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, run: Run, file: Path) -> None:
        super().__init__()
        self._stored, self._file = run, file

    def get_default_screen(self) -> Screen[None]:
        return StoredScreen(self._stored, self._file.name, self._file)


def show_run(run: Run, file: Path) -> int:
    """Show `run`, which is in `file`, until the student leaves; the exit code."""
    app = ShowApp(run, file)
    app.glyphs = glyphs.for_terminal(os.environ)
    shutdown.signals.catch()
    asyncio.run(app.run_async())
    return app.return_code or 0
