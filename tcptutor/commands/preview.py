"""`tcptutor preview`: show a course's pages to its author, and read them again at each save."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tcptutor.authoring.lint import lint
from tcptutor.backends.lab import Lab
from tcptutor.base import places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.commands.language import chosen_language
from tcptutor.commands.names import find_page
from tcptutor.course.outline import OpenedCourse
from tcptutor.study.pages import ModulePage
from tcptutor.ui.start import TEXTUAL_OPTIONS

_PREFIX = "tcptutor-preview-"


def preview(folder: Path, page: str | None, backend: str, clock: str, language: str | None) -> int:
    """Preview the course in a folder and return the exit code.

    Args:
        folder: The course.
        page: Page to begin with, by number or name; None for the first.
        backend: Backend of the lab.
        clock: Clock of the lab.
        language: Translation to show; None for the original.

    Raises:
        UsageError: The folder is no course, or the page or language does not exist.
        TutorError: Standard input or output is not a terminal.
    """
    if not (folder / "course.toml").is_file():
        raise UsageError(
            f"{folder} has no course.toml: give the folder of a course, or begin one with `tcptutor new-course FOLDER`"
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise TutorError(
            "a preview needs a terminal: open one, or use `tcptutor lint` for the linter's lines alone"
        )
    root = folder.resolve()
    places.choose_course(places.ChosenCourse(str(root), root, OpenedCourse(root).course.id))
    translation = chosen_language(language) if language is not None else ""
    first = ModulePage(*find_page(page)) if page else None
    _remove_left_behind()
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as data:
        # Whatever the author answers and runs here stays out of every journal.
        os.environ |= {"XDG_DATA_HOME": data, "XDG_STATE_HOME": data, **_textual_options()}
        from tcptutor.ui.preview.preview_app import show_preview  # noqa: PLC0415  # reads the options when imported

        return show_preview(root, first, lambda: Lab(backend, clock), lint, translation)


def _remove_left_behind() -> None:
    """Remove the folders of this user's previews that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            if pid.isdigit() and not Path(f"/proc/{pid}").exists() and folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


def _textual_options() -> dict[str, str]:
    return {name: os.environ.get(name, value) for name, value in TEXTUAL_OPTIONS.items()}
