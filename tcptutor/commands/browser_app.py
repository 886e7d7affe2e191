"""The app in browsers: a program that imports app and course once, and forks a process for each session.

`python -m tcptutor.commands.browser_app [OPTIONS]` takes options of `tcptutor`, and as its standard input a socket to
`serve.app_forks`.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import socket
import sys
from functools import partial

import click

from tcptutor.backends.lab import Lab
from tcptutor.commands.exits import errors_in_one_line
from tcptutor.commands.language import chosen_language
from tcptutor.commands.options import BACKEND, CLOCK, COURSE
from tcptutor.course import OpenedCourse
from tcptutor.serve.fork_server import exit_session, wait_for_session
from tcptutor.study import background
from tcptutor.ui.start import TEXTUAL_OPTIONS, run_app

_OPTIONS = {
    **TEXTUAL_OPTIONS,
    "TEXTUAL_DRIVER": "tcptutor.ui.browser_driver:BrowserDriver",
    "TEXTUAL_COLOR_SYSTEM": "truecolor",
}
"""Environment variables that Textual reads on import, unless the server sets them."""
_PACKAGES = (
    "analysis",
    "backends",
    "course",
    "figures",
    "history",
    "journal",
    "review",
    "runs",
    "theory",
    "ui",
)
"""Packages that sessions import sooner or later."""


@click.command()
@BACKEND
@CLOCK
@COURSE
def main(backend: str, clock: str) -> None:
    """Prepare, then run the app in each forked session."""
    for name, value in _OPTIONS.items():
        os.environ.setdefault(name, value)
    opened = _prepare()
    background.Fork.has_frozen_program = True
    with socket.socket(fileno=0) as server:
        wait_for_session(server)
    code = 1
    try:
        with errors_in_one_line():
            code = run_app(make_lab=partial(Lab, backend, clock), opened=opened)
    except SystemExit as ended:
        code = int(ended.code or 0)
    except Exception:
        sys.excepthook(*sys.exc_info())
    exit_session(code)


def _prepare() -> OpenedCourse:
    """Import every module of the app, and read the course."""
    for name in _PACKAGES:
        package = importlib.import_module(f"tcptutor.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"tcptutor.{name}."):
            importlib.import_module(module.name)
    opened = OpenedCourse(language=chosen_language(None))
    opened.problems()
    return opened


if __name__ == "__main__":
    main()
