"""Files that `tcptutor grade` writes for each student into a folder: drafts of comments, and sheets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tcptutor.base.errors import UsageError
from tcptutor.base.files import atomic
from tcptutor.commands.targets import check_targets


def check_folder(folder: Path, option: str) -> None:
    """Raise UsageError unless files can go into the folder."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: give another {option}")


def write_files(texts: Mapping[str, str], folder: Path, option: str, *, replace: bool) -> None:
    """Write the texts by their names, for the owner's eyes. Raises TutorError before any file is replaced."""
    elsewhere = f"give another {option}"
    check_targets([folder / name for name in texts], [], replace=replace, elsewhere=elsewhere)
    for name, text in texts.items():
        with atomic(folder / name, elsewhere, private=True) as temporary:
            temporary.write_text(text, encoding="utf-8")
