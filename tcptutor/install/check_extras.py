"""What the doctor sees of the rest: what the README shows and the course does without."""

from __future__ import annotations

import shutil

from tcptutor.exchange.drawing import can_draw, install_command
from tcptutor.install import packages
from tcptutor.install.report import Finding, ok, warn


def check_extras() -> list[Finding]:
    """Whether plots can be drawn, and whether the tests that look at a terminal can run."""
    return [_plots(), _tmux()]


def _plots() -> Finding:
    if can_draw():
        return ok("plots", "matplotlib is there")
    return warn("plots", "`tcptutor plot` and --plot cannot draw: there is no matplotlib", install_command())


def _tmux() -> Finding:
    if shutil.which("tmux"):
        return ok("tmux", "there, for the tests")
    remedy = f"as root: {packages.install_command(['tmux'])}"
    return warn("tmux", "missing: the tests of the app in a terminal cannot run, the course can", remedy)
