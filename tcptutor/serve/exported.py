"""Files that a student has exported: those in the app's working folder, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from tcptutor.base.printable import escaped

_MOST_NAMES = 500


def names(folder: Path) -> list[str]:
    """Return the names of the files in a folder, the newest first, without links and hidden files."""
    try:
        files = [each for each in os.scandir(folder) if each.is_file(follow_symlinks=False)]
        dated = sorted(
            ((each.stat(follow_symlinks=False).st_mtime, each.name) for each in files), reverse=True
        )
    except OSError:
        return []
    return [name for _, name in dated[:_MOST_NAMES] if not name.startswith(".")]


def find(folder: Path, name: str) -> Path | None:
    """Return the file of that name in the folder; None if it is not one of `names`."""
    return folder / name if name in names(folder) else None


def as_html(files: Sequence[str]) -> str:
    """Return a list of links to the files."""
    if not files:
        return "<p>You have exported no files yet. In the app, H lists your runs and x exports them.</p>"
    items = (f'<li><a href="files/{quote(name, safe="")}">{escape(escaped(name))}</a></li>' for name in files)
    return f"<ul>{''.join(items)}</ul>"
