"""`tcptutor`: open the app in this terminal."""

from __future__ import annotations

from tcptutor.backends.lab import Lab
from tcptutor.base.errors import TutorError
from tcptutor.commands.output import on_terminal
from tcptutor.ui import run_app


def open_app(module: str | None, backend: str, clock: str) -> int:
    """Run the app and return its exit code. Raises TutorError without a terminal."""
    if not on_terminal():
        raise TutorError(
            "the app needs a terminal: open one, or use `tcptutor run` for an experiment without the app"
        )
    return run_app(module, Lab(backend, clock))
