"""Where things are: the course content that ships with us, and the user's own folders."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import platformdirs

from tcptutor.base.errors import TutorError

_PACKAGE = Path(__file__).parents[1]

STATE_ELSEWHERE = "set XDG_DATA_HOME to a folder that can be written"
"""How a user gives the journal and the run files another place; for error messages."""


_NOWHERE = Path("/proc/no-home")
"""Stands for the home of who has none. Nobody can make a folder there, so whoever writes says what to set."""


def _content(name: str) -> Path:
    """`name` from an installed wheel (inside the package), else from a checkout (beside it)."""
    for folder in (_PACKAGE / "_content" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise TutorError(
        f"the folder {name!r} is missing from this installation: run sh tcptutor/start in its repository"
    )


def lessons() -> Path:
    """The folder of the course."""
    return _content("lessons")


def assets() -> Path:
    """The folder of style sheets, recorded runs and published figures."""
    return _content("assets")


def cache() -> Path:
    """The user's cache, not yet created: guest image and snapshots, which `tcptutor setup` can build again."""
    return _of_user(platformdirs.user_cache_path, "XDG_CACHE_HOME")


def state() -> Path:
    """The user's data, not yet created: the journal and the run files."""
    return _of_user(platformdirs.user_data_path, "XDG_DATA_HOME")


def _of_user(folder: Callable[[str], Path], variable: str) -> Path:
    """That of the user, unless it is below a home that is empty, relative, or that the system does not know."""
    if Path(os.environ.get(variable, "")).is_absolute() or Path(os.environ.get("HOME", "/")).is_absolute():
        with contextlib.suppress(RuntimeError):
            return folder("tcptutor")
    return _NOWHERE / "tcptutor"


def pip_install(requirement: str) -> str:
    """What to type, in this folder, so that the Python that runs us has `requirement`.

    Never an extra of ours by our own name: on PyPI that name belongs to whoever takes it.
    """
    python = Path(sys.executable)
    with contextlib.suppress(ValueError, OSError):  # a folder that is gone has no name
        python = python.relative_to(Path.cwd())
    return shlex.join([str(python), "-m", "pip", "install", requirement])


def runs() -> Path:
    """The user's run files, not yet created."""
    return state() / "runs"


def home() -> Path:
    """What the student keeps in `~` on the lab's hosts, not yet created."""
    return state() / "home"
