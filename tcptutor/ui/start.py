"""Start of the app, from the command line to a restored terminal."""

from __future__ import annotations

import asyncio
import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tcptutor.base.errors import JournalError, TutorError, UsageError, unknown
from tcptutor.ui import shutdown

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab
    from tcptutor.course import OpenedCourse
    from tcptutor.journal import Journal


TEXTUAL_OPTIONS = {
    # Milliseconds within which a terminal sends the rest of a key sequence after Esc. A character that follows Esc
    # sooner is read as Alt+character, which breaks typing Esc : in vi.
    "ESCDELAY": "25",
    # Screen updates per second at most. After one, Textual waits for up to two periods: at its own 60 a key that
    # comes just after a frame of a figure has its effect 33 ms later.
    "TEXTUAL_FPS": "120",
}
"""Environment variables that Textual reads on import."""
_PATIENCE = 0.1
"""Seconds to wait for other processes that write to the journal; later writes are retried."""


def run_app(module: str | None = None, lab: Lab | None = None, lessons: Path | None = None) -> int:
    """Run the app until the student leaves it, and return the exit code.

    Args:
        module: module to open where the student left it, by id or number.
        lab: lab to run in; by default the best that this machine supports.
        lessons: course folder; by default the shipped course.

    Raises:
        UsageError: if the module does not exist.
        TutorError: if some work could not be saved.
    """
    for name, value in TEXTUAL_OPTIONS.items():
        os.environ.setdefault(name, value)
    from tcptutor.course import OpenedCourse  # noqa: PLC0415
    from tcptutor.journal.locks import app_is_open  # noqa: PLC0415

    opened = OpenedCourse(lessons)
    modules = {word: each.id for each in opened.course.modules for word in (str(each.number), each.id)}
    if module is not None and module not in modules:
        raise UsageError(unknown("module", module, modules.values()))
    shutdown.signals.catch()
    journal = open_journal()
    # Full collections while modules are imported would take a tenth of the time to the first frame,
    # after which the app enables them.
    gc.disable()
    try:
        with app_is_open():
            code = asyncio.run(
                _run(opened, journal, lab or _default_lab(), None if module is None else modules[module])
            )
    finally:
        gc.enable()
        journal.close()
    if journal.unsaved:
        raise TutorError(f"some of your work could not be saved: {journal.unsaved}")
    return code


def open_journal() -> Journal:
    """Open the student's journal, or an in-memory journal that retries opening the file."""
    from tcptutor.base import places  # noqa: PLC0415
    from tcptutor.journal import Journal  # noqa: PLC0415

    path = places.state() / "journal.db"
    try:
        return Journal.open(path, patience=_PATIENCE)
    except JournalError as error:
        return Journal.in_memory_until(path, f"nothing is saved so far: {error}", patience=_PATIENCE)


async def _run(opened: OpenedCourse, journal: Journal, lab: Lab, module: str | None) -> int:
    from tcptutor.base import glyphs  # noqa: PLC0415
    from tcptutor.ui.app import TutorApp  # noqa: PLC0415

    app = TutorApp(opened.course, journal, lab, problems=opened.problems, module=module)
    app.glyphs = glyphs.for_terminal(os.environ)
    try:
        await app.run_async()
    finally:
        # However the app ended, leave no process of the lab behind.
        await app.bench.close()
    return app.return_code or 0


def _default_lab() -> Lab:
    from tcptutor.backends.lab import Lab  # noqa: PLC0415

    return Lab()
