"""Opening the find box over a screen."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from tcptutor.study.matching import IndexedEntry, PaletteEntry, indexed
from tcptutor.ui import palette
from tcptutor.ui.found_runs import find_runs
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.screens.find import FindScreen


def open_find_box(screen: TutorScreen, index: Iterable[IndexedEntry], *, with_commands: bool) -> None:
    """Open the find box, and run the entry that the student chooses.

    Args:
        screen: The screen below the box.
        index: Entries of the course.
        with_commands: True if commands of the screen and settings are found too.
    """

    def run(entry: PaletteEntry | None) -> None:
        if entry is not None:
            screen.app.call_later(entry.run)

    commands = [indexed(each) for each in palette.entries(screen)] if with_commands else []
    kinds = ["a page", "a term", "a formula", "a run", *(["a command"] if with_commands else [])]
    box = FindScreen([*commands, *index], partial(find_runs, screen), ", ".join(kinds))
    screen.tutor.push_screen(box, run)
