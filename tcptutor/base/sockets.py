"""Paths for the Unix sockets of this user's programs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path

from tcptutor.base import places
from tcptutor.base.errors import TutorError

_SHARED = Path("/tmp")  # noqa: S108  # the folder in it is checked


def path(name: str) -> Path:
    """Return the path of the socket called `name`, in a folder that only this user can open, created if necessary.

    It differs for each data folder, and is short, since a socket's may have 107 characters.

    Raises:
        TutorError: There is no such folder.
    """
    # XDG_RUNTIME_DIR comes second: it is emptied when the last SSH session of the user ends.
    folders = [_SHARED / f"tcptutor-{os.getuid()}"]
    if (runtime := Path(os.environ.get("XDG_RUNTIME_DIR", ""))).is_absolute():
        folders.append(runtime / "tcptutor")
    folder = next(filter(_is_ours, folders), None)
    if folder is None:
        raise TutorError(
            f"{folders[0]} is not a folder of yours that is closed to others: remove it, or set XDG_RUNTIME_DIR"
        )
    key = hashlib.sha256(os.fsencode(places.runs().absolute())).hexdigest()[:12]
    return folder / f"{name}-{key}"


def _is_ours(folder: Path) -> bool:
    """Create the folder if missing, and return whether only this user can open it."""
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(0o700)
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
