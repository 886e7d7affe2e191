"""Where things are: the course content that ships with us, and the user's own folders."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from tcptutor.errors import TutorError

_PACKAGE = Path(__file__).parent

STATE_ELSEWHERE = "set XDG_DATA_HOME to a folder that can be written"
"""How a user gives the journal and the run files another place; for error messages."""


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
    return platformdirs.user_cache_path("tcptutor")


def state() -> Path:
    """The user's data, not yet created: the journal and the run files."""
    return platformdirs.user_data_path("tcptutor")


def runs() -> Path:
    """The user's run files, not yet created."""
    return state() / "runs"


def home() -> Path:
    """What the student keeps in `~` on the lab's hosts, not yet created."""
    return state() / "home"
