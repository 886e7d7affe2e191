"""What plots are drawn with, and how it is installed. Imports nothing of it."""

from __future__ import annotations

import importlib.util

from tcptutor.base.places import pip_install

MATPLOTLIB = "matplotlib>=3.8,<4"
"""As the extra `plot` of pyproject.toml asks for it."""


def can_draw() -> bool:
    """Whether there is a matplotlib for the Python that runs us."""
    try:
        return importlib.util.find_spec("matplotlib") is not None
    except ValueError:  # something stands in its place
        return False


def install_command() -> str:
    """What to type, in this folder, so that there is one."""
    return pip_install(MATPLOTLIB)
