"""From the command line to the running app and back to a restored terminal."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tcptutor.base.errors import JournalError, TutorError, UsageError, unknown
from tcptutor.ui import shutdown

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab
    from tcptutor.course import OpenedCourse
    from tcptutor.journal import Journal


_ESCAPE_MS = "25"
"""Milliseconds within which a terminal sends the rest of a key that begins with Esc."""
_PATIENCE = 0.1
"""Seconds that the app waits for another program that writes into the journal: what cannot be saved is saved later."""


def run_app(module: str | None = None, lab: Lab | None = None, lessons: Path | None = None) -> int:
    """Run the app until the student leaves it; the exit code.

    `module` opens that module where the student left it; `lab` defaults to what this machine can do;
    `lessons` is a course folder, by default ours. Raises UsageError for a module that does not exist, and TutorError
    when not all could be saved.
    """
    # Textual reads it at its import. A character that comes sooner after Esc is taken for Alt with it, and its Esc is
    # lost where it is no letter: in a terminal of the lab somebody types Esc : into vi.
    os.environ.setdefault("ESCDELAY", _ESCAPE_MS)
    from tcptutor.course import OpenedCourse  # noqa: PLC0415

    opened = OpenedCourse(lessons)
    modules = [each.id for each in opened.course.modules]
    if module is not None and module not in modules:
        raise UsageError(unknown("module", module, modules))
    shutdown.signals.catch()
    journal = open_journal()
    try:
        code = asyncio.run(_run(opened, journal, lab or _default_lab(), module))
    finally:
        journal.close()
    if journal.unsaved:
        raise TutorError(f"not all of what you did could be saved: {journal.unsaved}")
    return code


def open_journal() -> Journal:
    """The student's journal, or one in memory until that can be opened, which says why it cannot be."""
    from tcptutor.base import places  # noqa: PLC0415
    from tcptutor.journal import Journal  # noqa: PLC0415

    path = places.state() / "journal.db"
    try:
        return Journal.open(path, patience=_PATIENCE)
    except JournalError as error:
        return Journal.in_memory_until(path, f"nothing is saved so far: {error}", patience=_PATIENCE)


async def _run(opened: OpenedCourse, journal: Journal, lab: Lab, module: str | None) -> int:
    from tcptutor.ui import glyphs  # noqa: PLC0415
    from tcptutor.ui.app import TutorApp  # noqa: PLC0415

    enrolment = journal.record.enrolment
    course = opened.course.own(enrolment.identity) if enrolment else opened.course
    app = TutorApp(course, journal, lab, problems=opened.problems, module=module)
    app.glyphs = glyphs.for_terminal(os.environ)
    try:
        await app.run_async()
    finally:
        # Whatever ended the app (a key, a signal, a defect): no process of the lab stays behind.
        await app.bench.close()
    return app.return_code or 0


def _default_lab() -> Lab:
    from tcptutor.backends.lab import Lab  # noqa: PLC0415

    return Lab()
