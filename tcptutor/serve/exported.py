"""A student's exported files, limited to the app's working folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from tcptutor.base.printable import escaped

_MOST_NAMES = 500


def names(folder: Path) -> list[str]:
    """Return the names of the files in a folder, newest first, without symbolic links and hidden files."""
    try:
        files = [each for each in os.scandir(folder) if each.is_file(follow_symlinks=False)]
        dated = sorted(
            ((each.stat(follow_symlinks=False).st_mtime, each.name) for each in files), reverse=True
        )
    except OSError:
        return []
    return [name for _, name in dated[:_MOST_NAMES] if not name.startswith(".")]


def find(folder: Path, name: str) -> Path | None:
    """Return the path of an exported file; None if `names` does not list it."""
    return folder / name if name in names(folder) else None


def as_html(files: Sequence[str]) -> str:
    """Return an HTML list of links to the files, or a hint if the list is empty."""
    if not files:
        return "<p>You have exported no files yet. In the app, H lists your runs and x exports them.</p>"
    items = (f'<li><a href="files/{quote(name, safe="")}">{escape(escaped(name))}</a></li>' for name in files)
    return f"<ul>{''.join(items)}</ul>"
