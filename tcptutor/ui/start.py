"""Start of the app, from the command line to a restored terminal."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tcptutor.base.errors import JournalError, TutorError, UsageError, unknown
from tcptutor.ui import shutdown

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab
    from tcptutor.course import Course, OpenedCourse
    from tcptutor.journal import Journal
    from tcptutor.study.course_switch import CourseSwitch
    from tcptutor.ui.widgets.home.facts import HomeFacts


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


def run_app(
    module: str | None = None,
    make_lab: Callable[[], Lab] | None = None,
    lessons: Path | None = None,
    opened: OpenedCourse | None = None,
    language: str = "",
    switch: CourseSwitch | None = None,
) -> int:
    """Run the app until the student leaves it, and return the exit code.

    Args:
        module: module to open where the student left it, by id or number.
        make_lab: makes the lab to run in, after the first frame; by default the best that this machine supports.
        lessons: course folder; by default the shipped course.
        opened: the course, if it is open already.
        language: translation of the lessons to show; empty for the original.
        switch: takes the course that the student changes to; None if the app can show no other.

    Raises:
        UsageError: if the module does not exist.
        TutorError: if some work could not be saved.
    """
    for name, value in TEXTUAL_OPTIONS.items():
        os.environ.setdefault(name, value)
    from tcptutor.course import OpenedCourse  # noqa: PLC0415
    from tcptutor.journal.locks import app_is_open  # noqa: PLC0415

    opened = opened or OpenedCourse(lessons, language)
    modules = {word: each.id for each in opened.course.modules for word in (str(each.number), each.id)}
    if module is not None and module not in modules:
        raise UsageError(unknown("module", module, modules.values()))
    shutdown.signals.catch()
    # Full collections while modules are imported would take a tenth of the time to the first frame,
    # after which the app enables them.
    gc.disable()
    if module is None:
        journal, facts = _open_journal(partial(_copied_facts, opened.course))
    else:
        journal, facts = open_journal(), None
    try:
        with app_is_open():
            code = asyncio.run(
                _run(opened, journal, facts, make_lab or _default_lab, modules.get(module or ""), switch)
            )
    finally:
        gc.enable()
        journal.close()
    if journal.unsaved:
        raise TutorError(f"some of your work could not be saved: {journal.unsaved}")
    return code


def open_journal() -> Journal:
    """Open the student's journal, or an in-memory journal that retries opening the file."""
    return _open_journal(lambda _: None)[0]


def _open_journal(facts_of: Callable[[Journal], HomeFacts | None]) -> tuple[Journal, HomeFacts | None]:
    """Return the journal and its copied facts; without copied facts, read the journal."""
    from tcptutor.base import places  # noqa: PLC0415
    from tcptutor.journal import Journal  # noqa: PLC0415

    path = places.state() / "journal.db"
    try:
        journal = Journal.open(path, patience=_PATIENCE, read=False)
        facts = facts_of(journal)
        if facts is None:
            journal.read()
    except JournalError as error:
        problem = f"nothing is saved so far: {error}"
        return Journal.in_memory_until(path, problem, patience=_PATIENCE), None
    return journal, facts


def _copied_facts(course: Course, journal: Journal) -> HomeFacts | None:
    """Return the facts of the home screen if a true copy spares reading the journal before the first frame."""
    from tcptutor.journal.saved import Settings  # noqa: PLC0415
    from tcptutor.ui.configuration.configuration import configured  # noqa: PLC0415
    from tcptutor.ui.widgets.home.facts import HomeCopy  # noqa: PLC0415

    folder = journal.run_folder
    return HomeCopy(journal, course).load(
        configured(Settings(folder.parent if folder else None)).daily_minutes
    )


async def _run(
    opened: OpenedCourse,
    journal: Journal,
    facts: HomeFacts | None,
    make_lab: Callable[[], Lab],
    module: str | None,
    switch: CourseSwitch | None,
) -> int:
    from tcptutor.base import glyphs  # noqa: PLC0415
    from tcptutor.ui.app import TutorApp  # noqa: PLC0415

    app = TutorApp(
        opened.course, journal, make_lab, problems=opened.problems, copied_facts=facts, module=module
    )
    app.glyphs = glyphs.for_terminal(os.environ)
    app.course_switch = switch
    try:
        await app.run_async()
        app.keep_home_facts()
    finally:
        # However the app ended, leave no process of the lab behind.
        if app.has_bench:
            await app.bench.close()
    return app.return_code or 0


def _default_lab() -> Lab:
    from tcptutor.backends.lab import Lab  # noqa: PLC0415

    return Lab()
