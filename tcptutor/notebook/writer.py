"""Writing a notebook to a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tcptutor.base.errors import UsageError
from tcptutor.base.files import atomic
from tcptutor.notebook.content import Notebook
from tcptutor.notebook.html import as_html
from tcptutor.notebook.markdown import as_markdown

_FORMATS: dict[str, Callable[[Notebook], str]] = {".html": as_html, ".md": as_markdown}


def check_name(target: Path) -> None:
    """Raise UsageError unless the name's ending is that of a format."""
    if target.suffix.lower() not in _FORMATS:
        raise UsageError(f"{target}: a notebook's name ends in {' or '.join(_FORMATS)}")


def write_notebook(notebook: Notebook, target: Path) -> None:
    """Write the notebook in the format of the file's name, replacing an existing file.

    Raises:
        UsageError: The name's ending is unknown.
        TutorError: The file cannot be written.
    """
    check_name(target)
    text = _FORMATS[target.suffix.lower()](notebook)
    with atomic(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
