"""Files that a student has exported: those in the app's working folder, and nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from tcptutor.base.printable import escaped

_MOST_BYTES = 64 << 20
_MOST_NAMES = 500


def names(folder: Path) -> list[str]:
    """Return the names of the files in a folder, the newest first."""
    try:
        files = [each for each in os.scandir(folder) if each.is_file(follow_symlinks=False)]
        dated = sorted(
            ((each.stat(follow_symlinks=False).st_mtime, each.name) for each in files), reverse=True
        )
    except OSError:
        return []
    return [name for _, name in dated[:_MOST_NAMES] if not name.startswith(".")]


def read(folder: Path, name: str) -> bytes | None:
    """Return the content of a file in the folder; None if there is none of that name, or it is too large."""
    if name not in names(folder):
        return None
    try:
        # Never through a link.
        with os.fdopen(
            os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
        ) as file:
            about = os.fstat(file.fileno())
            return file.read() if stat.S_ISREG(about.st_mode) and about.st_size <= _MOST_BYTES else None
    except OSError:
        return None


def as_html(files: Sequence[str]) -> str:
    """Return a list of links to the files."""
    if not files:
        return "<p>You have exported no files yet. In the app, H lists your runs and x exports them.</p>"
    items = (f'<li><a href="files/{quote(name, safe="")}">{escape(escaped(name))}</a></li>' for name in files)
    return f"<ul>{''.join(items)}</ul>"
