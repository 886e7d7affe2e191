"""Check for matplotlib, and the command that installs it, without importing it."""

from __future__ import annotations

import importlib.util

from tcptutor.base.places import pip_install

MATPLOTLIB = "matplotlib>=3.8,<4"
"""Requirement of the extra `plot` in pyproject.toml."""


def can_draw() -> bool:
    """Return whether this Python has matplotlib."""
    try:
        return importlib.util.find_spec("matplotlib") is not None
    except ValueError:  # another object is registered as the module
        return False


def install_command() -> str:
    """Return the shell command that installs matplotlib."""
    return pip_install(MATPLOTLIB)
