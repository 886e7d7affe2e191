"""`tcptutor`: open the app in this terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from tcptutor.base.errors import TutorError
from tcptutor.commands.ending import end, exit_despite_threads
from tcptutor.ui import run_app

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab


def open_alone() -> NoReturn:
    """Run the app as `tcptutor` does without arguments, and exit with its code.

    The command line is imported only for an error: that takes a tenth of the time to the first frame.
    """
    with exit_despite_threads():
        try:
            end(open_app, None, "auto", "auto")
        except (Exception, KeyboardInterrupt):
            from tcptutor.commands.exits import errors_in_one_line  # noqa: PLC0415

            with errors_in_one_line():
                raise


def open_app(module: str | None, backend: str, clock: str) -> int:
    """Run the app and return its exit code. Raises TutorError without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise TutorError(
            "the app needs a terminal: open one, or use `tcptutor run` for an experiment without the app"
        )

    def make_lab() -> Lab:
        from tcptutor.backends.lab import Lab  # noqa: PLC0415  # not for the first frame

        return Lab(backend, clock)

    return run_app(module, make_lab)
