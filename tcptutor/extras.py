"""What the course does without: Python packages of the extras in pyproject.toml, and how each is installed.

They are asked for by their own names. tcptutor itself is in no package registry: anybody could take its name there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shlex
import sys
from pathlib import Path

MATPLOTLIB = "matplotlib>=3.8,<4"
"""What plots are drawn with, as the extra `plot` asks for it."""
DISTRIBUTED = "distributed>=2024.1"
"""Dask, which runs sweeps on many machines, as the extra `cluster` asks for it."""


def can_draw() -> bool:
    """Whether there is a matplotlib for the Python that runs us."""
    try:
        return importlib.util.find_spec("matplotlib") is not None
    except ValueError:  # something stands in its place
        return False


def install_command(requirement: str) -> str:
    """What to type, in this folder, so that the Python that runs us has it, such as MATPLOTLIB."""
    python = Path(sys.executable)
    with contextlib.suppress(ValueError, OSError):  # elsewhere, or in a folder that is gone
        python = python.relative_to(Path.cwd())
    return shlex.join([str(python), "-m", "pip", "install", requirement])
